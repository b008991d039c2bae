"""Does training improve episodes, or the single step? R_multi and R_single along training."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from turnscope.arms import is_seed
from turnscope.figures import _captions, _rows, _style
from turnscope.types import Arm

SOURCES = ("step_reward",)
TITLE = "Multi-turn and single-turn reward along training"
CAPTION = (
    "Evaluation on {tasks} at checkpoints, {samples} of each task and policy. Above, against "
    "optimiser steps: R_multi, the share of episodes solved{single}. Thick lines: mean over "
    "{seeds}, with 95% intervals over tasks, at the steps that all seeds of the arm reached; thin "
    "lines: single training seeds; step 0 is the base model.{split} Below right: change of each "
    "quantity since step 0 {last}, with its 95% interval.{told}{left_out}"
)
SINGLE = (
    "; R_single, the mean quality of the actions in the states that the policy itself visits; and "
    "the same in fixed states of the base model"
)
NO_SINGLE = " (R_single is not known: no environment here grades single actions)"
SPLIT = (
    " Below left: the change in R_single {last}, split into composition (turns are spent "
    "in other tasks and states, even if no action is better or worse) and within (other quality in "
    "the same state of the same task)."
)
SAME = "at the last step, {steps}"
OWN = "at the last step that all seeds of the arm reached, which is printed beside it"
TOLD = (
    " {arms}: told the turns left, as in training, where R_multi and R_single in own states are "
    "measured; in fixed states no policy is told."
)
LEVELS = {
    "r_multi": "R_multi",
    "r_single": "R_single, own states",
    "r_single_probe": "R_single, fixed states",
}
"""Metrics along training and what the reader sees, in the order of the panels."""
CHANGES = {
    "r_multi_change": ("R_multi", "o", True),
    "r_single_change": ("R_single, own states", "D", True),
    "r_single_probe_change": ("R_single, fixed states", "D", False),
}
"""Metrics of change, each with its words, marker, and whether that is filled."""
PARTS = {"r_single_composition": "composition", "r_single_within": "within"}
COLUMNS = ["metric", *_rows.WHO, "against", "step", "value", "low", "high", *_rows.SIZES]


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select the rewards along training, and their changes at the last step.

    Args:
        estimates: Rows of `estimates`; t of these metrics is the optimiser step.
        training: Not used.
        k: Not used.
        arms: The arms of the study by name, in order.

    Returns:
        One row for each point, columns `COLUMNS`.

    Raises:
        ValueError: There is no reward along training.
    """
    levels = estimates.loc[estimates["metric"].isin(LEVELS) & estimates["against"].isna()]
    levels = levels.loc[levels["value"].notna() & (levels["policy"] != "base")]
    if levels.empty:
        raise ValueError(f"training_curves: no estimate of {', '.join(LEVELS)} to draw")
    changes = estimates.loc[estimates["metric"].isin([*CHANGES, *PARTS])]
    changes = changes.loc[changes["value"].notna() & ~is_seed(changes["policy"])]
    last = changes.groupby(["env", "model", "policy"])["t"].transform("max")
    rows = pd.concat([levels, changes.loc[changes["t"] == last]]).rename(columns={"t": "step"})
    return _rows.table(rows, arms, COLUMNS, ["metric", *_rows.ORDER, "step"])


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    sizes = _captions.sizes(frame.loc[frame["metric"] == "r_multi"])
    left_out = _captions.left_out(frame, "the lower panels")
    steps, told = set(_last(frame).values()), _style.told_of(frame)
    last = SAME.format(steps=max(steps)) if len(steps) == 1 else OWN
    metrics = set(frame["metric"])
    return CAPTION.format(
        **sizes,
        single=SINGLE if "r_single" in metrics else NO_SINGLE,
        split=SPLIT.format(last=last) if set(PARTS) & metrics else "",
        last=last,
        told=TOLD.format(arms=", ".join(told)) if told else "",
        left_out=left_out,
    )


def _last(frame: pd.DataFrame) -> dict[tuple[str, str, str], int]:
    """Say at which step the changes of each arm of each environment and model are taken."""
    rows = frame.loc[frame["metric"].isin([*CHANGES, *PARTS])]
    return {
        (row["env"], row["model"], row["policy"]): int(row["step"])
        for row in rows.drop_duplicates(["env", "model", "policy"]).to_dict("records")
    }


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw a line of curves and a line of changes for each environment and model.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    pairs, looks = _style.panels(frame), _style.looks(frame)
    heights = [
        height
        for pair in pairs
        for height in (1.55, 0.35 + 0.24 * len(_style.arms_of(_style.within(frame, pair))))
    ]
    size = (_style.DOUBLE, 0.6 + sum(heights) + 0.62 * len(pairs))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.add_gridspec(len(heights), 6, height_ratios=heights)
    for row, pair in enumerate(pairs):
        part = _style.within(frame, pair)
        names = _names(frame, pair)
        _style.name_block(_curves(figure, grid, 2 * row, part, looks), pair)
        _changes(figure, grid, 2 * row + 1, part, looks, names)
    _style.legend(figure, _entries(frame))
    return figure


