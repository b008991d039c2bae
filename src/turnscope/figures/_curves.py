"""Success as a curve, with the paired difference to the base model in a strip below it."""

from collections.abc import Callable, Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from turnscope.arms import is_seed
from turnscope.figures import _rows, _style
from turnscope.types import Arm

Looks = dict[str, _style.Look]
SHOWN = ["against", "k", "t", "value", "low", "high", "band_low", "band_high"]
COLUMNS = ["metric", *_rows.WHO, *SHOWN, *_rows.SIZES]


def drawn(rows: pd.DataFrame, band: str, arms: Mapping[str, Arm]) -> pd.DataFrame:
    """Keep what a figure shows of some estimates.

    Args:
        rows: Rows of `estimates`.
        band: `band_t` or `band_k`, the simultaneous band that the figure shows.
        arms: The arms of the study by name, in order.

    Returns:
        Columns `COLUMNS`, without undefined values, sorted by what they are.
    """
    rows = rows.loc[rows["value"].notna() | rows["metric"].str.startswith("crossover")]
    names = {f"{band}_low": "band_low", f"{band}_high": "band_high"}
    keys = ["metric", *_rows.ORDER, "against", "k", "t"]
    return _rows.table(rows.rename(columns=names), arms, COLUMNS, keys)


def figure_of(
    frame: pd.DataFrame,
    x: str,
    finish: Callable[[Axes, Axes, pd.DataFrame, Looks], None],
) -> Figure:
    """Draw levels and differences of all panels.

    Args:
        frame: Result of `drawn`, at most the legible arms.
        x: `k` or `t`, what runs along the axis.
        finish: Adds to a panel what only one figure has, given its two axes, its rows and
            the looks of the policies.

    Returns:
        The figure, without a legend.
    """
    pairs, looks = _style.panels(frame), _style.looks(frame)
    rows, columns, width = _style.shape(pairs)
    strip = 1 if len(_style.arms_of(frame)) == 1 else 1.4
    figure = Figure(figsize=(width, 0.35 + (1.95 + 0.8 * strip) * rows), layout="constrained")
    axes = figure.subplots(
        2 * rows, columns, squeeze=False, sharey="row", height_ratios=[2.3, strip] * rows
    )
    for position in range(rows * columns):
        row, column = divmod(position, columns)
        above, below = axes[2 * row, column], axes[2 * row + 1, column]
        if position >= len(pairs):
            above.remove()
            below.remove()
            continue
        part = _style.within(frame, pairs[position])
        above.sharex(below)
        above.tick_params(labelbottom=False)
        leads = part.loc[(part["metric"] == "pass_at_k") & (part["against"] == "base")]
        levels(above, part, x, looks)
        differences(below, leads, x, "band_low", looks)
        finish(above, below, part, looks)
        _style.name_panel(above, pairs[position])
        if column == 0:
            below.set_ylabel("lead over\nbase")
    figure.align_ylabels()
    return figure


def entries(frame: pd.DataFrame, **line: object) -> list:
    """Return the legend of what `figure_of` draws."""
    looks = _style.looks(frame)
    names = _style.policies_of(frame)
    handles = [_style.key(n, looks[n], marker=looks[n].marker, **line) for n in names]
    seeds = frame.loc[is_seed(frame["policy"]), "policy"]
    if len(seeds):
        look = looks[seeds.iloc[0]] if len(names) <= 2 else _style.Look(_style.BASE, "")
        handles.append(_style.key("single training seed", look, linewidth=0.6, alpha=0.7))
    return handles


def headroom_entries() -> list:
    """Return the legend of the structural bound and the room below it."""
    line = _style.key("bound", _style.Look(_style.BOUND, ""), linewidth=1.2)
    return [line, Patch(color=_style.BOUND, alpha=0.18, linewidth=0, label="headroom")]


def levels(ax: Axes, part: pd.DataFrame, x: str, looks: Looks) -> None:
    """Draw Pass@(k,T) of the policies of one panel, with pointwise intervals."""
    rows = part.loc[(part["metric"] == "pass_at_k") & part["against"].isna()]
    _lines(ax, rows, x, "low", looks)
    ax.set_ylim(0, 1.03)


def differences(ax: Axes, rows: pd.DataFrame, x: str, low: str, looks: Looks) -> None:
    """Draw differences as curves about 0.

    Args:
        ax: The panel.
        rows: Differences of one environment and model.
        x: `k` or `t`, what runs along the axis.
        low: `low` or `band_low`, the column of the lower end of what is shaded.
        looks: Of every policy.
    """
    ax.axhline(0, color=_style.BASE, linewidth=0.9)
    _lines(ax, rows, x, low, looks)
    ax.margins(y=0.12)
    ax.yaxis.set_major_locator(MaxNLocator(4, min_n_ticks=3))
    ax.yaxis.set_major_formatter(_style.signed)


def _lines(ax: Axes, rows: pd.DataFrame, x: str, low: str, looks: Looks) -> None:
    high = low.replace("low", "high")
    seeds = is_seed(rows["policy"])
    for policy, curve in rows.loc[seeds].groupby("policy"):
        ax.plot(curve[x], curve["value"], color=looks[str(policy)].colour, linewidth=0.6, alpha=0.6)
    means = _style.policies_of(rows)
    every = max(1, rows.loc[:, x].nunique() // 5) if x == "t" else 1
    for i, policy in enumerate(means):
        curve, look = rows.loc[rows["policy"] == policy], looks[policy]
        around = [curve[x].astype(int), curve[low].astype(float), curve[high].astype(float)]
        shade = 0.18 if len(means) <= 4 else 0.09
        ax.fill_between(*around, color=look.colour, alpha=shade, linewidth=0)
        ax.plot(
            curve[x],
            curve["value"],
            color=look.colour,
            marker=look.marker,
            markevery=(i % every, every),
            markeredgewidth=0,
            zorder=3,
        )
