"""Do policies know their turn budget? Told budgets against turns used and success, and waste."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.ticker import MaxNLocator

from turnscope.arms import arm_of, is_seed
from turnscope.figures import _captions, _rows, _style
from turnscope.types import Arm

SOURCES = ("awareness", "pass_at_kt", "schooling")
TITLE = "Awareness of the turn budget, and what mixed budgets cost"
CAPTION = "{told}{waste}{drawn}{scheduled}Arms are averaged over {seeds}."
NOT_TOLD = "No policy was told its turn budget in this study. "
TOLD_TOO = (
    "Policies that are told their turn budget T (solid), and the same policies played without "
    "being told, cut at T (dashed). Turns used: mean length of an episode; dotted, all turns that "
    "there are. Success: Pass@(1, T). Gain: told minus blind, paired by task, with 95% intervals "
    "over {tasks}, {samples} of each under each budget. Solved by turn t: share of the "
    "episodes told the budget above the panel that are solved within t turns. {taught}"
)
TAUGHT = "The turns left were shown in the training of {arms} alone. "
UNTAUGHT = "No arm shown was trained seeing the turns left. "
WASTE = (
    "Groups without variance: their episodes all earned the same, so that credit relative to the "
    "group teaches nothing; mean over the steps of training; dots, single training seeds. "
)
DRAWN = (
    "Budgets drawn: share of groups under each turn budget, mean over the steps of training, of "
    "{arms}. "
)
SCHEDULED = (
    "Budgets on a schedule: the same for {arms}, whose budget is set by the step, so that shares "
    "are lengths of phases. "
)
NO_SCHEDULE = "No arm here had its budget set by a schedule. "
METRICS = ("told", "awareness", "told_turns", "blind_turns")
SOLVED = "told_solved_"
"""Start of the metrics of the turn of success, one for each told budget."""
MOST = 4
"""Told budgets whose turns of success are drawn, the smallest and the largest among them."""
SPENT = ("waste", "budget_share")
DRAWING = ("budget_mix",)
"""Algorithms that draw a budget for each task; others that vary it do so by the step."""
ONE = 1
"""Episodes per task, the K at which success is shown."""
COLUMNS = ["metric", *_rows.WHO, "t", "value", "low", "high", *_rows.SIZES]


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select what told and blind policies did, and what the training of arms was spent on.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Not used; single episodes are shown.
        arms: The arms of the study by name, in order.

    Returns:
        One row for each mark. `blind` is Pass@(1,T) of the episodes in which the policy is told
        nothing. Of budgets in training there are those of arms that had several.

    Raises:
        ValueError: There is nothing to draw.
    """
    told = estimates["metric"].isin(METRICS) | estimates["metric"].str.startswith(SOLVED)
    rows = estimates.loc[told & ~is_seed(estimates["policy"])]
    rows = rows.loc[(rows["k"].isna() | (rows["k"] == ONE)) & rows["value"].notna()]
    parts = [rows, _blind(estimates, rows), _spent(estimates)]
    parts = [part for part in parts if len(part)]
    if not parts:
        raise ValueError("budget_calibration: no told episodes and no groups of training to draw")
    return _rows.table(pd.concat(parts), arms, COLUMNS, ["metric", *_rows.ORDER, "t"])


def _blind(estimates: pd.DataFrame, told: pd.DataFrame) -> pd.DataFrame:
    keys = ["env", "model", "policy", "t"]
    rows = estimates.loc[(estimates["metric"] == "pass_at_k") & (estimates["k"] == ONE)]
    rows = rows.loc[rows["against"].isna() & rows["value"].notna()]
    shown = told.loc[told["metric"] == "told", keys]
    return rows.merge(shown, on=keys).assign(metric="blind")


def _spent(estimates: pd.DataFrame) -> pd.DataFrame:
    rows = estimates.loc[estimates["metric"].isin(SPENT) & estimates["value"].notna()]
    shares = rows["metric"] == "budget_share"
    several = rows.groupby(["env", "model", "policy"])["t"].transform("nunique") > 1
    return rows.loc[~shares | (several & ~is_seed(rows["policy"]))]


