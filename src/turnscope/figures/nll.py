"""Are the trained policy's actions likely under base? Histograms of their NLL."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from turnscope.arms import is_seed
from turnscope.figures import _captions, _rows, _sanity, _style
from turnscope.metrics.likelihood import BIN, BINS
from turnscope.types import Arm

SOURCES = ("likelihood",)
TITLE = "Likelihood of actions under base"
CAPTION = (
    "Negative log-probability (NLL) under the base model of the actions that the base model itself "
    "(grey-black) and each trained policy chose in their own episodes, pooled over {seeds}. Left: "
    "histograms, as far as all but {rest} of the actions of each go; dashed lines are means, which "
    "hold the rest too. Right: share of actions whose NLL is at least that large{beyond}. An "
    "action is all tokens sampled in a turn, its end included; all are scored by one engine at "
    "temperature 1. {ratios}{tasks}, {samples} of each task.{others}"
)
METRICS = ("nll", "nll_density", "nll_ratio", "nll_overlap")
COLUMNS = ["metric", *_rows.WHO, "against", "t", "value", "low", "high", *_rows.SIZES]
SHOWN, ALL = 0.95, 0.9999
"""Shares of the actions of every policy that the axes of both panels hold."""
MOST_BARS = 60
DASHED: dict[str, Any] = {"linestyle": (0, (3, 2)), "linewidth": 1.0}

Floats = npt.NDArray[np.float64]


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select the histograms, the means, and what policies and base have in common.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Not used.
        arms: The arms of the study by name, in order.

    Returns:
        Columns `COLUMNS`; rows of metric `nll_density` are bins, numbered by `t`. If sanity checks
        of the likelihoods failed, these and nothing else.

    Raises:
        ValueError: Nothing was scored.
    """
    rows = estimates.loc[estimates["metric"].isin(METRICS) & ~is_seed(estimates["policy"])]
    if "nll_density" not in set(rows["metric"]):
        raise ValueError("nll: no likelihood was scored")
    failed = _sanity.failed(estimates)
    shown = rows if failed.empty else failed
    return _rows.table(shown, arms, COLUMNS, ["metric", *_rows.ORDER, "t"])


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    if why := _sanity.notice(frame, "nll"):
        return why
    ratios = _captions.stated(frame, "nll_ratio", ".2f")
    capped = max(_end(frame, pair, ALL) for pair in _style.panels(frame)) == BINS
    return CAPTION.format(
        **_captions.sizes(frame),
        rest=f"{1 - SHOWN:.0%}",
        beyond=f", up to {BIN * BINS:.0f} nats" if capped else "",
        ratios=f"Ratio of the means to that of base, with 95% intervals over tasks: {ratios}. ",
        others=_captions.left_out(frame, "table claims"),
    )


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw two panels for each environment and model, or say why not.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    if why := _sanity.notice(frame, "nll"):
        return _sanity.page(why)
    pairs, looks, shown = _style.panels(frame), _style.looks(frame), _style.legible(frame)
    figure = Figure(figsize=(_style.DOUBLE, 0.45 + 1.9 * len(pairs)), layout="constrained")
    axes = figure.subplots(len(pairs), 2, squeeze=False)
    for (left, right), pair in zip(axes, pairs, strict=True):
        part = _style.within(shown, pair)
        _histograms(left, part, looks, _end(shown, pair, SHOWN))
        _tails(right, part, looks, _end(shown, pair, ALL))
        _style.name_panel(left, pair)
    for ax in axes[-1]:
        ax.set_xlabel("NLL of an action under base (nats)")
    figure.align_ylabels()
    mean = _style.Look(_style.BASE, "")
    entries = [_style.key(n, looks[n], linewidth=1.1) for n in _style.policies_of(shown)]
    _style.legend(figure, [*entries, _style.key("mean", mean, **DASHED)])
    return figure


def _histograms(ax: Axes, part: pd.DataFrame, looks: dict[str, _style.Look], end: int) -> None:
    step = -(-end // MOST_BARS)
    edges = BIN * step * np.arange(-(-end // step) + 1)
    names = _style.policies_of(part)
    shade = 0.2 if len(names) <= 2 else 0.06
    for name in names:
        colour = looks[name].colour
        shares = _shares(part, name, step * (len(edges) - 1))
        bars = shares.reshape(-1, step).mean(axis=1)
        ax.stairs(bars, edges, fill=True, color=colour, alpha=shade, linewidth=0)
        ax.stairs(bars, edges, color=colour, linewidth=1.1)
        means = part.loc[(part["policy"] == name) & (part["metric"] == "nll"), "value"]
        for mean in means:
            ax.axvline(mean, color=colour, zorder=3, **DASHED)
    ax.set_xlim(0, max([edges[-1], *(1.05 * part.loc[part["metric"] == "nll", "value"])]))
    ax.set_ylim(bottom=0)
    ax.set_ylabel("share of actions per nat")


def _tails(ax: Axes, part: pd.DataFrame, looks: dict[str, _style.Look], end: int) -> None:
    for name in _style.policies_of(part):
        shares = BIN * _shares(part, name, BINS)
        above = shares[::-1].cumsum()[::-1][:end]
        some = above > 0
        ax.plot(BIN * np.arange(end)[some], above[some], color=looks[name].colour, linewidth=1.1)
    ax.set_yscale("log")
    ax.set_xlim(0, BIN * end)
    ax.set_ylim(1 - ALL, 1.3)
    ax.set_ylabel("share at least as large")


def _shares(part: pd.DataFrame, name: str, count: int) -> Floats:
    """Lay the first bins of a policy out."""
    bins = part.loc[(part["policy"] == name) & (part["metric"] == "nll_density")]
    bins = bins.loc[bins["t"] < count]
    shares = np.zeros(count)
    shares[bins["t"].to_numpy(np.int64)] = bins["value"].to_numpy(float)
    return shares


def _end(frame: pd.DataFrame, pair: tuple[str, str], share: float) -> int:
    """Return the number of bins that hold a share of the actions of every policy."""
    part, ends = _style.within(frame, pair), [1]
    for name in _style.policies_of(part):
        held = BIN * _shares(part, name, BINS).cumsum()
        ends.append(1 + min(int((held < share).sum()), BINS - 1))
    return max(ends)
