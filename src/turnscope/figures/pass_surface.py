"""Where on the plane of attempts and turns does RL lead? The difference in Pass@(k,T) as a map."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from turnscope.arms import is_seed
from turnscope.figures import _captions, _rows, _style
from turnscope.types import Arm

SOURCES = ("pass_at_kt",)
TITLE = "Lead over the base model by attempts and turns"
CAPTION = (
    "Lead of each reinforcement-learning arm over the base model in Pass@(k, T), the share of "
    "tasks solved in at least one of k independent episodes of at most T turns. Blue: the arm "
    "leads; red: the base model leads. Hatched: the 95% band of the difference, which holds for "
    "all T of a row at once, covers zero, so that neither is shown to lead. Paired differences on "
    "{tasks}, {samples} of each task and policy, arms averaged over {seeds}.{left_out}{blind}"
)
PALETTE = sns.color_palette("vlag_r", as_cmap=True)
COVERED: dict[str, Any] = {
    "facecolor": "none",
    "edgecolor": "#777777",
    "hatch": "/////",
    "linewidth": 0,
}
SHOWN = ["against", "k", "t", "value", "band_t_low", "band_t_high"]
COLUMNS = [*_rows.WHO, *SHOWN, *_rows.SIZES]


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select the difference between each arm and the base model at all (k, T).

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Not used; all k are drawn.
        arms: The arms of the study by name, in order.

    Returns:
        One row for each cell, columns `COLUMNS`.

    Raises:
        ValueError: There is no difference to draw.
    """
    rows = estimates.loc[(estimates["metric"] == "pass_at_k") & (estimates["against"] == "base")]
    rows = rows.loc[~is_seed(rows["policy"]) & rows["value"].notna()]
    if rows.empty:
        raise ValueError("pass_surface: no difference between an arm and base to draw")
    return _rows.table(rows, arms, COLUMNS, [*_rows.ORDER, "k", "t"])


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    more = {"left_out": _captions.left_out(frame), "blind": _captions.played_blind(frame)}
    return CAPTION.format(**_captions.sizes(frame), **more)


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw one map for each arm, environment and model, all on one colour scale.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    frame = _style.legible(frame)
    lines = _lines(frame)
    rows, columns = len(lines), max(map(len, lines))
    width = _style.SINGLE if columns == 1 else _style.DOUBLE
    figure = Figure(figsize=(width, 0.6 + 1.75 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    scale, named = _scale(frame), None
    for line, maps in zip(axes, lines, strict=True):
        for ax, (pair, arm) in zip(line, maps, strict=False):
            _map(ax, _style.within(frame.loc[frame["policy"] == arm], pair), scale)
            ax.set_title(arm, fontweight="normal")
            ax.set_xlabel("turn budget T")
        if maps[0][0] != named:
            named = maps[0][0]
            _style.name_block(line[0], named)
        line[0].set_ylabel("attempts k")
        for ax in line[len(maps) :]:
            ax.remove()
    bar = figure.colorbar(
        ScalarMappable(scale, PALETTE),
        ax=figure.axes,
        shrink=min(1.0, 1.6 / rows),
        aspect=18,
        pad=0.02,
    )
    bar.set_label("lead over base")
    bar.outline.set_visible(False)  # type: ignore[operator]
    bar.ax.yaxis.set_major_formatter(_style.signed)
    _style.legend(figure, [Patch(label="95% band covers 0", **COVERED)])
    return figure


def _lines(frame: pd.DataFrame) -> list[list[tuple[tuple[str, str], str]]]:
    """Lay maps out: a line for each environment and model, or two of two where there is but one."""
    lines = [
        [(pair, arm) for arm in _style.arms_of(_style.within(frame, pair))]
        for pair in _style.panels(frame)
    ]
    maps = lines[0]
    return [maps[:2], maps[2:]] if len(lines) == 1 and len(maps) == _style.LEGIBLE else lines


def _scale(frame: pd.DataFrame) -> Normalize:
    most = max(frame.loc[:, "value"].abs()) or 1.0
    return Normalize(-most, most)


def _map(ax: Axes, part: pd.DataFrame, scale: Normalize) -> None:
    cells = part.assign(
        covers=1.0 - ((part["band_t_low"] > 0) | (part["band_t_high"] < 0)).astype(float)
    ).set_index(["k", "t"])
    value, covered = cells["value"].unstack(), cells["covers"].unstack()  # noqa: PD010 (no aggregation)
    edges_T = np.arange(len(value.columns) + 1) + float(min(part["t"])) - 0.5
    edges_K = np.arange(len(value) + 1) - 0.5
    ax.pcolormesh(edges_T, edges_K, value, cmap=PALETTE, norm=scale)
    for row, column in np.argwhere((covered == 1).to_numpy()):
        ax.add_patch(Rectangle((float(edges_T[column]), float(edges_K[row])), 1, 1, **COVERED))
    ax.set_yticks(range(len(value)), [str(k) for k in value.index])
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.grid(visible=False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
