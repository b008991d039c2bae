"""Step by step in matched states: better, tied or worse, beside what identical policies show."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from turnscope.arms import is_seed
from turnscope.figures import _captions, _rows, _style
from turnscope.types import Arm

SOURCES = ("step_quality",)
TITLE = "Step quality in matched states"
CAPTION = (
    "Both policies act {actions} in each state from the same prefix; every action has a "
    "quality. Left: share of states in which the mean quality is better than base's, tied (up to "
    "{tie}) or worse; black ticks, where the parts would meet if the policies were identical (the "
    "actions of each state dealt out at random). Middle: mean difference in quality. Right: "
    "probability that an action of the arm is the better one, equal ones counting half; 0.5 is no "
    "difference. States come from episodes of both policies, from those of base alone and of the "
    "arm alone; error: the action before meets a definition of an error; clean: it meets none"
    "{injected}. States where all actions are alike are left out. Arms pool {seeds}; 95% intervals "
    "over tasks{count}.{left_out}"
)
INJECTED = "; injected: a worse action was put in, and that state is in no other line"
COUNT = " ({tasks} at most)"
SHARES = ("step_better", "step_tie", "step_worse")
NULLS = tuple(f"{name}_null" for name in SHARES)
MARGIN = "step_tie_margin"
FORESTS = {
    "step_gap": ("difference in quality", 0.0),
    "step_win": ("P(action is better)", 0.5),
}
"""Metrics drawn as intervals, with their title and their value without a difference."""
LANES = {
    "mixture": ("both policies", "o", 0.0),
    "base": ("base", "<", 0.22),
    "trained": ("the arm", ">", 0.4),
}
"""Sources of states: whose they are, the marker, and the place below the line of the subset."""
SUBSETS = ("all", "error", "clean", "injected")
COLUMNS = [
    "metric",
    *_rows.WHO,
    "against",
    "source",
    "subset",
    "value",
    "low",
    "high",
    *_rows.SIZES,
]


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select the comparisons of arms with base in matched states, over all depths.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Not used.
        arms: The arms of the study by name, in order.

    Returns:
        One row for each part of a bar, tick, margin and interval, columns `COLUMNS`.

    Raises:
        ValueError: Nothing was compared in matched states.
    """
    rows = estimates.loc[estimates["metric"].isin([*SHARES, *NULLS, MARGIN, *FORESTS])]
    rows = rows.loc[rows["t"].isna() & rows["value"].notna() & ~is_seed(rows["policy"])]
    where = rows["part"].astype(str).str.split("/").str
    rows = rows.assign(source=where[0], subset=where[-1])
    pooled = (rows["source"] == "mixture") | rows["metric"].isin(FORESTS)
    rows = rows.loc[pooled & rows["subset"].isin(SUBSETS)]
    if rows.empty:
        raise ValueError("step_quality: no comparison in matched states to draw")
    keys = ["metric", *_rows.ORDER, "subset", "source"]
    return _rows.table(rows, arms, COLUMNS, keys)


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    sizes = _captions.sizes(frame)
    return CAPTION.format(
        actions=_captions.counted(frame["samples"], "time"),
        tie=_tied(frame),
        seeds=sizes["seeds"],
        count=COUNT.format(tasks=_captions.counted([frame["tasks"].max()], "test task")),
        injected=INJECTED if "injected" in set(frame["subset"]) else "",
        left_out=_captions.left_out(frame, "the table beside this figure"),
    )


def _tied(frame: pd.DataFrame) -> str:
    """Write up to what difference states tie; for each environment where that differs."""
    rows = frame.loc[frame["metric"] == MARGIN]
    found = {env: f"{margin:g}" for env, margin in zip(rows["env"], rows["value"], strict=True)}
    margins = set(found.values())
    if len(margins) == 1:
        return margins.pop()
    return ", ".join(f"{margin} in {env}" for env, margin in found.items())


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw bars and two forests for each environment and model.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    shown = _style.legible(frame)
    pairs, looks = _style.panels(shown), _style.looks(frame)
    lines = {pair: _lines(_style.within(shown, pair)) for pair in pairs}
    heights = [0.55 + 0.36 * len(lines[pair]) for pair in pairs]
    figure = Figure(figsize=(_style.DOUBLE, 0.6 + sum(heights)), layout="constrained")
    grid = figure.add_gridspec(len(pairs), 3, height_ratios=heights, width_ratios=[1.35, 1, 1])
    several = len(_style.arms_of(shown)) > 1
    for row, pair in enumerate(pairs):
        part = _style.within(shown, pair)
        axes = [figure.add_subplot(grid[row, column]) for column in range(3)]
        _bars(axes[0], part, lines[pair], looks)
        _style.name_panel(axes[0], pair)
        for ax, metric in zip(axes[1:], FORESTS, strict=True):
            _forest(ax, part, metric, lines[pair], looks)
        for ax in axes:
            names = [f"{arm}: {subset}" if several else subset for arm, subset in lines[pair]]
            ax.set_yticks(range(len(names)), names if ax is axes[0] else [])
            ax.set_ylim(len(names) - 0.35, -0.5)
            ax.tick_params(axis="y", length=0)
            ax.grid(visible=False, axis="y")
            ax.spines["left"].set_visible(False)
    _style.legend(figure, _entries(shown, looks))
    return figure


