"""Is a lead at few attempts only decidedness? Trained policies heated to the entropy of base."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from turnscope.arms import is_seed
from turnscope.figures import _bands, _captions, _rows, _style
from turnscope.types import Arm

SOURCES = ("pass_at_kt", "entropy_matched")
TITLE = "Lead over the base model at equal entropy"
CAPTION = (
    "Lead over the base model in Pass@(k, T_max), paired by task, of each reinforcement-learning "
    "arm as it is (solid, filled) and heated (dashed, hollow): played at the temperature at which "
    "its entropy per token is that of the base model at temperature 1{temperatures}. A lead that "
    "heating takes away is one of decidedness; one that falls with k as much when heated is not. "
    "Arms averaged over {seeds}; shading: 95% bootstrap intervals over tasks at each k. {tasks}; "
    "{samples} of each task, and {heated} when heated.{left_out}{blind}"
)
COLD, HOT, TEMPERATURE = "pass_at_k", "heated_gap", "heated_temperature"
SHOWN = ["against", "k", "t", "value", "low", "high"]
COLUMNS = ["metric", *_rows.WHO, *SHOWN, *_rows.SIZES]


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select the differences to base at T_max of arms that were heated, and the temperatures.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Not used; all k are drawn.
        arms: The arms of the study by name, in order.

    Returns:
        One row for each point, and one for each temperature, of arms and of their seeds.

    Raises:
        ValueError: Nothing was heated.
    """
    hot = estimates.loc[(estimates["metric"] == HOT) & ~is_seed(estimates["policy"])]
    if hot.empty:
        raise ValueError("entropy_matched: no heated policy to draw")
    cold = estimates.loc[(estimates["metric"] == COLD) & (estimates["against"] == "base")]
    cold = cold.merge(hot.loc[:, ["env", "model", "policy"]].drop_duplicates())
    rows = pd.concat([cold, hot])
    rows = rows.loc[rows["t"] == rows.groupby(["env", "model"])["t"].transform("max")]
    warm = estimates.loc[estimates["metric"] == TEMPERATURE]
    rows = pd.concat([rows.loc[rows["value"].notna()], warm])
    return _rows.table(rows, arms, COLUMNS, ["metric", *_rows.ORDER, "k"])


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    warm = frame.loc[(frame["metric"] == TEMPERATURE) & is_seed(frame["policy"])]
    ends = sorted({f"{value:.2f}" for value in warm["value"]}, key=float)
    told = f" ({' to '.join(dict.fromkeys([ends[0], ends[-1]]))})" if ends else ""
    cold = frame.loc[frame["metric"] != HOT]
    heated = _captions.sizes(frame.loc[frame["metric"] == HOT])["samples"].split(" ")[0]
    more = {
        "temperatures": told,
        "heated": heated,
        "left_out": _captions.left_out(frame, "its table"),
        "blind": _captions.played_blind(frame),
    }
    return CAPTION.format(**_captions.sizes(cold.loc[cold["metric"] == COLD]), **more)


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw two curves for each arm, environment and model.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    frame = _style.legible(frame)
    looks = _style.looks(frame)
    figure = _bands.figure_of(frame, _panel, "lead over base", 2.2, "row")
    neutral = _style.Look(_style.BASE, "o")
    names = _style.arms_of(frame)
    entries = [
        *(_style.key(name, looks[name], marker=looks[name].marker) for name in names),
        _style.key("as trained", neutral, marker="o", **_bands.FILLED),
        _style.key("heated to base's entropy", neutral, marker="o", **_bands.HOLLOW),
    ]
    _style.legend(figure, entries)
    return figure


def _panel(ax: Axes, part: pd.DataFrame, looks: dict[str, _style.Look]) -> None:
    ax.axhline(0, color=_style.BASE, linewidth=0.9)
    for arm in _style.arms_of(part):
        look = looks[arm]
        own = part.loc[part["policy"] == arm]
        for metric, line in ((COLD, _bands.FILLED), (HOT, _bands.HOLLOW)):
            _bands.curve(ax, own.loc[own["metric"] == metric], "k", look, line)
    _bands.along_k(ax, part.loc[part["metric"] != TEMPERATURE], "attempts")
    ax.yaxis.set_major_locator(MaxNLocator(5, min_n_ticks=3))
    ax.yaxis.set_major_formatter(_style.signed)