def _budgets(frame: pd.DataFrame, drawn: bool) -> pd.DataFrame:
    """Select the budgets of arms that draw them, or of those that have a schedule."""
    rows = frame.loc[frame["metric"] == "budget_share"]
    return rows.loc[rows["algorithm"].isin(DRAWING) == drawn]


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    metrics = set(frame["metric"])
    told = frame.loc[frame["metric"] == "told"]
    sizes, taught = _captions.sizes(told), _style.told_of(told)
    schooled = TAUGHT.format(arms=", ".join(taught)) if taught else UNTAUGHT
    drawn, scheduled = (", ".join(_style.arms_of(_budgets(frame, one))) for one in (True, False))
    trained = _captions.sizes(frame.loc[frame["metric"].isin(["told", "waste"])])
    return CAPTION.format(
        seeds=trained["seeds"],
        told=TOLD_TOO.format(**sizes, taught=schooled) if len(told) else NOT_TOLD,
        waste=WASTE if "waste" in metrics else "",
        drawn=DRAWN.format(arms=drawn) if drawn else "",
        scheduled=SCHEDULED.format(arms=scheduled) if scheduled else NO_SCHEDULE,
    )


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw told budgets above, training below, for each environment and model.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    pairs = _style.panels(frame)
    told, solved = "told" in set(frame["metric"]), len(_solved(frame)) > 0
    parts = [_style.within(frame, pair) for pair in pairs]
    above = [1.6] * told + [1.2] * solved
    heights = [[*above, max(0.25 + 0.17 * len(_wasting(part)), 1.4)] for part in parts]
    lines = [line for each in heights for line in each]
    size = (_style.DOUBLE, 0.5 + sum(lines) + 0.5 * len(lines))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.add_gridspec(len(lines), 1, height_ratios=lines)
    for place, (pair, part) in enumerate(zip(pairs, parts, strict=True)):
        row, last = place * (len(above) + 1), (place + 1) * (len(above) + 1) - 1
        if told:
            axes = _line(figure, grid, row, 3)
            _told(axes, part)
            _style.name_block(axes[0], pair)
        if solved:
            _by_turn(_line(figure, grid, row + told, len(_solved(part))), part)
        ways = _ways(part)
        left, *others = _line(figure, grid, last, 1 + len(ways))
        _wasted(left, part)
        for ax, (title, rows) in zip(others, ways.items(), strict=True):
            _shares(ax, rows, _style.looks(part))
            ax.set_title(title)
        if not told:
            _style.name_block(left, pair)
    _style.legend(figure, _entries(frame))
    return figure


def _told(axes: Sequence[Axes], part: pd.DataFrame) -> None:
    turns, success, gain = axes
    for ax, solid, dashed in ((turns, "told_turns", "blind_turns"), (success, "told", "blind")):
        _curves(ax, part, solid, "-")
        _curves(ax, part, dashed, "--")
    budgets = part.loc[part["metric"] == "told", "t"]
    ends = [0, int(budgets.max())] if len(budgets) else [0, 1]
    turns.plot(ends, ends, color=_style.BOUND, linewidth=0.9, linestyle=":", zorder=1)
    gain.axhline(0, color=_style.BASE, linewidth=0.9)
    _gains(gain, part)
    gain.yaxis.set_major_formatter(_style.signed)
    success.set_ylim(bottom=0)
    for ax, title in zip(axes, ("turns used", "success", "gain from being told"), strict=True):
        ax.set_title(title)
        ax.set_xlabel("turn budget T")
        ax.set_xlim(0, ends[1] * 1.08)
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))


def _solved(frame: pd.DataFrame) -> dict[int, pd.DataFrame]:
    """Select the turns of success by told budget, of no more budgets than can be drawn."""
    rows = frame.loc[frame["metric"].str.startswith(SOLVED)]
    parts = {int(str(metric).removeprefix(SOLVED)): part for metric, part in rows.groupby("metric")}
    places = np.unique(np.linspace(0, len(parts) - 1, min(len(parts), MOST)).round())
    return {sorted(parts)[int(place)]: parts[sorted(parts)[int(place)]] for place in places}


def _line(figure: Figure, grid: GridSpec, row: int, count: int) -> list[Axes]:
    """Divide one row into panels."""
    line = grid[row, 0].subgridspec(1, max(count, 1))
    return [figure.add_subplot(line[0, place]) for place in range(count)]


