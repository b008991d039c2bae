"""Is the trained policy's step advantage larger later? Matched states by depth."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from turnscope.arms import is_seed
from turnscope.figures import _captions, _rows, _style
from turnscope.types import Arm

SOURCES = ("step_quality",)
TITLE = "Step advantage by depth"
CAPTION = (
    "Actions of the arm against those of base in the same states, by the turns before the state as "
    "a share of T_max. Left: mean difference in quality. Middle: probability that an action of the "
    "arm is the better one, equal ones counting half; 0.5 is no difference. Right: least-squares "
    "slopes of both on that share, over states. Where one action can change the quality more in "
    "later turns, the difference grows though a policy is equally better at all turns; the "
    "probability does not. Points: quarters of T_max. States come from episodes of both policies, "
    "are spread evenly over depth, and count alike; error: the action before meets a definition of "
    "an error; clean: it meets none. Both policies act {actions} in each state; arms pool {seeds}. "
    "Bars: 95% intervals over tasks, of which there are {count} at most.{left_out}"
)
METRICS = {
    "step_gap": ("difference in quality", 0.0),
    "step_win": ("P(action is better)", 0.5),
}
"""Metrics, each with its words and its value without a difference."""
SLOPES = {"step_slope": "slope of\ndifference", "step_win_slope": "slope of\nP(better)"}
"""Their slopes along the turns, each with its words."""
SUBSETS = {"all": ("o", "-", 0.0), "error": ("D", "--", 0.03), "clean": ("s", ":", -0.03)}
"""Subsets of states, each with marker, line, and step aside in quarters."""
SHARE = "turns before the state / " + _style.T_MAX
COLUMNS = [
    "metric",
    *_rows.WHO,
    "against",
    "subset",
    "t",
    "value",
    "low",
    "high",
    *_rows.SIZES,
]


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select the comparisons of arms with base by quarter of T_max, and their slopes.

    Args:
        estimates: Rows of `estimates`; t is the last turn of a quarter.
        training: Not used.
        k: Not used.
        arms: The arms of the study by name, in order.

    Returns:
        One row for each point and slope, columns `COLUMNS`.

    Raises:
        ValueError: Nothing was compared by depth.
    """
    wanted = estimates["metric"].isin(METRICS) & estimates["t"].notna()
    rows = estimates.loc[wanted | estimates["metric"].isin(SLOPES)]
    rows = rows.loc[rows["value"].notna() & ~is_seed(rows["policy"])]
    where = rows["part"].astype(str).str.split("/").str
    rows = rows.assign(subset=where[-1]).loc[(where[0] == "mixture") & where[-1].isin(SUBSETS)]
    if not set(METRICS) & set(rows["metric"]):
        raise ValueError("depth: no comparison in matched states by depth to draw")
    return _rows.table(rows, arms, COLUMNS, ["metric", *_rows.ORDER, "subset", "t"])


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    sizes = _captions.sizes(frame)
    return CAPTION.format(
        actions=_captions.counted(frame["samples"], "time"),
        seeds=sizes["seeds"],
        count=_captions.counted([frame["tasks"].max()], "test task"),
        left_out=_captions.left_out(frame, "the table beside this figure"),
    )


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw four panels for each environment, model and arm.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    shown, looks = _style.legible(frame), _style.looks(frame)
    lines = [
        (pair, arm)
        for pair in _style.panels(shown)
        for arm in _style.arms_of(_style.within(shown, pair))
    ]
    figure = Figure(figsize=(_style.DOUBLE, 0.45 + 1.9 * len(lines)), layout="constrained")
    axes = figure.subplots(
        len(lines), 4, squeeze=False, sharex="col", sharey="col", width_ratios=[1, 1, 0.45, 0.45]
    )
    for (pair, arm), line in zip(lines, axes, strict=True):
        part = _style.within(shown, pair)
        part = part.loc[part["policy"] == arm]
        for ax, metric in zip(line, METRICS, strict=False):
            _along(ax, part, metric, looks[arm].colour)
        for ax, metric in zip(line[2:], SLOPES, strict=True):
            _slopes(ax, part, metric, looks[arm].colour)
        line[3].tick_params(labelleft=False)
        line[0].set_title(f"{pair[0].replace('_', ' ')} · {pair[1]} · {arm}")
    axes[-1, 0].set_xlabel(SHARE)
    axes[-1, 1].set_xlabel(SHARE)
    for ax, words in zip(axes[-1, 2:], SLOPES.values(), strict=True):
        ax.set_xlabel(words)
    figure.align_ylabels()
    _style.legend(figure, _entries(shown, looks))
    return figure


def _along(ax: Axes, part: pd.DataFrame, metric: str, colour: str) -> None:
    words, null = METRICS[metric]
    ax.axhline(null, color=_style.BASE, linewidth=0.9, zorder=1)
    t_max = part["t"].max()
    for subset, (marker, line, aside) in SUBSETS.items():
        rows = part.loc[(part["metric"] == metric) & (part["subset"] == subset)]
        x = (rows["t"] / t_max - 1 / 8 + aside).to_numpy(float)
        value, low, high = (rows[name].to_numpy(float) for name in ("value", "low", "high"))
        style = _face(subset, colour)
        ax.plot(x, value, marker, color=colour, linestyle=line, linewidth=0.9, zorder=3, **style)
        ax.vlines(x, low, high, color=colour, linewidth=1.3 if subset == "all" else 0.8)
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 1 / 4, 1 / 2, 3 / 4, 1], ["0", "25%", "50%", "75%", "100%"])
    ax.grid(visible=False, axis="x")
    ax.yaxis.set_major_locator(MaxNLocator(5))
    ax.set_ylabel(words)
    if null == 0:
        ax.yaxis.set_major_formatter(_style.signed)


def _slopes(ax: Axes, part: pd.DataFrame, metric: str, colour: str) -> None:
    ax.axvline(0, color=_style.BASE, linewidth=0.9, zorder=1)
    found = {row["subset"]: row for row in part.loc[part["metric"] == metric].to_dict("records")}
    for y, subset in enumerate(SUBSETS):
        if row := found.get(subset):
            width = 1.3 if subset == "all" else 0.8
            _style.interval(ax, row, y, color=colour, linewidth=width)
            ax.plot(row["value"], y, SUBSETS[subset][0], color=colour, **_face(subset, colour))
    ax.set_yticks(range(len(SUBSETS)), [*SUBSETS])
    ax.set_ylim(len(SUBSETS) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    ax.spines["left"].set_visible(False)
    ax.xaxis.set_major_locator(MaxNLocator(2, min_n_ticks=2))
    ax.xaxis.set_major_formatter(_style.signed)


def _face(subset: str, colour: str) -> dict[str, Any]:
    """Fill the marks of all states, and leave those of a part of them hollow."""
    return {"markerfacecolor": colour if subset == "all" else "white", "markersize": 3.6}


def _entries(frame: pd.DataFrame, looks: dict[str, _style.Look]) -> list:
    arms = _style.arms_of(frame)
    colour = looks[arms[0]].colour if len(arms) == 1 else _style.BASE
    neutral = _style.Look(colour, "")
    words = {"all": "all states", "error": "after an error", "clean": "after no error"}
    return [
        _style.key(words[subset], neutral, marker=marker, linestyle=line, **_face(subset, colour))
        for subset, (marker, line, _) in SUBSETS.items()
        if subset in set(frame["subset"])
    ]
