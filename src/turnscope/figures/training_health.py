"""Is a training run healthy? What each optimiser step tells about it, with alarms."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from turnscope.arms import arm_of, is_seed
from turnscope.figures import _captions, _rows, _style
from turnscope.types import Arm

SOURCES = ("training",)
TITLE = "Health of training"
CAPTION = (
    "Training of each reinforcement-learning arm, optimiser step by optimiser step, measured on "
    "the episodes played for that step. Thick lines: mean over {seeds}; thin lines: single seeds. "
    "Success and turns are means over episodes; entropy is that of the policy and KL an estimate "
    "of its divergence from the base model, nats per sampled token; the gradient is measured "
    "before it is clipped; distinct actions are the pairs of actions in one state that differ; a "
    "sampled token without credit has advantage 0; an invalid turn could not be parsed.{alarms}"
    "{others}"
)
MEASURES = {
    "success": "success",
    "turns": "turns per episode",
    "entropy": "entropy (nats)",
    "kl": "KL to base (nats)",
    "gradient_norm": "gradient norm",
    "distinct_actions": "distinct actions",
    "zero_advantage_share": "tokens without credit",
    "invalid_share": "invalid turns",
}
"""Names in the training table and what the reader sees, in the order of the panels."""
SHARES = ("success", "distinct_actions", "zero_advantage_share", "invalid_share")
ALARM = "collapse"
CROSS = {"marker": "x", "markersize": 5, "markeredgewidth": 1.4, "linestyle": "none"}
RED = "#b00020"
COLUMNS = ["env", "model", "policy", "place", "name", "step", "value", "seeds"]


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select the curves and average them over seeds.

    Args:
        estimates: Not used.
        training: Rows of `training`.
        k: Not used.
        arms: The arms of the study by name, in order.

    Returns:
        Columns `COLUMNS`; a row with an arm as its policy is a mean over that arm's seeds. Rows
        of name `collapse` are the steps at which a seed raised the alarm.

    Raises:
        ValueError: There is no curve to draw.
    """
    rows = training.loc[training["name"].isin(MEASURES) & training["value"].notna()]
    if rows.empty:
        raise ValueError(f"training_health: none of {', '.join(MEASURES)} was measured")
    alarms = training.loc[(training["name"] == ALARM) & (training["value"] == 1)]
    rows, alarms = rows.assign(seeds=1), alarms.assign(seeds=1)
    groups = rows.assign(policy=rows["policy"].map(arm_of)).groupby(
        ["env", "model", "policy", "name", "step"], as_index=False
    )
    means = groups.agg(value=("value", "mean"), seeds=("seeds", "sum"))
    every = pd.concat([rows, alarms, means])
    return _rows.table(every, arms, COLUMNS, [*_rows.ORDER, "name", "step"])


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    means = frame.loc[~is_seed(frame["policy"])]
    alarmed = sorted(set(frame.loc[frame["name"] == ALARM, "policy"]))
    alarms = f" Crosses: first alarm of collapse, raised by {', '.join(alarmed)}."
    others = _captions.hidden(frame)
    return CAPTION.format(
        seeds=_captions.counted(means["seeds"], "training seed"),
        alarms=alarms if alarmed else " No seed raised the alarm of collapse.",
        others=f" Light grey: {', '.join(others)}." if others else "",
    )


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
    alone = len(pairs) == 1
    columns = min(4, len(names)) if alone else len(pairs)
    rows = -(-len(cells) // columns)
    size = (_style.DOUBLE, 0.5 + (1.35 if alone else 1.15) * rows)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=False if alone else "row")
    for ax, (pair, name) in zip(axes.flat, cells, strict=False):
        _panel(ax, _style.within(frame, pair), name, alarms=name == _alarmed(names))
        if alone:
            ax.set_title(MEASURES[name])
        elif name == names[0]:
            _style.name_panel(ax, pair)
        if pair == pairs[0] and not alone:
            ax.set_ylabel(_folded(MEASURES[name]))
    for ax in axes.flat[len(cells) :]:
        ax.remove()
    for ax in axes[-1]:
        ax.set_xlabel("optimiser step")
    figure.align_ylabels()
    _style.legend(figure, _entries(frame))
    return figure


def _alarmed(names: list[str]) -> str:
    """Choose the panel that shows the alarms."""
    return "entropy" if "entropy" in names else names[0]


def _folded(words: str) -> str:
    head, _, last = words.rpartition(" ")
    return f"{head}\n{last}" if len(words) > 14 else words


def _panel(ax: Axes, part: pd.DataFrame, name: str, alarms: bool) -> None:
    looks, rows = _style.looks(part), part.loc[part["name"] == name]
    shown = _style.legible(part)
    arms, seeds = _style.arms_of(shown), is_seed(rows["policy"])
    for arm in _style.arms_of(part):
        curve = rows.loc[rows["policy"] == arm]
        style = {"color": looks[arm].colour, "zorder": 3}
        if arm not in arms:
            style = {"color": _style.FAINT, "linewidth": 0.8, "zorder": 1}
        ax.plot(curve["step"], curve["value"], **style)
    for policy, curve in rows.loc[seeds].groupby("policy"):
        if arm_of(str(policy)) in arms:
            style = {"color": looks[str(policy)].colour, "linewidth": 0.5, "alpha": 0.45}
            ax.plot(curve["step"], curve["value"], **style)
    if alarms:
        first = part.loc[part["name"] == ALARM].groupby("policy", as_index=False)["step"].min()
        places = first.merge(rows, on=["policy", "step"])
        ax.plot(places["step"], places["value"], color=RED, zorder=4, **CROSS)
    if name in SHARES:
        ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))


def _entries(frame: pd.DataFrame) -> list:
    looks, arms = _style.looks(frame), _style.arms_of(_style.legible(frame))
    entries = [_style.key(arm, looks[arm]) for arm in arms]
    if _captions.hidden(frame):
        entries.append(_style.key("other arms", _style.Look(_style.FAINT, ""), linewidth=0.8))
    if max(frame.loc[:, "seeds"]) > 1:
        look = looks[arms[0]] if len(arms) == 1 else looks["base"]
        entries.append(_style.key("single training seed", look, linewidth=0.6, alpha=0.7))
    if ALARM in set(frame["name"]):
        entries.append(_style.key("alarm of collapse", _style.Look(RED, ""), **CROSS))
    return entries
