"""Does training under mixed budgets help when turns are short, and does it cost anything?"""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from turnscope import budgets, intervals
from turnscope.arms import is_seed
from turnscope.figures import _captions, _curves, _quarters, _style
from turnscope.types import Arm

SOURCES = ("pass_at_kt", "between_arms", "awareness")
TITLE = "BudgetMix against full-budget training"
CAPTION = (
    "Pass@({k}, T) at the quarters of T_max for training under mixed turn budgets (budget_mix) and "
    "its controls, averaged over {seeds}. Upper panels: levels, with 95% intervals over tasks. "
    "{told}{compared}{tasks}, {samples} of each task.{not_run}"
)
COMPARED = (
    "Lower panels: paired difference to {reference}: thick lines are 95% intervals over tasks, "
    "filled where they exclude 0, and thin lines over training seeds; neither is corrected for "
    "their number, and scales differ. At 100%, the dashed line is the margin of 2 points, and a "
    "triangle the lower end of the one-sided 95% interval over training seeds: an arm is not "
    "inferior if it lies right of the line. "
)
TOLD = "{arms}: played for that budget, with the turns left shown. "
ALGORITHMS = ("grpo", "budget_mix", "speed_shaped", "tight", "curriculum", "anytime")
METRICS = ("pass_at_k", _quarters.TOLD, _quarters.GAP, _quarters.SEEDS, _quarters.LOWER)


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select Pass@(k,T) of BudgetMix and its controls at the quarters, and their differences.

    An arm that is trained seeing the turns left is played so: its rows have metric `told`, and it
    has no difference to arms that were played blind.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Episodes per task, the K of Pass@(K,T).
        arms: The arms of the study by name, in order.

    Returns:
        One row for each mark, columns `_curves.COLUMNS`.

    Raises:
        ValueError: There is no estimate with this k.
    """
    rows = estimates.loc[estimates["metric"].isin(METRICS) & (estimates["k"] == k)]
    rows = rows.loc[~is_seed(rows["policy"]) & (rows["against"] != "base")]
    rows = rows.loc[rows["policy"].isin(["base", *_quarters.chosen(rows, ALGORITHMS, arms)])]
    if "pass_at_k" not in set(rows["metric"]):
        raise ValueError(f"budget_mix: no estimate of Pass@(k,T) with k={k} to draw")
    told = [arm.name for arm in arms.values() if arm.told]
    rows = rows.loc[~rows["against"].isin(told)]
    rows = rows.loc[rows["policy"].isin(told) == (rows["metric"] == _quarters.TOLD)]
    return _curves.drawn(_quarters.quarters(rows), "band_t", arms)


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    told = _style.told_of(frame)
    compared = COMPARED.format(reference=_quarters.reference(frame))
    return CAPTION.format(
        **_captions.sizes(frame),
        compared=compared if _quarters.compared(frame) else "",
        told=TOLD.format(arms=", ".join(told)) if told else "",
        not_run=_captions.not_run(_missing(frame)),
    )


def _missing(frame: pd.DataFrame) -> list[str]:
    """List the algorithms and controls that no arm of the figure is."""
    trained = frame.loc[frame["place"] > 0]
    missing = [name for name in ALGORITHMS if name not in set(trained["algorithm"])]
    mixed = trained.loc[trained["algorithm"] == "budget_mix"]
    if len(mixed) and "told" not in set(mixed["trained"]):
        missing.append("budget_mix with the turns left shown")
    others = set(trained["policy"]) - {_quarters.reference(frame)}
    if "grpo" not in set(trained.loc[trained["policy"].isin(others), "algorithm"]):
        missing.append("a second grpo, such as grpo_matched")
    return missing


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw two lines of four panels, levels and differences, for each environment and model.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    pairs, looks = _style.panels(frame), _style.looks(frame)
    parts = [_style.within(frame, pair) for pair in pairs]
    heights = [_heights(part) for part in parts]
    lines = [line for each in heights for line in each]
    size = (_style.DOUBLE, 0.5 + sum(lines) + 0.45 * len(lines))
    figure = Figure(figsize=size, layout="constrained")
    axes = iter(figure.subplots(len(lines), 4, squeeze=False, height_ratios=lines))
    for pair, part, each in zip(pairs, parts, heights, strict=True):
        names, compared = ["base", *_style.arms_of(part)], _quarters.compared(part)
        levels, *gaps = (next(axes) for _ in each)
        _levels(levels, part, names, looks)
        _quarters.arms_down(levels, names)
        _quarters.titles(levels, int(part["t"].max()))
        _style.name_block(levels[0], pair)
        for ax in levels:
            ax.set_xlabel(f"Pass@({frame['k'].iloc[0]}, T)")
        for panels in gaps:
            _quarters.differences(panels, part, compared, looks)
            _margin(panels[-1], part, compared, looks)
            _quarters.arms_down(panels, compared)
            for ax in panels:
                ax.set_xlabel(f"lead over {_quarters.reference(frame)}")
    _style.legend(figure, _entries(frame))
    return figure


def _heights(part: pd.DataFrame) -> list[float]:
    """Say how high the lines of one environment and model are, inches."""
    compared = _quarters.compared(part)
    levels = 0.3 + 0.17 * (1 + len(_style.arms_of(part)))
    return [levels, *([0.3 + 0.2 * len(compared)] if compared else [])]


def _levels(axes: Sequence[Axes], part: pd.DataFrame, names: list[str], looks: dict) -> None:
    turns = budgets.grid(budgets.QUARTERS, int(part["t"].max()))
    for ax, budget in zip(axes, turns, strict=True):
        rows = part.loc[(part["t"] == budget) & part["metric"].isin(["pass_at_k", _quarters.TOLD])]
        found = {row["policy"]: row for row in rows.to_dict("records")}
        ax.sharex(axes[0])
        for y, name in enumerate(names):
            if name in found:
                row, (colour, marker) = found[name], looks[name]
                if not pd.isna([row["low"], row["high"]]).any():
                    ax.plot([row["low"], row["high"]], [y, y], color=colour)
                ax.plot(row["value"], y, marker, color=colour, markersize=3.8, zorder=3)
        ax.locator_params(axis="x", nbins=3)


def _margin(ax: Axes, part: pd.DataFrame, names: list[str], looks: dict) -> None:
    rows = part.loc[(part["metric"] == _quarters.LOWER) & (part["t"] == part["t"].max())]
    found = {row["policy"]: row["low"] for row in rows.to_dict("records")}
    for y, name in enumerate(names):
        if not pd.isna(found.get(name)):
            ax.plot(found[name], y + 0.22, "<", color=looks[name].colour, markersize=3.8, zorder=4)
    if found:
        ax.axvline(-intervals.NONINFERIORITY, color=_style.BASE, linewidth=0.8, linestyle="--")


def _entries(frame: pd.DataFrame) -> list:
    entries = _quarters.entries(frame)
    if _quarters.LOWER in set(frame["metric"]):
        neutral, dash = _style.Look(_style.BASE, ""), {"linestyle": "--", "linewidth": 0.8}
        mark = {"marker": "<", "linestyle": "none"}
        entries += [
            _style.key("lower end over seeds", neutral, **mark),
            _style.key("margin", neutral, **dash),
        ]
    return entries
