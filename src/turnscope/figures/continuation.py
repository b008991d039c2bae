"""Who still solves the task after an error? Both policies go on from the same states."""

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from turnscope.arms import arm_of, is_seed
from turnscope.figures import _captions, _rows, _style
from turnscope.types import Arm

SOURCES = ("recovery",)
TITLE = "Continuations from the same states after an error"
CAPTION = (
    "Base and the trained policy go on from the same states, each {samples} times, with the turns "
    "that are left; states are of {many}. Left: share of continuations solved, by whose episode "
    "led to the state; an error is one by any definition, or was put into a clean prefix."
    "{bound} Right: difference to base, with 95% intervals over tasks, mean over {seeds}{small}. "
    "Errors of both: the mean of the two lines below it, which favours neither policy; then the "
    "same by single definitions of an error, and after injected ones.{naive}{left_out}"
)
BOUND = " Grey tick: success of the best possible policy."
SMALL = "; small dots are single training seeds"
NAIVE = (
    " Hollow: states of lost episodes alone. Such states were chosen because one policy is weak "
    "there, which moves the difference towards the other one."
)
LEVELS = {
    "base/error": "base's errors",
    "trained/error": "its own errors",
    "base/injected": "injected, base's prefix",
    "trained/injected": "injected, own prefix",
}
"""Parts whose levels are shown, in words, from the top down."""
BASE, LEVEL, LIMIT = "continuation_base", "continuation", "continuation_bound"
GAP, BOTH = "continuation_gap", "continuation_both"
LOST, MIRROR = "naive_continuation_gap", "naive_continuation_mirror"
Looks = dict[str, _style.Look]
Line = tuple[str, str, str]
"""Metric and part of a difference, and its words."""
COLUMNS = ["metric", *_rows.WHO, "against", "part", "value", "low", "high", *_rows.SIZES]


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select the shares of continuations solved, with all turns that are left, and differences.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Not used.
        arms: The arms of the study by name, in order.

    Returns:
        One row for each mark, columns `COLUMNS`; of single seeds the differences alone.

    Raises:
        ValueError: There is no continuation.
    """
    rows = estimates.loc[estimates["t"].isna() & estimates["value"].notna()]
    level = rows["metric"].isin([BASE, LEVEL, LIMIT]) & rows["part"].isin(LEVELS)
    level &= (rows["seeds"] > 0) & ~is_seed(rows["policy"])
    single = rows["part"].isin(["base/error", "trained/error"])
    gap = rows["metric"].isin([BOTH, LOST, MIRROR]) | ((rows["metric"] == GAP) & single)
    rows = rows.loc[level | gap]
    if rows.empty:
        raise ValueError("continuation: no estimate of continuations after an error to draw")
    return _rows.table(rows, arms, COLUMNS, ["metric", *_rows.ORDER, "part"])


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    metrics, arms = set(frame["metric"]), frame.loc[~is_seed(frame["policy"])]
    return CAPTION.format(
        samples=_captions.span(arms["samples"]),
        seeds=_captions.sizes(arms)["seeds"],
        many=_captions.counted(arms["tasks"], "test task"),
        bound=BOUND if LIMIT in metrics else "",
        small=SMALL if is_seed(frame["policy"]).any() else "",
        naive=NAIVE if {LOST, MIRROR} & metrics else "",
        left_out=_captions.left_out(frame, "table error_states"),
    )


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw paired dots and a forest of differences for each environment and model.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    frame = _style.legible(frame)
    pairs, looks = _style.panels(frame), _style.looks(frame)
    lines = {pair: _lines(_style.within(frame, pair)) for pair in pairs}
    lanes = 0.12 + 0.11 * len(_style.arms_of(frame))
    heights = [0.5 + lanes * len(lines[pair]) for pair in pairs]
    size = (_style.DOUBLE, 0.5 + sum(heights))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(pairs), 2, squeeze=False, sharex="col", height_ratios=heights)
    for (left, right), pair in zip(axes, pairs, strict=True):
        part = _style.within(frame, pair)
        _levels(left, part, looks)
        _differences(right, part, lines[pair], looks)
        _style.name_panel(left, pair)
    axes[-1, 0].set_xlabel("share of continuations solved")
    axes[-1, 1].set_xlabel("difference to base")
    _style.legend(figure, _entries(frame, looks))
    return figure


def _lines(part: pd.DataFrame) -> list[Line]:
    """List the differences of a panel from the top down."""
    found = set(part.loc[part["metric"] == BOTH, "part"])
    names = sorted(name.partition("/")[2] for name in found - {"both/error", "both/injected"})
    wanted = [
        (BOTH, "both/error", "errors of both"),
        (GAP, "base/error", "base's errors"),
        (GAP, "trained/error", "its own errors"),
        *((BOTH, f"both/{name}", f"both, {name}") for name in names),
        (BOTH, "both/injected", "both, injected"),
        (LOST, "base/error", "naive: base lost"),
        (MIRROR, "trained/error", "naive: itself lost"),
    ]
    there = set(zip(part["metric"], part["part"], strict=True))
    return [line for line in wanted if line[:2] in there]


def _levels(ax: Axes, part: pd.DataFrame, looks: Looks) -> None:
    """Join what base and each arm solve from the same states."""
    arms = _style.arms_of(part)
    here = part.loc[part["metric"].isin([BASE, LEVEL, LIMIT])]
    parts = [name for name in LEVELS if name in set(here["part"])]
    for row in here.to_dict("records"):
        colour, marker = looks[row["policy"]]
        y = _place(parts.index(row["part"]), arms, row["policy"])
        if row["metric"] == LIMIT:
            ax.plot(row["value"], y, "|", color=_style.BOUND, markersize=8, markeredgewidth=1.6)
        elif row["metric"] == BASE:
            ax.plot(row["value"], y, "o", color=_style.BASE, markersize=3.8, zorder=3)
        else:
            pair = here.loc[(here["policy"] == row["policy"]) & (here["part"] == row["part"])]
            ends = pair.loc[pair["metric"] != LIMIT, "value"]
            ax.plot(ends, [y] * len(ends), color=colour, linewidth=1.4, alpha=0.45)
            ax.plot(row["value"], y, marker, color=colour, markersize=4.4, zorder=3)
    ax.set_xlim(0, 1)
    _down(ax, [LEVELS[name] for name in parts])


def _differences(ax: Axes, part: pd.DataFrame, lines: list[Line], looks: Looks) -> None:
    arms = _style.arms_of(part)
    place = {line[:2]: y for y, line in enumerate(lines)}
    ax.axvline(0, color=_style.BASE, linewidth=0.9, zorder=1)
    rows = part.loc[~part["metric"].isin([BASE, LEVEL, LIMIT])]
    for row in rows.to_dict("records"):
        arm = arm_of(row["policy"])
        y = _place(place[row["metric"], row["part"]], arms, arm)
        _mark(ax, row, y, looks[arm], row["metric"] in (LOST, MIRROR))
    ax.locator_params(axis="x", nbins=5)
    ax.xaxis.set_major_formatter(_style.signed)
    _down(ax, [words for *_, words in lines])
    if lines[0][1] == "both/error":
        ax.get_yticklabels()[0].set_fontweight("bold")  # the one that favours neither


def _mark(ax: Axes, row: dict[Hashable, Any], y: float, look: _style.Look, hollow: bool) -> None:
    """Draw a difference; of a single seed a small dot."""
    if row["policy"] != arm_of(row["policy"]):
        dot = {"markersize": 2, "markeredgewidth": 0, "alpha": 0.55}
        ax.plot(row["value"], y + 0.1, "o", color=look.colour, zorder=2, **dot)
        return
    _style.interval(ax, row, y, color=look.colour, linewidth=1.3)
    face = {"markerfacecolor": "white" if hollow else look.colour, "markersize": 4.4}
    ax.plot(row["value"], y, look.marker, color=look.colour, zorder=3, **face)


def _place(line: int, arms: list[str], arm: str) -> float:
    """Return where an arm is drawn within a line."""
    return line + 0.7 * ((arms.index(arm) + 0.5) / len(arms) - 0.5)


def _down(ax: Axes, words: list[str]) -> None:
    ax.set_yticks(range(len(words)), words)
    ax.set_ylim(len(words) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    ax.spines["left"].set_visible(False)


def _entries(frame: pd.DataFrame, looks: Looks) -> list:
    dot = {"linestyle": "none", "markersize": 4.4}
    entries = [_style.key("base", looks["base"], marker="o", **dot)]
    entries += [
        _style.key(arm, looks[arm], marker=looks[arm].marker, **dot)
        for arm in _style.arms_of(frame)
    ]
    neutral, metrics = _style.Look(_style.BASE, "o"), set(frame["metric"])
    if LIMIT in metrics:
        tick = {"marker": "|", "linestyle": "none", "markersize": 8, "markeredgewidth": 1.6}
        entries.append(_style.key("bound", _style.Look(_style.BOUND, ""), **tick))
    if {LOST, MIRROR} & metrics:
        hollow = dot | {"markerfacecolor": "white"}
        entries.append(_style.key("naive: lost episodes alone", neutral, marker="o", **hollow))
    if is_seed(frame["policy"]).any():
        small = {"marker": "o", "linestyle": "none", "markersize": 2, "alpha": 0.55}
        entries.append(_style.key("single training seed", neutral, **small))
    return entries
