"""Does credit for single steps help? Arms with process reward or finer credit against GRPO."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.ticker import MaxNLocator

from turnscope.figures import _captions, _curves, _quarters, _style
from turnscope.types import Arm

SOURCES = ("pass_at_kt", "between_arms")
TITLE = "Process supervision and finer credit"
CAPTION = (
    "Pass@({k}, T) of arms whose algorithms differ in how credit reaches single turns: the outcome "
    "shared by all turns (grpo), an exact reward for each action (oracle_process), turns compared "
    "in equal states (gigpo), and a learnt critic (ppo). Above: the base model (grey-black) and "
    "each arm, mean over {seeds}, with 95% intervals over tasks{bound}. {compared}{tasks}, "
    "{samples} of each task.{blind}{not_run}"
)
COMPARED = (
    "Middle: paired difference to {reference} at every budget; below, at the quarters of T_max, "
    "thick lines are 95% intervals over tasks, filled where they exclude 0, and thin lines over "
    "training seeds; neither is corrected for their number, and scales differ. "
)
BOUND = "; light grey line, the success of the best possible policy"
ALGORITHMS = ("grpo", "oracle_process", "gigpo", "ppo")
METRICS = ("pass_at_k", "bound", _quarters.GAP, _quarters.SEEDS)


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select Pass@(k,T) of the arms that differ in credit, and differences to the reference.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Episodes per task, the K of Pass@(K,T).
        arms: The arms of the study by name, in order.

    Returns:
        One row for each point, columns `_curves.COLUMNS`; rows of metric `between_arms` are
        differences, with intervals over tasks, `between_arms_seeds` those over training seeds.

    Raises:
        ValueError: There is no estimate with this k.
    """
    rows = estimates.loc[estimates["metric"].isin(METRICS) & (estimates["k"] == k)]
    names = _quarters.chosen(rows, ALGORITHMS, arms)
    rows = rows.loc[rows["policy"].isin(["base", "bound", *names]) & (rows["against"] != "base")]
    rows = rows.loc[(rows["metric"] != "bound") | (rows["policy"] == "bound")]
    if "pass_at_k" not in set(rows["metric"]):
        raise ValueError(f"process_supervision: no estimate of Pass@(k,T) with k={k} to draw")
    return _curves.drawn(rows, "band_t", arms)


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    compared = COMPARED.format(reference=_quarters.reference(frame))
    return CAPTION.format(
        **_captions.sizes(frame),
        compared=compared if _quarters.compared(frame) else "",
        bound=BOUND if "bound" in set(frame["metric"]) else "",
        blind=_captions.played_blind(frame),
        not_run=_captions.not_run(a for a in ALGORITHMS if a not in set(frame["algorithm"])),
    )


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw curves, differences below them, and four panels at the quarters.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    pairs, looks = _style.panels(frame), _style.looks(frame)
    compared = _quarters.compared(frame)
    each = [1.9, *([0.85, 0.35 + 0.2 * len(compared)] if compared else [])]
    size = (_style.DOUBLE, 0.4 + len(pairs) * (sum(each) + 0.3 * len(each)))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.add_gridspec(len(each) * len(pairs), 4, height_ratios=each * len(pairs))
    for row, pair in enumerate(pairs):
        part = _style.within(frame, pair)
        above = figure.add_subplot(grid[len(each) * row, :])
        _levels(above, part, looks)
        above.set_ylabel(f"Pass@({frame['k'].iloc[0]}, T)")
        _style.name_panel(above, pair)
        if compared:
            _compare(figure, grid, len(each) * row + 1, part, looks)
            figure.align_ylabels(figure.axes[-6:-4])
    entries = _curves.entries(frame)
    if "bound" in set(frame["metric"]):
        entries += _curves.headroom_entries()[:1]
    _style.legend(figure, entries + _quarters.entries(frame))
    return figure


def _levels(ax: Axes, part: pd.DataFrame, looks: _curves.Looks) -> None:
    _curves.levels(ax, part, "t", looks)
    bound = part.loc[part["metric"] == "bound"]
    ax.plot(bound["t"], bound["value"], color=_style.BOUND, linewidth=1.2, zorder=2)
    _along_budgets(ax, part)


def _compare(
    figure: Figure, grid: GridSpec, row: int, part: pd.DataFrame, looks: _curves.Looks
) -> None:
    """Draw the differences to the reference as curves, and below them at the quarters."""
    lead = f"lead over{{}}{_quarters.reference(part)}"
    strip = figure.add_subplot(grid[row, :])
    gaps = part.loc[part["metric"] == _quarters.GAP]
    _curves.differences(strip, gaps, "t", "low", looks)
    _along_budgets(strip, part)
    strip.set_ylabel(lead.format("\n"))
    axes = [figure.add_subplot(grid[row + 1, column]) for column in range(4)]
    names = _quarters.compared(part)
    _quarters.differences(axes, part, names, looks)
    _quarters.arms_down(axes, names)
    _quarters.titles(axes, int(part["t"].max()))
    for ax in axes:
        ax.set_xlabel(lead.format(" "))


def _along_budgets(ax: Axes, part: pd.DataFrame) -> None:
    ax.set_xlim(1, max(int(part["t"].max()), 2))
    ax.xaxis.set_major_locator(MaxNLocator(10, integer=True, min_n_ticks=1))
    ax.set_xlabel("turn budget T")
