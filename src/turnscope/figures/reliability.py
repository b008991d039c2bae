"""Capability or reliability? At least one of k episodes, the average one, and all k of them."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from turnscope.arms import is_seed
from turnscope.figures import _bands, _captions, _rows, _style
from turnscope.types import Arm

SOURCES = ("pass_at_kt",)
TITLE = "Capability and reliability"
CAPTION = (
    "Share of tasks, at T_max turns, in which at least one of k independent episodes is solved "
    "(Pass@(k, T_max), solid lines and filled marks), and in which all k are (pass^k, dashed lines "
    "and hollow marks); dotted: share of single episodes solved, where both begin. The base model "
    "(grey-black) and each reinforcement-learning arm, averaged over {seeds}. The distance between "
    "the two curves of a policy is inconsistency: tasks that it solves sometimes. Shading: 95% "
    "bootstrap intervals over tasks. {tasks}, {samples} of each task.{left_out}{blind}"
)
ABOVE, BELOW, AVERAGE = "pass_at_k", "pass_hat_k", "avg_at_n"
COLUMNS = ["metric", *_rows.WHO, "k", "t", "value", "low", "high", *_rows.SIZES]


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select Pass@(k, T_max), pass^k and the average success of base and of the arms.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Not used; all k are drawn.
        arms: The arms of the study by name, in order.

    Returns:
        One row for each point, columns `COLUMNS`.

    Raises:
        ValueError: There is no estimate of pass^k.
    """
    rows = estimates.loc[estimates["against"].isna() & ~is_seed(estimates["policy"])]
    rows = rows.loc[rows["metric"].isin([ABOVE, BELOW, AVERAGE]) & rows["value"].notna()]
    t_max = rows.groupby(["env", "model"])["t"].transform("max")
    rows = rows.loc[rows["t"] == t_max]
    if BELOW not in set(rows["metric"]):
        raise ValueError("reliability: no estimate of pass^k to draw")
    return _rows.table(rows, arms, COLUMNS, ["metric", *_rows.ORDER, "k"])


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    more = {"left_out": _captions.left_out(frame), "blind": _captions.played_blind(frame)}
    return CAPTION.format(**_captions.sizes(frame), **more)


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw two curves that part from the average, for each policy, environment and model.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    frame = _style.legible(frame)
    looks = _style.looks(frame)
    figure = _bands.figure_of(frame, _panel, "share of tasks", 2.5, True)
    _style.legend(figure, _entries(frame, looks))
    return figure


def _panel(ax: Axes, part: pd.DataFrame, looks: dict[str, _style.Look]) -> None:
    for policy in _style.policies_of(part):
        own, look = part.loc[part["policy"] == policy], looks[policy]
        for metric, line in ((ABOVE, _bands.FILLED), (BELOW, _bands.HOLLOW)):
            _bands.curve(ax, own.loc[own["metric"] == metric], "k", look, line)
        for value in own.loc[own["metric"] == AVERAGE, "value"]:
            ax.axhline(value, color=look.colour, linewidth=0.9, linestyle=":", zorder=2)
    ax.set_ylim(0, 1.03)
    _bands.along_k(ax, part, "episodes")


def _entries(frame: pd.DataFrame, looks: dict[str, _style.Look]) -> list:
    neutral = _style.Look(_style.BASE, "o")
    names = _style.policies_of(frame)
    return [
        *(_style.key(name, looks[name], marker=looks[name].marker) for name in names),
        _style.key("at least one of k", neutral, linewidth=1.3),
        _style.key("all k", neutral, marker="o", **_bands.HOLLOW),
        _style.key("average", neutral, linewidth=0.9, linestyle=":"),
    ]