def _lines(part: pd.DataFrame) -> list[tuple[str, str]]:
    """List the pairs of arm and subset of a panel, from the top down."""
    known = set(zip(part["policy"], part["subset"], strict=True))
    pairs = [(arm, subset) for arm in _style.arms_of(part) for subset in SUBSETS]
    return [pair for pair in pairs if pair in known]


def _bars(
    ax: Axes, part: pd.DataFrame, lines: list[tuple[str, str]], looks: dict[str, _style.Look]
) -> None:
    pooled = part.loc[part["source"] == "mixture"].to_dict("records")
    found = {(row["policy"], row["subset"], row["metric"]): row["value"] for row in pooled}
    for y, line in enumerate(lines):
        left = 0.0
        for metric, colour in zip(SHARES, _colours(looks[line[0]]), strict=True):
            width = found.get((*line, metric), 0.0)
            ax.barh(y, width, 0.6, left=left, color=colour, linewidth=0)
            if width >= 0.12:
                ink = "#222222" if metric == "step_tie" else "white"
                _printed(ax, metric, left, width, y, ink)
            left += width
        for metric, turned in ((NULLS[0], False), (NULLS[2], True)):
            if (*line, metric) in found:
                value = found[*line, metric]
                at = 1 - value if turned else value
                for end in (-0.42, 0.42):  # numbers stand between the ends
                    ax.plot([at, at], [y + end / 2, y + end], color="black", linewidth=1.6)
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.set_xlabel("share of states")


def _printed(ax: Axes, metric: str, left: float, width: float, y: float, ink: str) -> None:
    """Print a share in its part of the bar: at its outer end, or in the middle."""
    place = {
        "step_better": (left + 0.015, "left"),
        "step_tie": (left + width / 2, "center"),
        "step_worse": (left + width - 0.015, "right"),
    }
    x, side = place[metric]
    ax.text(x, y, f"{width:.0%}", ha=side, va="center_baseline", fontsize=7, color=ink)


def _colours(look: _style.Look) -> tuple[str, str, str]:
    """Colour better, tie and worse: the arm's own, neither's, and base's."""
    return look.colour, _style.FAINT, _style.BASE


def _forest(
    ax: Axes,
    part: pd.DataFrame,
    metric: str,
    lines: list[tuple[str, str]],
    looks: dict[str, _style.Look],
) -> None:
    title, null = FORESTS[metric]
    ax.axvline(null, color=_style.BASE, linewidth=0.9, zorder=1)
    for row in part.loc[part["metric"] == metric].to_dict("records"):
        _, marker, below = LANES[row["source"]]
        y = lines.index((row["policy"], row["subset"])) + below - 0.16
        colour, headline = looks[row["policy"]].colour, row["source"] == "mixture"
        _style.interval(ax, row, y, color=colour, linewidth=1.6 if headline else 0.7)
        face = {"markerfacecolor": colour if headline else "white", "markeredgewidth": 0.7}
        size = 4.2 if headline else 3.2
        ax.plot(row["value"], y, marker, color=colour, markersize=size, zorder=3, **face)
    ax.set_title(title, fontweight="normal")
    ax.locator_params(axis="x", nbins=4)
    if null == 0:
        ax.xaxis.set_major_formatter(_style.signed)


def _entries(frame: pd.DataFrame, looks: dict[str, _style.Look]) -> list:
    arms = _style.arms_of(frame)
    neutral = _style.Look(_style.BASE, "")
    entries: list = [
        Patch(color=looks[arm].colour, linewidth=0, label=f"{arm} better") for arm in arms
    ]
    entries += [
        Patch(color=_style.FAINT, linewidth=0, label="tie"),
        Patch(color=_style.BASE, linewidth=0, label="base better"),
        Line2D(
            [],
            [],
            color="black",
            marker="|",
            markersize=8,
            markeredgewidth=1.6,
            linestyle="none",
            label="if policies were identical",
        ),
    ]
    for source, (words, marker, _) in LANES.items():
        if source in set(frame["source"]):
            face = {"markerfacecolor": _style.BASE if source == "mixture" else "white"}
            mark = {"marker": marker, "linestyle": "none", **face}
            entries.append(_style.key(f"states of {words}", neutral, **mark))
    return entries
