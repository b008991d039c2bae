"""Panels at a quarter, half, three quarters and all of the largest turn budget."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes

from turnscope import budgets
from turnscope.figures import _style
from turnscope.types import Arm

LEVEL, TOLD, GAP = "pass_at_k", "told", "between_arms"
SEEDS, LOWER = "between_arms_seeds", "between_arms_lower"


def quarters(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows at the quarters of the largest budget of each environment and model."""
    parts = [
        rows.loc[rows["t"].isin(budgets.grid(budgets.QUARTERS, int(rows["t"].max())))]
        for _, rows in frame.groupby(["env", "model"])
    ]
    return pd.concat(parts) if parts else frame


def titles(axes: Sequence[Axes], t_max: int) -> None:
    """Title four panels with their budgets."""
    for ax, share, turns in zip(
        axes, budgets.QUARTERS, budgets.grid(budgets.QUARTERS, t_max), strict=True
    ):
        noun = "turn" if turns == 1 else "turns"
        ax.set_title(f"{share:.0%}: {turns} {noun}", fontweight="normal")


def arms_down(axes: Sequence[Axes], names: Sequence[str]) -> None:
    """Write policies along the vertical axis of panels, of the first one in words."""
    for place, ax in enumerate(axes):
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0, labelleft=place == 0)
        ax.grid(visible=False, axis="y")
        ax.spines["left"].set_visible(False)


def differences(
    axes: Sequence[Axes],
    part: pd.DataFrame,
    names: Sequence[str],
    looks: dict[str, _style.Look],
) -> None:
    """Draw the differences of arms to the reference, one panel for each quarter.

    Args:
        axes: Four panels.
        part: Rows of one environment and model.
        names: The arms, from the top down.
        looks: Of every arm.
    """
    turns = budgets.grid(budgets.QUARTERS, int(part["t"].max()))
    for ax, budget in zip(axes, turns, strict=True):
        here = part.loc[part["t"] == budget].to_dict("records")
        found = {(row["metric"], row["policy"]): row for row in here}
        ax.axvline(0, color=_style.BASE, linewidth=0.9, zorder=1)
        for y, arm in enumerate(names):
            colour, marker = looks[arm]
            if row := found.get((GAP, arm)):
                _style.interval(ax, row, y - 0.08, color=colour, linewidth=1.6)
                sure = row["low"] > 0 or row["high"] < 0
                face = {"markerfacecolor": colour if sure else "white", "markersize": 3.8}
                ax.plot(row["value"], y - 0.08, marker, color=colour, zorder=3, **face)
            if row := found.get((SEEDS, arm)):
                _style.interval(ax, row, y + 0.22, color=colour, linewidth=0.7)
        ax.locator_params(axis="x", nbins=3)
        ax.xaxis.set_major_formatter(_style.signed)


def entries(frame: pd.DataFrame) -> list:
    """Return the legend of what `differences` draws."""
    neutral = _style.Look(_style.BASE, "o")
    found = []
    if GAP in set(frame["metric"]):
        mark = {"marker": "o", "linestyle": "none"}
        hollow = mark | {"markerfacecolor": "white"}
        found += [
            _style.key("interval over tasks", neutral, linewidth=1.6),
            _style.key("excludes 0", neutral, **mark),
            _style.key("covers 0", neutral, **hollow),
        ]
    if SEEDS in set(frame["metric"]):
        found.append(_style.key("interval over training seeds", neutral, linewidth=0.7))
    return found


def reference(frame: pd.DataFrame) -> str:
    """Return the arm that others are compared with; `grpo` where nothing was compared."""
    found = frame.loc[frame["metric"] == GAP, "against"].dropna()
    return str(found.iloc[0]) if len(found) else "grpo"


def chosen(
    estimates: pd.DataFrame, algorithms: Sequence[str], arms: Mapping[str, Arm]
) -> list[str]:
    """List the arms of some algorithms, under whatever names, and the reference.

    Args:
        estimates: Rows of `estimates`, which name the reference.
        algorithms: Of the arms that are wanted.
        arms: The arms of the study by name, in order.
    """
    rival = reference(estimates)
    return [a.name for a in arms.values() if a.algorithm in algorithms or a.name == rival]


def compared(frame: pd.DataFrame) -> list[str]:
    """List the arms that are compared with the reference, in the order of the study."""
    return _style.arms_of(frame.loc[frame["metric"] == GAP])
