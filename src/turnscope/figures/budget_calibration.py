"""Do policies know their turn budget? Told budgets against turns used and success, and waste."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from turnscope.figures import _captions, _style

SOURCES = ("awareness", "pass_at_kt", "training")
TITLE = "Awareness of the turn budget, and what mixed budgets cost"
CAPTION = "{told}{waste}{realised}Arms are averaged over {seeds}."
NOT_TOLD = "No policy was told its turn budget in this study. "
TOLD_TOO = (
    "Policies that are told their turn budget T (solid), and the same policies played without "
    "being told, cut at T (dashed). Turns used: mean length of an episode; dotted, all turns that "
    "there are. Success: Pass@(1, T). Gain: told minus blind, paired by task, with 95% intervals "
    "over {tasks}, {samples} of each under each budget. "
)
WASTE = (
    "Waste: groups whose episodes all earned the same, which teach nothing, mean over the steps "
    "of training; dots, single training seeds. "
)
REALISED = "Budgets drawn: share of groups under each turn budget over the training of {arms}. "
METRICS = ("told", "awareness", "told_turns", "blind_turns")
ONE = 1
"""Episodes per task, the K at which success is shown."""
COLUMNS = ["metric", "env", "model", "policy", "place", "t", "value", "low", "high"]
SIZES = ["tasks", "samples", "seeds"]


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Sequence[str]
) -> pd.DataFrame:
    """Select what told and blind policies did, and average the training curves over steps.

    Args:
        estimates: Rows of `estimates`.
        training: Rows of `training`.
        k: Not used; single episodes are shown.
        arms: The arms of the study in order.

    Returns:
        One row for each mark. Metric `waste` is the share of groups without variance, by arm and
        seed; `realised` the share of groups under t turns, by arm; `blind` is Pass@(1,T) of the
        episodes in which the policy is told nothing.

    Raises:
        ValueError: There is nothing to draw.
    """
    rows = estimates.loc[estimates["metric"].isin(METRICS) & ~_style.is_seed(estimates)]
    rows = rows.loc[(rows["k"].isna() | (rows["k"] == ONE)) & rows["value"].notna()]
    parts = [rows, _blind(estimates, rows), _waste(training), _realised(training)]
    parts = [part.assign(seeds=part["seeds"].astype("Int64")) for part in parts if len(part)]
    if not parts:
        raise ValueError("budget_calibration: no told episodes and no groups of training to draw")
    every = _style.placed(pd.concat(parts), arms).reindex(columns=COLUMNS + SIZES)
    keys = ["metric", "env", "model", "place", "policy", "t"]
    return every.sort_values(keys, ignore_index=True)


def _blind(estimates: pd.DataFrame, told: pd.DataFrame) -> pd.DataFrame:
    keys = ["env", "model", "policy", "t"]
    rows = estimates.loc[(estimates["metric"] == "pass_at_k") & (estimates["k"] == ONE)]
    rows = rows.loc[rows["against"].isna() & rows["value"].notna()]
    shown = told.loc[told["metric"] == "told", keys]
    return rows.merge(shown, on=keys).assign(metric="blind")


def _waste(training: pd.DataFrame) -> pd.DataFrame:
    rows = training.loc[training["name"] == "zero_variance_groups"]
    keys = ["env", "model", "policy"]
    seeds = rows.groupby(keys, as_index=False).agg(value=("value", "mean")).assign(seeds=1)
    arms = seeds.assign(policy=seeds["policy"].map(_style.arm_of)).groupby(keys, as_index=False)
    means = arms.agg(value=("value", "mean"), seeds=("seeds", "sum"))
    return pd.concat([seeds, means]).assign(metric="waste")


def _realised(training: pd.DataFrame) -> pd.DataFrame:
    keys = ["env", "model", "policy"]
    seeds = training.assign(policy=training["policy"].map(_style.arm_of), seed=training["policy"])
    steps = seeds.loc[:, [*keys, "seed", "step"]].drop_duplicates().groupby(keys)
    whole = steps.agg(steps=("step", "size"), seeds=("seed", "nunique")).reset_index()
    rows = seeds.loc[seeds["name"].str.fullmatch(r"budget_T\d+")]
    sums = rows.groupby([*keys, "name"], as_index=False).agg(value=("value", "sum"))
    # a budget that did not occur in a step has no row there, so the mean is over all steps
    means = sums.merge(whole, on=keys)
    turns = means["name"].str.removeprefix("budget_T").astype(int)
    means = means.assign(value=means["value"] / means["steps"], t=turns, metric="realised")
    # an arm that always has the same budget draws none
    return means.loc[means.groupby(keys)["t"].transform("nunique") > 1]


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    metrics = set(frame["metric"])
    sizes = _captions.sizes(frame.loc[frame["metric"].isin(["told", "waste"])])
    drawing = _style.arms_of(frame.loc[frame["metric"] == "realised"])
    realised = REALISED.format(arms=", ".join(drawing)) if drawing else ""
    return CAPTION.format(
        seeds=sizes["seeds"],
        told=TOLD_TOO.format(**sizes) if "told" in metrics else NOT_TOLD,
        waste=WASTE if "waste" in metrics else "",
        realised=realised,
    ).strip()


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw told budgets above, training below, for each environment and model.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    pairs = _style.panels(frame)
    arms = _style.arms_of(frame.loc[frame["metric"] == "waste"])
    told = "told" in set(frame["metric"])
    heights = [1.6] * told + [max(0.25 + 0.17 * len(arms), 1.4)]
    size = (_style.DOUBLE, 0.5 + len(pairs) * (sum(heights) + 0.5 * len(heights)))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.add_gridspec(len(heights) * len(pairs), 6, height_ratios=heights * len(pairs))
    for place, pair in enumerate(pairs):
        part, row = _style.within(frame, pair), place * len(heights)
        if told:
            axes = [figure.add_subplot(grid[row, c : c + 2]) for c in (0, 2, 4)]
            _told(axes, part)
            _style.name_block(axes[0], pair)
        left = figure.add_subplot(grid[row + len(heights) - 1, :3])
        _wasted(left, part, arms)
        _budgets(figure.add_subplot(grid[row + len(heights) - 1, 3:]), part)
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


def _curves(ax: Axes, part: pd.DataFrame, metric: str, line: str) -> None:
    looks, rows = _style.looks(part), part.loc[part["metric"] == metric]
    for policy in _tellable(rows):
        curve, (colour, marker) = rows.loc[rows["policy"] == policy], looks[policy]
        face = {"markerfacecolor": colour if line == "-" else "white", "zorder": 3}
        ax.plot(curve["t"], curve["value"], line, marker=marker, color=colour, **face)


def _gains(ax: Axes, part: pd.DataFrame) -> None:
    looks, rows = _style.looks(part), part.loc[part["metric"] == "awareness"]
    policies = _tellable(rows)
    apart = 0.02 * float(rows["t"].max()) if len(rows) else 0.0
    for place, policy in enumerate(policies):
        curve, (colour, marker) = rows.loc[rows["policy"] == policy], looks[policy]
        t_T = curve["t"].astype(float) + apart * (place - (len(policies) - 1) / 2)
        for t, low, high in zip(t_T, curve["low"], curve["high"], strict=True):
            if not pd.isna([low, high]).any():
                ax.plot([t, t], [low, high], color=colour, linewidth=1.0)
        ax.plot(t_T, curve["value"], marker, color=colour, zorder=3)


def _tellable(rows: pd.DataFrame) -> list[str]:
    return [name for name in ["base", *_style.arms_of(rows)] if name in set(rows["policy"])]


def _wasted(ax: Axes, part: pd.DataFrame, arms: list[str]) -> None:
    rows, looks = part.loc[part["metric"] == "waste"], _style.looks(part)
    for y, arm in enumerate(arms):
        mean = rows.loc[rows["policy"] == arm, "value"]
        ax.barh([y] * len(mean), mean, height=0.62, color=looks[arm].colour, alpha=0.75)
        seeds = rows.loc[_style.is_seed(rows) & (rows["policy"].map(_style.arm_of) == arm), "value"]
        ax.plot(seeds, [y] * len(seeds), "o", color=_style.BASE, markersize=1.8)
    ax.set_title("groups without variance")
    ax.set_xlabel("share of groups in training")
    ax.set_yticks(range(len(arms)), arms)
    ax.set_ylim(len(arms) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")


def _budgets(ax: Axes, part: pd.DataFrame) -> None:
    rows, looks = part.loc[part["metric"] == "realised"], _style.looks(part)
    for arm in _style.arms_of(rows):
        curve, (colour, marker) = rows.loc[rows["policy"] == arm], looks[arm]
        ax.plot(curve["t"], curve["value"], marker=marker, color=colour, linewidth=0.9)
    ax.set_title("budgets drawn in training")
    ax.set_xlabel("turn budget T")
    ax.set_ylim(0, 1.1 * float(rows["value"].max()) if len(rows) else 1)
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    if rows.empty:
        ax.remove()


def _entries(frame: pd.DataFrame) -> list:
    looks = _style.looks(frame)
    curves = frame.loc[frame["metric"].isin([*METRICS, "realised"])]
    entries = [
        _style.key(name, looks[name], marker=looks[name].marker) for name in _tellable(curves)
    ]
    neutral = _style.Look(_style.BASE, "")
    if "told" in set(frame["metric"]):
        entries += [
            _style.key("told the budget", neutral),
            _style.key("blind, cut at T", neutral, linestyle="--", markerfacecolor="white"),
        ]
    return entries
