"""Where does the trained policy depart from base? Likelihood ratios along episodes."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from turnscope.arms import is_seed
from turnscope.figures import _captions, _rows, _sanity, _style
from turnscope.types import Arm

SOURCES = ("likelihood",)
TITLE = "Likelihood ratios along episodes"
CAPTION = (
    "Cumulative log-likelihood ratio (LLR): log-probability under the trained policy minus that "
    "under base of all actions up to a turn, one engine, temperature 1. Lines are medians and "
    "shades the middle half of the episodes, pooled over {seeds}, of the trained policy and of "
    "base; a finished episode keeps its last value. Above 0, training made the actions likelier. "
    "{gaps}No sanity check of the likelihoods failed. {tasks}, {samples} of each task.{others}"
)
PATHS = {"llr_path_q25": "low", "llr_path_q50": "middle", "llr_path_q75": "high"}
METRICS = (*PATHS, "llr", "llr_gap")
COLUMNS = ["metric", *_rows.WHO, "part", "against", "t", "value", "low", "high", *_rows.SIZES]
SUBSETS = {"success": "solved episodes", "failure": "failed episodes"}


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select the quartiles after each turn.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Not used.
        arms: The arms of the study by name, in order.

    Returns:
        Columns `COLUMNS`; `part` says whose episodes and which, as `base/success`; metric `llr`
        are means at the end. If sanity checks of the likelihoods failed, these and nothing else.

    Raises:
        ValueError: Nothing was scored.
    """
    rows = estimates.loc[estimates["metric"].isin(METRICS) & ~is_seed(estimates["policy"])]
    if not rows["metric"].isin(PATHS).any():
        raise ValueError("llr: no likelihood was scored")
    failed = _sanity.failed(estimates)
    shown = rows if failed.empty else failed
    return _rows.table(shown, arms, COLUMNS, ["metric", *_rows.ORDER, "part", "t"])


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    if why := _sanity.notice(frame, "llr"):
        return why
    gaps = _captions.stated(frame, "llr_gap", "+.2f")
    return CAPTION.format(
        **_captions.sizes(frame.loc[frame["part"].str.endswith("/all", na=False)]),
        gaps="Mean at the end of solved episodes, those of the policy minus those of base, nats, "
        f"with 95% intervals over tasks: {gaps}. ",
        others=_captions.left_out(frame, "table claims"),
    )


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw a row of two panels for each environment, model and arm, or say why not.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    if why := _sanity.notice(frame, "llr"):
        return _sanity.page(why)
    shown, looks = _style.legible(frame), _style.looks(frame)
    lines = [
        (pair, arm)
        for pair in _style.panels(shown)
        for arm in _style.arms_of(_style.within(shown, pair))
    ]
    height = 0.45 + (2.0 if len(lines) == 1 else 1.6) * len(lines)
    figure = Figure(figsize=(_style.DOUBLE, height), layout="constrained")
    axes = figure.subplots(len(lines), 2, squeeze=False, sharey="row")
    for row, (pair, arm) in enumerate(lines):
        part = _style.within(shown, pair)
        part = part.loc[part["policy"] == arm]
        for ax, subset in zip(axes[row], SUBSETS, strict=True):
            _panel(ax, part, subset, looks[arm])
            if row == 0:
                ax.set_title(SUBSETS[subset], loc="right", fontsize=7.5, fontweight="normal")
        if row == 0 or lines[row - 1][0] != pair:
            _style.name_panel(axes[row, 0], pair)
        axes[row, 0].set_ylabel("LLR (nats)")
    for ax in axes[-1]:
        ax.set_xlabel("turns so far")
    figure.align_ylabels()
    names = ["base", *_style.arms_of(shown)]
    _style.legend(figure, [_style.key(f"episodes of {name}", looks[name]) for name in names])
    return figure


def _panel(ax: Axes, part: pd.DataFrame, subset: str, look: _style.Look) -> None:
    for actor, colour in (("base", _style.BASE), ("trained", look.colour)):
        own = part.loc[part["part"] == f"{actor}/{subset}"]
        fan = own.pivot_table(index="t", columns="metric", values="value").rename(columns=PATHS)
        if fan.empty:
            continue
        fan.loc[0] = 0.0  # before the first turn nothing was said
        fan = fan.sort_index()
        turns = fan.index.to_numpy(int)
        ax.fill_between(turns, fan["low"], fan["high"], color=colour, alpha=0.18, linewidth=0)
        ax.plot(turns, fan["middle"], color=colour, zorder=3)
    ax.axhline(0, color=_style.BOUND, linewidth=0.9, zorder=1)
    ax.set_xlim(0, int(part["t"].max()))
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(5))
