"""When are episodes solved, lost, or an error made up for? Incidences and hazards by turn."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.ticker import MaxNLocator

from turnscope.arms import is_seed
from turnscope.figures import _captions, _rows, _style
from turnscope.types import Arm

SOURCES = ("survival", "recovery")
TITLE = "Solving as a race against being lost"
CAPTION = (
    "Above: share of episodes solved, and lost for good, within t turns. Being lost competes with "
    "being solved; dotted is what Kaplan-Meier gives if it is taken for censoring instead, which "
    "says how many would be solved if nothing could be lost. Below that, the hazards: the share "
    "solved or lost at turn t of those still going{few}. {tasks}, {samples} of each task and "
    "policy; mean over {seeds}, with pointwise 95% intervals over tasks.{recovered} Bottom: log "
    "odds, against base, of being solved or lost at a turn: filled, within one turn of one task; "
    "hollow, pooled over tasks, where those who solve the easy ones early are left with hard ones."
    "{blind}{left_out}"
)
FEW = ", as long as these are of at least {fewest} tasks"
RECOVERED = (
    " Right: both policies go on from the same states after an error, of {many}; recovered is what "
    "has come to where success is again as likely, for the best policy, as before the error (with "
    "programs: the first that is no error). At 0 stands what the error did not set back."
)
FEWEST = 30
"""Tasks with something still going; of fewer a hazard says little."""
CUMULATIVE = {
    "cif_solved": "solved",
    "cif_failed": "lost for good",
    "recovered": "recovered from an error",
}
"""Metrics of the first line, in the order of the panels, and their titles."""
HAZARDS = ("hazard_solved", "hazard_failed", "recovery_hazard")
"""Metrics of the second line."""
NAIVE, PART = "survival_naive", "mixture/error"
RECOVERY = ("recovered", "recovery_hazard")
ODDS = {
    "solving at a turn": ("hazard_odds_within", "hazard_odds"),
    "being lost at a turn": ("hazard_odds_within_failed", "hazard_odds_failed"),
}
"""Panels of odds, each with the metrics that are filled and hollow."""
Looks = dict[str, _style.Look]
COLUMNS = ["metric", *_rows.WHO, "against", "part", "t", "value", "low", "high", *_rows.SIZES]


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select incidences and hazards of base and the arms, and odds against base.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Not used.
        arms: The arms of the study by name, in order.

    Returns:
        One row for each point, columns `COLUMNS`; of recovery that after errors by any definition.

    Raises:
        ValueError: There is no incidence.
    """
    odds = [metric for pair in ODDS.values() for metric in pair]
    curves = [*CUMULATIVE, *HAZARDS, NAIVE]
    rows = estimates.loc[estimates["metric"].isin([*curves, *odds]) & estimates["value"].notna()]
    after = rows["metric"].isin(RECOVERY)
    rows = rows.loc[~is_seed(rows["policy"]) & (~after | (rows["part"] == PART))]
    rows = rows.loc[~rows["metric"].isin(HAZARDS) | (rows["tasks"] >= FEWEST)]
    if "cif_solved" not in set(rows["metric"]):
        raise ValueError("survival: no estimate of cumulative incidences to draw")
    return _rows.table(rows, arms, COLUMNS, ["metric", *_rows.ORDER, "t"])


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    after = frame.loc[frame["metric"] == "recovered", "tasks"]
    sizes = _captions.sizes(frame.loc[frame["metric"] == "cif_solved"])
    return CAPTION.format(
        **sizes,
        few=FEW.format(fewest=FEWEST) if set(HAZARDS) & set(frame["metric"]) else "",
        recovered=RECOVERED.format(many=_captions.counted(after, "test task"))
        if len(after)
        else "",
        blind=_captions.played_blind(frame),
        left_out=_captions.left_out(frame, "the lowest panels"),
    )


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw incidences above hazards, and a forest of odds below, for each environment and model.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    pairs, looks = _style.panels(frame), _style.looks(frame)
    parts = [_style.within(frame, pair) for pair in pairs]
    heights = [
        height for part in parts for height in (1.45, 1.25, 0.4 + 0.19 * len(_style.arms_of(part)))
    ]
    size = (_style.DOUBLE, 0.5 + sum(heights) + 1.2 * len(pairs))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.add_gridspec(3 * len(pairs), 6, height_ratios=heights)
    for place, (pair, part) in enumerate(zip(pairs, parts, strict=True)):
        first = _curves(figure, grid, 3 * place, _style.legible(part), looks)
        _style.name_block(first, pair)
        _odds(figure, grid, 3 * place + 2, part, looks)
    _style.legend(figure, _entries(frame))
    return figure


