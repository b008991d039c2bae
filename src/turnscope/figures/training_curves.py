"""What happened during training? Curves of every seed, and their mean."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from turnscope.figures import _style

SOURCES = ("training",)
TITLE = "Training curves"
CAPTION = (
    "Training of each reinforcement-learning arm, optimiser step by optimiser step, measured on "
    "the episodes played for that step. Thick lines: mean over {seeds}; thin lines: single seeds. "
    "Reward and success are means over episodes; entropy is that of the policy, nats per sampled "
    "token; an invalid turn could not be parsed by the environment; a group without variance (all "
    "its episodes earned the same) teaches nothing; turns are the mean length of an episode."
)
MEASURES = {
    "reward": "reward",
    "success": "success",
    "turns": "turns per episode",
    "entropy": "entropy (nats)",
    "invalid_share": "invalid turns",
    "zero_variance_groups": "groups without variance",
}
"""Names in the training table and what the reader sees, in the order of the panels."""
SHARES = ("success", "invalid_share", "zero_variance_groups")


def data(estimates: pd.DataFrame, training: pd.DataFrame, *, k: int) -> pd.DataFrame:
    """Select the curves and average them over seeds.

    Args:
        estimates: Not used.
        training: Rows of `training`.
        k: Not used.

    Returns:
        Columns env, model, policy, name, step, value, seeds; a row with an arm as its policy is a
        mean over that arm's seeds.

    Raises:
        ValueError: There is no curve to draw.
    """
    rows = training.loc[training["name"].isin(MEASURES) & training["value"].notna()]
    if rows.empty:
        raise ValueError(f"training_curves: none of {', '.join(MEASURES)} was measured")
    rows = rows.assign(seeds=1)
    groups = rows.assign(policy=rows["policy"].map(_style.arm_of)).groupby(
        ["env", "model", "policy", "name", "step"], as_index=False
    )
    means = groups.agg(value=("value", "mean"), seeds=("seeds", "sum"))
    columns = ["env", "model", "policy", "name", "step", "value", "seeds"]
    return pd.concat([rows[columns], means]).sort_values(columns[:5], ignore_index=True)


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    means = frame.loc[~_style.is_seed(frame)]
    return CAPTION.format(seeds=_style.counted(means["seeds"], "training seed"))


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw one panel for each measure; a column for each environment and model if several.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    pairs = _style.panels(frame)
    names = [name for name in MEASURES if name in set(frame["name"])]
    cells = [(pair, name) for name in names for pair in pairs]
    alone, looks = len(pairs) == 1, _style.looks(frame)
    columns = min(3, len(names)) if alone else len(pairs)
    rows = -(-len(cells) // columns)
    size = (_style.DOUBLE, 0.5 + (1.35 if alone else 1.15) * rows)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=False if alone else "row")
    for ax, (pair, name) in zip(axes.flat, cells, strict=False):
        part = _style.within(frame, pair)
        _panel(ax, part.loc[part["name"] == name], looks)
        if name in SHARES:
            ax.set_ylim(bottom=0)
        if alone:
            ax.set_title(MEASURES[name])
        elif name == names[0]:
            _style.name_panel(ax, pair)
        if pair == pairs[0] and not alone:
            ax.set_ylabel(MEASURES[name].replace(" without ", "\nwithout "))
    for ax in axes.flat[len(cells) :]:
        ax.remove()
    for ax in axes[-1]:
        ax.set_xlabel("optimiser step")
    figure.align_ylabels()
    _style.legend(figure, _entries(frame))
    return figure


def _entries(frame: pd.DataFrame) -> list:
    looks = _style.looks(frame)
    arms = _style.arms_of(frame)
    entries = [_style.key(arm, looks[arm]) for arm in arms]
    if max(frame.loc[:, "seeds"]) > 1:
        look = looks[arms[0]] if len(arms) == 1 else looks["base"]
        entries.append(_style.key("single training seed", look, linewidth=0.6, alpha=0.7))
    return entries


def _panel(ax: Axes, rows: pd.DataFrame, looks: dict[str, _style.Look]) -> None:
    seeds = _style.is_seed(rows)
    for policy, curve in rows.loc[seeds].groupby("policy"):
        ax.plot(
            curve["step"],
            curve["value"],
            color=looks[str(policy)].colour,
            linewidth=0.5,
            alpha=0.45,
        )
    for arm in _style.arms_of(rows):
        curve = rows.loc[rows["policy"] == arm]
        ax.plot(curve["step"], curve["value"], color=looks[arm].colour, zorder=3)
    ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
