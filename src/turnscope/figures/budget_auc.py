"""How robust is an arm to a short turn budget? The mean success over all budgets, as a forest."""

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from turnscope.arms import arm_of, is_seed
from turnscope.figures import _captions, _rows, _style
from turnscope.types import Arm

SOURCES = ("budget_auc",)
TITLE = "Robustness to the turn budget"
CAPTION = (
    "One number for robustness to short budgets: Pass@({k}, T) averaged over all turn budgets "
    "T = 1, ..., T_max (budget AUC), for the base model and each reinforcement-learning arm, "
    "averaged over {seeds}. Left: filled marks, at least one of {k} episodes succeeds; hollow "
    "marks, all {k} succeed (pass^{k}){bound}. Right: paired lead of an arm over the base model in "
    "the filled mark. Bars: 95% bootstrap intervals over tasks; dots: single training seeds. "
    "{tasks}, {samples} of each task.{blind}"
)
BOUND = "; grey line, the best possible policy; regret is the distance from the filled mark to it"
Looks = dict[str, _style.Look]
METRICS = ("budget_auc", "budget_auc_hat", "budget_regret")
COLUMNS = ["metric", *_rows.WHO, "against", "k", "value", "low", "high", *_rows.SIZES]


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select the budget AUC of all policies, their regret, and differences to the base model.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Episodes per task, the K of Pass@(K,T).
        arms: The arms of the study by name, in order.

    Returns:
        One row for each mark.

    Raises:
        ValueError: There is no budget AUC with this k.
    """
    rows = estimates.loc[estimates["metric"].isin(METRICS) & (estimates["k"] == k)]
    lead = (rows["against"] == "base") & (rows["metric"] == "budget_auc")
    rows = rows.loc[rows["value"].notna() & (rows["against"].isna() | lead)]
    if "budget_auc" not in set(rows["metric"]):
        raise ValueError(f"budget_auc: no estimate with k={k} to draw")
    keys = ["metric", "env", "model", "against", "place", "policy"]
    return _rows.table(rows, arms, COLUMNS, keys)


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    bound = BOUND if "bound" in set(frame["policy"]) else ""
    blind = _captions.played_blind(frame)
    return CAPTION.format(**_captions.sizes(frame), bound=bound, blind=blind)


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw a forest of levels and one of differences for each environment and model.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    pairs, looks = _style.panels(frame), _style.looks(frame)
    parts = [_style.within(frame, pair) for pair in pairs]
    heights = [0.62 + 0.2 * len(_style.policies_of(part)) for part in parts]
    figure = Figure(figsize=(_style.DOUBLE, 0.45 + sum(heights)), layout="constrained")
    axes = figure.subplots(
        len(pairs), 2, squeeze=False, sharey="row", sharex="col", height_ratios=heights
    )
    k = frame["k"].iloc[0]
    for (left, right), pair, part in zip(axes, pairs, parts, strict=True):
        policies = _style.policies_of(part)
        _levels(left, part, policies, looks)
        _leads(right, part, policies, looks)
        _style.name_panel(left, pair)
        left.set_yticks(range(len(policies)), policies)
        left.set_ylim(len(policies) - 0.4, -0.6)
        for ax in (left, right):
            ax.tick_params(axis="y", length=0, labelsize=7.5)
            ax.spines["left"].set_visible(False)
            ax.grid(visible=False, axis="y")
    axes[-1, 0].set_xlabel(f"budget AUC of Pass@({k}, T) and pass^({k}, T)")
    axes[-1, 1].set_xlabel("lead over base in budget AUC")
    _style.legend(figure, _entries(frame, k))
    return figure


def _levels(ax: Axes, part: pd.DataFrame, policies: list[str], looks: Looks) -> None:
    bound = part.loc[(part["policy"] == "bound") & (part["metric"] == "budget_auc")]
    for value in bound["value"]:
        ax.axvline(value, color=_style.BOUND, linewidth=1.4, zorder=1)
    levels = part.loc[part["against"].isna()]
    _marks(ax, levels.loc[levels["metric"] == "budget_auc_hat"], policies, looks, hollow=True)
    _marks(ax, levels.loc[levels["metric"] == "budget_auc"], policies, looks)
    regret = levels.loc[levels["metric"] == "budget_regret"].set_index("policy")["value"]
    numbers = [f"{regret[p]:.3f}" if p in regret.index else "" for p in policies]
    if any(numbers):
        _column(ax, "regret", numbers)
    ax.set_xlim(0, 1)


def _leads(ax: Axes, part: pd.DataFrame, policies: list[str], looks: Looks) -> None:
    rows = part.loc[(part["metric"] == "budget_auc") & (part["against"] == "base")]
    ax.axvline(0, color=_style.BASE, linewidth=0.9, zorder=1)
    _marks(ax, rows, policies, looks)
    leads = {row["policy"]: row for row in rows.to_dict("records")}
    _column(ax, "lead [95%]", [_interval(leads[p]) if p in leads else "" for p in policies])
    ax.locator_params(axis="x", nbins=5)
    ax.xaxis.set_major_formatter(_style.signed)


def _interval(row: dict[Hashable, Any]) -> str:
    value, low, high = row["value"], row["low"], row["high"]
    interval = "" if pd.isna(low) or pd.isna(high) else f" [{low:+.3f}, {high:+.3f}]"
    return f"{value:+.3f}{interval}".replace("-", "−")


def _column(ax: Axes, head: str, cells: list[str]) -> None:
    for y, text in enumerate(cells):
        place = {"xycoords": ("axes fraction", "data"), "va": "center"}
        ax.annotate(text, (1.02, y), fontsize=7, color="#444444", **place)  # type: ignore[arg-type]
    ax.annotate(head, (1.02, 1.02), xycoords="axes fraction", fontsize=7, color="#444444")


def _marks(
    ax: Axes, rows: pd.DataFrame, policies: list[str], looks: Looks, hollow: bool = False
) -> None:
    for y, policy in enumerate(policies):
        look = looks[policy]
        mean = rows.loc[rows["policy"] == policy]
        seeds = rows.loc[(rows["policy"].map(arm_of) == policy) & (rows["policy"] != policy)]
        dots = {"markersize": 2, "markeredgewidth": 0, "alpha": 0.55, "zorder": 2}
        if not hollow:
            below = [y + 0.26] * len(seeds)
            ax.plot(seeds["value"], below, "o", color=look.colour, **dots)
        for row in mean.to_dict("records"):
            _style.interval(ax, row, y, color=look.colour, linewidth=1.3)
        face = {"markerfacecolor": "white" if hollow else look.colour, "markeredgewidth": 1.0}
        ax.plot(
            mean["value"],
            [y] * len(mean),
            look.marker,
            color=look.colour,
            markersize=4.5,
            zorder=3,
            clip_on=False,
            in_layout=False,
            **face,
        )


def _entries(frame: pd.DataFrame, k: int) -> list:
    look = _style.Look(_style.BASE, "o")
    dot = {"marker": "o", "linestyle": "none"}
    entries = [_style.key(f"at least one of {k} succeeds", look, markersize=4.5, **dot)]
    if "budget_auc_hat" in set(frame["metric"]):
        hollow = {"markerfacecolor": "white", "markersize": 4.5}
        entries.append(_style.key(f"all {k} succeed", look, **hollow, **dot))
    if "bound" in set(frame["policy"]):
        entries.append(_style.key("bound", _style.Look(_style.BOUND, ""), linewidth=1.4))
    if is_seed(frame["policy"]).any():
        small = {"markersize": 2, "markeredgewidth": 0, "alpha": 0.55}
        entries.append(_style.key("single training seed", look, **small, **dot))
    return entries
