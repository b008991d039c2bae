"""Curves with shaded intervals, solid or dashed, along attempts or anything else."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from turnscope.figures import _style

FILLED: dict[str, Any] = {"markeredgewidth": 0}
HOLLOW: dict[str, Any] = {
    "linestyle": "--",
    "markerfacecolor": "white",
    "markeredgewidth": 0.9,
}


def curve(ax: Axes, rows: pd.DataFrame, x: str, look: _style.Look, line: dict[str, Any]) -> None:
    """Draw values and their intervals.

    Args:
        ax: The panel.
        rows: Rows of one curve, with `value`, `low` and `high`.
        x: Column of whole numbers that runs along the axis.
        look: Of the policy.
        line: `FILLED` or `HOLLOW`, and whatever else.
    """
    x_C = rows[x].astype(int)
    low_C, high_C = (rows[name].astype(float) for name in ("low", "high"))
    ax.fill_between(x_C, low_C, high_C, color=look.colour, alpha=0.12, linewidth=0)
    ax.plot(
        x_C, rows["value"], **{"color": look.colour, "marker": look.marker, "zorder": 3, **line}
    )


def along_k(ax: Axes, part: pd.DataFrame, noun: str) -> None:
    """Let the number of attempts run along the axis of one environment and model."""
    ks = sorted(part["k"].dropna().astype(int).unique())
    ax.set_xscale("log", base=2)
    ax.set_xticks(ks, [str(k) for k in ks])
    ax.minorticks_off()
    ax.set_xlabel(f"{noun} k  ({_style.T_MAX} = {part['t'].max()} turns)")