def _curves(figure: Figure, grid: GridSpec, row: int, part: pd.DataFrame, looks: Looks) -> Axes:
    """Draw incidences, and hazards below them; returns the first panel."""
    metrics = set(part["metric"])
    columns = [pair for pair in zip(CUMULATIVE, HAZARDS, strict=True) if pair[0] in metrics]
    wide, found = 6 // max(2, len(columns)), []
    for column, names in enumerate(columns):
        place = slice(wide * column, wide * (column + 1))
        above = figure.add_subplot(grid[row, place])
        below = figure.add_subplot(grid[row + 1, place], sharex=above)
        if names[0] == "cif_solved":
            _policies(above, part.loc[part["metric"] == NAIVE], looks, linestyle=":")
        for ax, name in zip((above, below), names, strict=True):
            _policies(ax, part.loc[part["metric"] == name], looks, shade=True)
        above.set_title(CUMULATIVE[names[0]])
        above.set_ylim(0, 1.03)
        above.tick_params(labelbottom=False)
        below.set_ylim(bottom=0)
        below.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        below.set_xlabel("further turns t" if names[0] in RECOVERY else "turn t")
        found += [above, below]
    found[0].set_ylabel("within t turns")
    found[1].set_ylabel("hazard at turn t")
    figure.align_ylabels(found)
    return found[0]


def _policies(
    ax: Axes, rows: pd.DataFrame, looks: Looks, *, shade: bool = False, linestyle: str = "-"
) -> None:
    names = _style.policies_of(rows)
    for place, policy in enumerate(names):
        curve, look = rows.loc[rows["policy"] == policy].sort_values("t"), looks[policy]
        turns, value = curve["t"].astype(int), curve["value"]
        marks = {}
        if shade:
            low, high = (curve[name].astype(float) for name in ("low", "high"))
            ax.fill_between(turns, low, high, color=look.colour, alpha=0.15, linewidth=0)
            every = max(1, len(curve) // 4)
            marks = {"marker": look.marker, "markevery": (place % every, every)}
        ax.plot(turns, value, linestyle, color=look.colour, markeredgewidth=0, zorder=3, **marks)


def _odds(figure: Figure, grid: GridSpec, row: int, part: pd.DataFrame, looks: Looks) -> None:
    arms = _style.arms_of(part)
    for column, (words, metrics) in enumerate(ODDS.items()):
        ax = figure.add_subplot(grid[row, 3 * column : 3 * (column + 1)])
        ax.axvline(0, color=_style.BASE, linewidth=0.9, zorder=1)
        for lane, metric in enumerate(metrics):
            for record in part.loc[part["metric"] == metric].to_dict("records"):
                colour, marker = looks[record["policy"]]
                y = arms.index(record["policy"]) - 0.15 + 0.3 * lane
                _style.interval(ax, record, y, color=colour, linewidth=1.2)
                face = {"markerfacecolor": "white" if lane else colour, "markersize": 3.8}
                ax.plot(record["value"], y, marker, color=colour, zorder=3, **face)
        ax.set_title(f"log odds of {words}")
        ax.set_xlabel("against base")
        ax.set_yticks(range(len(arms)), arms)
        ax.set_ylim(len(arms) - 0.45, -0.55)
        ax.tick_params(axis="y", length=0, labelleft=column == 0)
        ax.grid(visible=False, axis="y")
        ax.locator_params(axis="x", nbins=5)
        ax.xaxis.set_major_formatter(_style.signed)


def _entries(frame: pd.DataFrame) -> list:
    looks, shown = _style.looks(frame), _style.legible(frame)
    names = _style.policies_of(shown)
    entries = [_style.key(name, looks[name], marker=looks[name].marker) for name in names]
    neutral = _style.Look(_style.BASE, "o")
    entries.append(_style.key("solved, if losing were censoring", neutral, linestyle=":"))
    dot = {"marker": "o", "linestyle": "none", "markersize": 3.8}
    entries.append(_style.key("within one turn of one task", neutral, **dot))
    entries.append(_style.key("pooled over tasks", neutral, **dot, markerfacecolor="white"))
    return entries