def _curves(figure: Figure, grid: GridSpec, row: int, part: pd.DataFrame, looks: dict) -> Axes:
    names = [name for name in LEVELS if name in set(part["metric"])]
    first = figure.add_subplot(grid[row, :2])
    drawn = _style.legible(part)
    for column, name in enumerate(names):
        ax = figure.add_subplot(grid[row, 2 * column : 2 * column + 2]) if column else first
        rows = drawn.loc[drawn["metric"] == name]
        for policy, curve in rows.loc[is_seed(rows["policy"])].groupby("policy"):
            style = {"color": looks[policy].colour, "linewidth": 0.5, "alpha": 0.45}
            ax.plot(curve["step"], curve["value"], **style)
        for arm in _style.arms_of(rows):
            curve = rows.loc[rows["policy"] == arm].astype({"low": float, "high": float})
            colour, marker = looks[arm]
            ax.fill_between(
                curve["step"].astype(int),
                curve["low"],
                curve["high"],
                color=colour,
                alpha=0.12,
                linewidth=0,
            )
            ax.plot(curve["step"], curve["value"], color=colour, marker=marker, zorder=3)
        ax.set_title(LEVELS[name])
        ax.set_xlabel("optimiser step")
        ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    return first


def _names(frame: pd.DataFrame, pair: tuple[str, str]) -> list[str]:
    """Name the arms of a panel, with their steps where these differ anywhere."""
    last, arms = _last(frame), _style.arms_of(_style.within(frame, pair))
    if len(set(last.values())) == 1:
        return arms
    return [f"{arm}, step {last[*pair, arm]}" if (*pair, arm) in last else arm for arm in arms]


def _changes(
    figure: Figure, grid: GridSpec, row: int, part: pd.DataFrame, looks: dict, names: list[str]
) -> None:
    arms = _style.arms_of(part)
    left = figure.add_subplot(grid[row, :3])
    right = figure.add_subplot(grid[row, 3:], sharey=left)
    rows = part.loc[~is_seed(part["policy"])]
    for lane, name in enumerate(PARTS):
        for y, record in _records(rows, name, arms):
            look, place = looks[record["policy"]], y - 0.17 + 0.34 * lane
            style = {"color": look.colour, "alpha": 1.0 if lane else 0.4}
            left.barh(place, record["value"], height=0.3, **style)
            _style.interval(left, record, place, color=_style.BASE, linewidth=0.7)
    for lane, (name, (_, marker, filled)) in enumerate(CHANGES.items()):
        for y, record in _records(rows, name, arms):
            look, place = looks[record["policy"]], y - 0.24 + 0.24 * lane
            _style.interval(right, record, place, color=look.colour, linewidth=1.1)
            face = {"markerfacecolor": look.colour if filled else "white", "markersize": 3.4}
            right.plot(record["value"], place, marker, color=look.colour, zorder=3, **face)
    for ax, title in ((left, "split of the change in R_single"), (right, "change since step 0")):
        ax.axvline(0, color=_style.BASE, linewidth=0.9, zorder=1)
        ax.set_title(title)
        ax.set_yticks(range(len(arms)), names)
        ax.set_ylim(len(arms) - 0.45, -0.55)
        ax.tick_params(axis="y", length=0)
        ax.grid(visible=False, axis="y")
        ax.locator_params(axis="x", nbins=5)
        ax.xaxis.set_major_formatter(_style.signed)
    right.tick_params(labelleft=False)
    if not set(PARTS) & set(rows["metric"]):
        left.remove()
        right.tick_params(labelleft=True)


def _records(rows: pd.DataFrame, metric: str, arms: list[str]) -> list[tuple[int, dict]]:
    found = {row["policy"]: row for row in rows.loc[rows["metric"] == metric].to_dict("records")}
    return [(y, found[arm]) for y, arm in enumerate(arms) if arm in found]


def _entries(frame: pd.DataFrame) -> list:
    looks = _style.looks(frame)
    shown = _style.legible(frame)
    entries: list = [_style.key(a, looks[a], marker=looks[a].marker) for a in _style.arms_of(shown)]
    neutral = _style.Look(_style.BASE, "")
    if is_seed(shown["policy"]).any():
        entries.append(_style.key("single training seed", neutral, linewidth=0.6, alpha=0.7))
    if set(PARTS) & set(frame["metric"]):
        for alpha, words in zip((0.4, 1.0), PARTS.values(), strict=True):
            entries.append(Patch(color=_style.BASE, alpha=alpha, linewidth=0, label=words))
    for name, (words, marker, filled) in CHANGES.items():
        if name in set(frame["metric"]):
            face = _style.BASE if filled else "white"
            mark = {"marker": marker, "markerfacecolor": face, "linestyle": "none"}
            entries.append(_style.key(f"change in {words}", neutral, **mark))
    return entries