def _by_turn(axes: Sequence[Axes], part: pd.DataFrame) -> None:
    """Draw the share of told episodes solved by each turn, a panel for each told budget."""
    looks, found = _style.looks(part), _solved(part)
    highest = max((float(rows["value"].max()) for rows in found.values()), default=1.0)
    for ax, (budget, rows) in zip(axes, found.items(), strict=True):
        for policy in _style.policies_of(rows):
            curve, (colour, marker) = rows.loc[rows["policy"] == policy], looks[policy]
            few = {"marker": marker, "markevery": max(1, len(curve) // 4)}
            ax.plot(curve["t"], curve["value"], color=colour, **few)
        ax.set_title(f"told {budget}")
        ax.set_xlabel("turn t")
        ax.set_ylim(0, 1.05 * highest or 1)
        ax.tick_params(labelleft=ax is axes[0])
        ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    if axes:
        axes[0].set_ylabel("solved by turn t")


def _curves(ax: Axes, part: pd.DataFrame, metric: str, line: str) -> None:
    looks, rows = _style.looks(part), part.loc[part["metric"] == metric]
    for policy in _style.policies_of(rows):
        curve, (colour, marker) = rows.loc[rows["policy"] == policy], looks[policy]
        face = {"markerfacecolor": colour if line == "-" else "white", "zorder": 3}
        ax.plot(curve["t"], curve["value"], line, marker=marker, color=colour, **face)


def _gains(ax: Axes, part: pd.DataFrame) -> None:
    looks, rows = _style.looks(part), part.loc[part["metric"] == "awareness"]
    policies = _style.policies_of(rows)
    apart = 0.02 * float(rows["t"].max()) if len(rows) else 0.0
    for place, policy in enumerate(policies):
        curve, (colour, marker) = rows.loc[rows["policy"] == policy], looks[policy]
        t_T = curve["t"].astype(float) + apart * (place - (len(policies) - 1) / 2)
        for t, low, high in zip(t_T, curve["low"], curve["high"], strict=True):
            if not pd.isna([low, high]).any():
                ax.plot([t, t], [low, high], color=colour, linewidth=1.0)
        ax.plot(t_T, curve["value"], marker, color=colour, zorder=3)


def _wasting(part: pd.DataFrame) -> list[str]:
    """List the arms of which the groups without variance are known."""
    return _style.arms_of(part.loc[part["metric"] == "waste"])


def _wasted(ax: Axes, part: pd.DataFrame) -> None:
    rows, looks = part.loc[part["metric"] == "waste"], _style.looks(part)
    arms = _wasting(part)
    for y, arm in enumerate(arms):
        mean = rows.loc[rows["policy"] == arm, "value"]
        ax.barh([y] * len(mean), mean, height=0.62, color=looks[arm].colour, alpha=0.75)
        seeds = rows.loc[is_seed(rows["policy"]) & (rows["policy"].map(arm_of) == arm), "value"]
        ax.plot(seeds, [y] * len(seeds), "o", color=_style.BASE, markersize=1.8)
    ax.set_title("groups without variance")
    ax.set_xlabel("share of groups in training")
    ax.set_yticks(range(len(arms)), arms)
    ax.set_ylim(len(arms) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")


def _ways(part: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Select the budgets of training, by the title of their panel; empty ones have none."""
    ways = {"budgets drawn": _budgets(part, True), "budgets on a schedule": _budgets(part, False)}
    return {title: rows for title, rows in ways.items() if len(rows)}


def _shares(ax: Axes, rows: pd.DataFrame, looks: dict[str, _style.Look]) -> None:
    for arm in _style.arms_of(rows):
        curve, (colour, marker) = rows.loc[rows["policy"] == arm], looks[arm]
        ax.plot(curve["t"], curve["value"], marker=marker, color=colour, linewidth=0.9)
    ax.set_xlabel("turn budget T")
    ax.set_ylim(0, 1.1 * float(rows["value"].max()))
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))


def _entries(frame: pd.DataFrame) -> list:
    looks = _style.looks(frame)
    curves = frame.loc[frame["metric"].isin([*METRICS, "budget_share"])]
    entries = [
        _style.key(name, looks[name], marker=looks[name].marker)
        for name in _style.policies_of(curves)
    ]
    neutral = _style.Look(_style.BASE, "")
    if "told" in set(frame["metric"]):
        entries += [
            _style.key("told the budget", neutral),
            _style.key("blind, cut at T", neutral, linestyle="--", markerfacecolor="white"),
        ]
    return entries
