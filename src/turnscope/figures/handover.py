"""Where is success lost? The best possible policy takes over after d turns."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from turnscope.figures import _captions, _curves, _style
from turnscope.types import Arm

SOURCES = ("handover",)
TITLE = "Success lost turn by turn"
CAPTION = (
    "A policy plays d turns of each episode, then a policy that is best for the turns left takes "
    "over; its success is known exactly. Above: success of the two together, from the best "
    "possible (d = 0) to the policy's own (d = T_max). Middle: lead of each arm over the base "
    "model after equally many own turns; the 95% band holds for all d at once. Below: success "
    "lost in each turn, the drop from d - 1 to d, which is what the actions of that turn cost the "
    "best policy (0 where an episode had ended). Arms averaged over {seeds}, thin lines: single "
    "training seeds. Shading above and below: 95% bootstrap intervals over tasks. {tasks}, "
    "{samples} of each task.{left_out}{blind}"
)
LEVEL, LOSS = "handover", "handover_loss"
COLUMNS = _curves.COLUMNS


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select success after a hand-over, the paired differences to base, and losses by turn.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Not used.
        arms: The arms of the study by name, in order.

    Returns:
        One row for each point, columns `_curves.COLUMNS`.

    Raises:
        ValueError: There is no hand-over.
    """
    rows = estimates.loc[estimates["metric"].isin([LEVEL, LOSS])]
    rows = rows.loc[(rows["metric"] == LEVEL) | rows["against"].isna()]
    if rows.empty:
        raise ValueError("handover: no estimate of a hand-over to draw")
    return _curves.drawn(rows, "band_t", arms)


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    more = {
        "left_out": _captions.left_out(frame, "its table"),
        "blind": _captions.played_blind(frame),
    }
    return CAPTION.format(**_captions.sizes(frame), **more)


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw levels, leads and losses, for each environment and model.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    frame = _style.legible(frame)
    pairs, looks = _style.panels(frame), _style.looks(frame)
    rows, columns, width = _style.shape(pairs)
    heights = [2.0, 1.0, 1.0]
    figure = Figure(figsize=(width, 0.4 + 4.6 * rows), layout="constrained")
    axes = figure.subplots(3 * rows, columns, squeeze=False, height_ratios=heights * rows)
    for place in range(rows * columns):
        row, column = divmod(place, columns)
        three = axes[3 * row : 3 * row + 3, column]
        if place >= len(pairs):
            for ax in three:
                ax.remove()
            continue
        _panel(list(three), _style.within(frame, pairs[place]), looks)
        _style.name_panel(three[0], pairs[place])
        if column == 0:
            three[0].set_ylabel("success")
            three[1].set_ylabel("lead over\nbase")
            three[2].set_ylabel("lost in\nthe turn")
    figure.align_ylabels()
    _style.legend(figure, _curves.entries(frame))
    return figure


def _panel(three: list[Axes], part: pd.DataFrame, looks: _curves.Looks) -> None:
    level, lead, loss = three
    after = part.loc[part["metric"] == LEVEL]
    _curves.levels(level, after.assign(metric="pass_at_k"), "t", looks)
    _curves.differences(lead, after.loc[after["against"] == "base"], "t", "band_low", looks)
    _curves.differences(loss, part.loc[part["metric"] == LOSS], "t", "low", looks)
    loss.yaxis.set_major_formatter(ScalarFormatter())
    t_max = max(int(part["t"].max()), 2)
    for ax in three:
        ax.set_xlim(0, t_max)
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    level.tick_params(labelbottom=False)
    lead.set_xlabel("own turns d")
    loss.set_xlabel("turn")
