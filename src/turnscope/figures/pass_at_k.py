"""Does RL still lead when many attempts are allowed? Pass@(k, T_max) against k."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from turnscope.figures import _captions, _curves, _style
from turnscope.types import Arm

SOURCES = ("pass_at_kt",)
TITLE = "Success by number of attempts"
CAPTION = (
    "Share of tasks solved in at least one of k independent episodes, Pass@(k, T_max), when every "
    "episode may use all T_max turns. Thick lines: the base model (grey-black) and each "
    "reinforcement-learning arm, averaged over {seeds}; thin lines: single training seeds; "
    "shading: 95% bootstrap interval over tasks at each k. Lower strip: the arm's lead over the "
    "base model on the same tasks; its band holds for all k at once (95%), so that the arm leads "
    "where the band lies above 0. {tasks}, {samples} of each task.{left_out}{blind}"
)


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select Pass@(k, T_max) and the paired differences to the base model.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Not used; all k are drawn.
        arms: The arms of the study by name, in order.

    Returns:
        One row for each point, columns `_curves.COLUMNS`.

    Raises:
        ValueError: There is no estimate of Pass@(k,T).
    """
    rows = estimates.loc[estimates["metric"] == "pass_at_k"]
    t_max = rows.groupby(["env", "model"])["t"].transform("max")
    rows = _curves.drawn(rows.loc[rows["t"] == t_max], "band_k", arms)
    if rows.empty:
        raise ValueError("pass_at_k: no estimate of Pass@(k,T) to draw")
    return rows


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    more = {"left_out": _captions.left_out(frame), "blind": _captions.played_blind(frame)}
    return CAPTION.format(**_captions.sizes(frame), **more)


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw one curve for each policy, and its difference to the base model below.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    frame = _style.legible(frame)
    figure = _curves.figure_of(frame, "k", _finish)
    figure.axes[0].set_ylabel(f"Pass@(k, {_style.T_MAX})")
    _style.legend(figure, _curves.entries(frame))
    return figure


def _finish(above: Axes, below: Axes, part: pd.DataFrame, looks: _curves.Looks) -> None:
    ks = sorted(part["k"].unique())
    below.set_xscale("log", base=2)
    below.set_xticks(ks, [str(k) for k in ks])
    below.minorticks_off()
    below.set_xlabel(f"attempts k  ({_style.T_MAX} = {part['t'].max()} turns)")
