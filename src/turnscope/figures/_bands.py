"""Curves with shaded intervals, solid or dashed, along attempts or anything else."""

from collections.abc import Callable
from typing import Any, Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from turnscope.figures import _style

FILLED: dict[str, Any] = {"markeredgewidth": 0}
HOLLOW: dict[str, Any] = {
    "linestyle": "--",
    "markerfacecolor": "white",
    "markeredgewidth": 0.9,
}


Panel = Callable[[Axes, pd.DataFrame, dict[str, _style.Look]], None]
"""Draws one environment and model."""


def figure_of(
    frame: pd.DataFrame, panel: Panel, noun: str, height: float, share: bool | Literal["row"]
) -> Figure:
    """Draw one panel for each environment and model.

    Args:
        frame: What is drawn.
        panel: Draws its part of the frame.
        noun: What stands beside the axes on the left.
        height: Of a row of panels, inches.
        share: Which panels have the same vertical axis: all, or those of a row.

    Returns:
        The figure, without a legend.
    """
    pairs, looks = _style.panels(frame), _style.looks(frame)
    rows, columns, width = _style.shape(pairs)
    figure = Figure(figsize=(width, 0.5 + height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=share)
    for ax in axes.flat[len(pairs) :]:
        ax.remove()
    for ax, pair in zip(axes.flat, pairs, strict=False):
        panel(ax, _style.within(frame, pair), looks)
        _style.name_panel(ax, pair)
    for ax in axes[:, 0]:
        ax.set_ylabel(noun)
    return figure


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
