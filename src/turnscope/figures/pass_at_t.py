"""Does the lead of RL need turns? Pass@(k,T) against the turn budget T, with what is possible."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import offset_copy

from turnscope.arms import is_seed
from turnscope.figures import _captions, _curves, _style
from turnscope.types import Arm

SOURCES = ("pass_at_kt", "crossover")
TITLE = "Success by turn budget"
CAPTION = (
    "Share of tasks solved in at least one of k = {k} independent episodes of at most T turns, "
    "Pass@({k}, T). Thick lines: the base model (grey-black) and each reinforcement-learning arm, "
    "averaged over {seeds}; thin lines: single training seeds; shading: 95% bootstrap interval "
    "over tasks at each T. {bound}Lower strip: the arm's lead over the base model on the same "
    "tasks; its band holds for all T at once (95%). {crossover}{tasks}, {samples} of each task."
    "{left_out}{blind}"
)
DRAWN_TOO = {
    "bound": "Light grey line: structural bound, the success of the best possible policy; the room "
    "below it is headroom that no policy shown uses. ",
    "crossover": "Triangle and bar in the strip: T*, the turn budget from which on the arm is "
    "never behind (1: it never is), with its 95% interval. ",
}
"""What the caption says of a metric, if there is any of it."""


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select Pass@(k,T) for all T, differences to the base model, the bound and T*.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Episodes per task, the K of Pass@(K,T).
        arms: The arms of the study by name, in order.

    Returns:
        One row for each point, columns `_curves.COLUMNS`; T* is a row of metric `crossover`.

    Raises:
        ValueError: There is no estimate with this k.
    """
    metrics = ["pass_at_k", "bound", "crossover"]
    rows = estimates.loc[estimates["metric"].isin(metrics) & (estimates["k"] == k)]
    rows = rows.loc[(rows["metric"] != "crossover") | ~is_seed(rows["policy"])]
    rows = _curves.drawn(rows, "band_t", arms)
    if "pass_at_k" not in set(rows["metric"]):
        raise ValueError(f"pass_at_t: no estimate of Pass@(k,T) with k={k} to draw")
    return rows


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    metrics = set(frame["metric"])
    more = {name: text if name in metrics else "" for name, text in DRAWN_TOO.items()}
    more |= {"left_out": _captions.left_out(frame), "blind": _captions.played_blind(frame)}
    return CAPTION.format(**_captions.sizes(frame), **more)


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw curves under their bound, and differences to the base model with T* below.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    frame = _style.legible(frame)
    figure = _curves.figure_of(frame, "t", _finish)
    figure.axes[0].set_ylabel(f"Pass@({frame['k'].iloc[0]}, T)")
    entries = _curves.entries(frame)
    if "bound" in set(frame["metric"]):
        entries += _curves.headroom_entries()
    _style.legend(figure, entries)
    return figure


def _finish(above: Axes, below: Axes, part: pd.DataFrame, looks: _curves.Looks) -> None:
    t_max = max(part.loc[:, "t"].dropna().astype(int))
    _headroom(above, part)
    _crossovers(below, part, looks, t_max)
    below.set_xlim(1, max(t_max, 2))
    below.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    below.set_xlabel("turn budget T")
    top = above.secondary_xaxis("top")
    top.set_xticks(np.multiply([0.25, 0.5, 0.75, 1.0], t_max), ["25%", "50%", "75%", _style.T_MAX])
    top.spines["top"].set_visible(False)
    top.tick_params(length=2, labelsize=7, labelcolor="#666666", color="#999999", pad=1)


def _headroom(ax: Axes, part: pd.DataFrame) -> None:
    bound = part.loc[part["metric"] == "bound"]
    if bound.empty:
        return
    levels = part.loc[(part["metric"] == "pass_at_k") & part["against"].isna()]
    highest = levels.groupby("t")["value"].max().reindex(bound["t"])
    t_T, value_T = bound["t"].astype(int), bound["value"].astype(float)
    ax.fill_between(
        t_T, highest.astype(float), value_T, color=_style.BOUND, alpha=0.18, linewidth=0, zorder=1
    )
    ax.plot(t_T, value_T, color=_style.BOUND, linewidth=1.2, zorder=2)


def _crossovers(ax: Axes, part: pd.DataFrame, looks: _curves.Looks, t_max: int) -> None:
    rows = part.loc[part["metric"] == "crossover"].to_dict("records")
    apart = min(3.5, 14 / max(len(rows), 2))
    note = {"loc": "right", "fontsize": 7, "fontweight": "normal", "pad": 2}
    if len(rows) > 1 and all(row["value"] == row["high"] == 1 for row in rows):
        ax.set_title("T* = 1 for every arm: never behind", **note)
        return
    if len(rows) > 1:
        _leave_room(ax, part)
    for i, row in enumerate(rows):
        place = ax.transData
        if len(rows) > 1:  # one below the other, beneath the curves
            points = 2.5 + apart * (len(rows) - 1 - i)
            place = ax.get_xaxis_transform()
            place = offset_copy(place, ax.get_figure(root=True), y=points, units="points")
        style = {"color": looks[row["policy"]].colour, "transform": place, "zorder": 4}
        ends = [row["low"], row["high"] if pd.notna(row["high"]) else t_max]
        ax.plot(ends, [0, 0], linewidth=min(2.6, apart), alpha=0.55, **style)
        edge = {"markeredgecolor": "white", "markeredgewidth": 0.5, "markersize": 3.5 + 0.7 * apart}
        ax.plot([row["value"]], [0], marker="^", clip_on=False, in_layout=False, **edge, **style)
    if len(rows) == 1:
        ax.set_title(_in_words(rows[0]), **note)


def _leave_room(ax: Axes, part: pd.DataFrame) -> None:
    leads = part.loc[(part["metric"] == "pass_at_k") & (part["against"] == "base")]
    drawn = leads.loc[:, ["value", "band_low", "band_high"]].to_numpy(float, na_value=np.nan)
    low, high = np.nanmin(drawn, initial=0.0), np.nanmax(drawn, initial=0.0)
    ax.plot([1], [low - 0.4 * (high - low)], alpha=0)


def _in_words(row: dict[Hashable, Any]) -> str:
    value, low, high = row["value"], row["low"], row["high"]
    if pd.isna(value):
        return "no T*: behind at the end"
    ends = "" if pd.isna(low) else f" [{low:g}, {'never' if pd.isna(high) else f'{high:g}'}]"
    return f"T* = {value:g}{ends}{', never behind' if value == 1 else ''}"
