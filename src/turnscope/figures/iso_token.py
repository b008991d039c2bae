"""How are tokens best spent, on more attempts or on more turns? Plans of equal cost."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from turnscope.arms import is_seed
from turnscope.figures import _bands, _captions, _curves, _rows, _style
from turnscope.types import Arm

SOURCES = ("pass_at_kt", "iso_token")
TITLE = "Attempts or turns for equal tokens"
CAPTION = (
    "Above: Pass@(k, T) of the base model and the arms by turn budget T and attempts k. Lines "
    "join plans (k, T) that cost equally many sampled tokens, their number is written on them; "
    "k episodes side by side cost k times the mean tokens of the first T turns. Stars: the plan "
    "with the highest Pass at no more than that cost. Below, left: Pass of these plans. Below, "
    "right: tokens for each solved episode if every episode is cut at T turns and begun anew; "
    "triangles: the T where that is lowest (T_max: early restarts never pay). Shading: 95% "
    "bootstrap intervals over tasks. {tasks}, {samples} of each task; arms averaged over {seeds}."
    "{left_out}{blind}"
)
PALETTE = sns.light_palette(_style.HUES["grpo"], as_cmap=True)
WAY = "cost/"
METRICS = ("plan_cost", "plan_best", "restart_cost", "restart_cutoff")
SHOWN = ["part", "k", "t", "value", "low", "high"]
COLUMNS = ["metric", *_rows.WHO, *SHOWN, *_rows.SIZES]
STAR: dict[str, Any] = {
    "marker": "*",
    "markersize": 7,
    "markerfacecolor": "white",
    "markeredgewidth": 0.7,
}
TRIANGLE: dict[str, Any] = {"marker": "v", "markersize": 5, "markeredgewidth": 0}


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select Pass@(k,T), the cost of single episodes, the best plans, and the cost of restarts.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Not used; all k are drawn.
        arms: The arms of the study by name, in order.

    Returns:
        One row for each point, columns `COLUMNS`; `plan_cost` of single episodes only.

    Raises:
        ValueError: There is no plan to draw.
    """
    rows = estimates.loc[estimates["against"].isna() & ~is_seed(estimates["policy"])]
    plans = rows.loc[rows["metric"].isin(METRICS) & rows["value"].notna()]
    plans = plans.loc[(plans["metric"] != "plan_cost") | (plans["k"] == 1)]
    plans = plans.loc[plans["part"].isna() | plans["part"].astype(str).str.startswith(WAY)]
    if "plan_best" not in set(plans["metric"]):
        raise ValueError("iso_token: no best plan to draw")
    known = plans.loc[:, ["env", "model", "policy"]].drop_duplicates()
    passes = rows.loc[(rows["metric"] == "pass_at_k") & rows["value"].notna()].merge(known)
    keys = ["metric", *_rows.ORDER, "part", "k", "t"]
    return _rows.table(pd.concat([passes, plans]), arms, COLUMNS, keys)


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    more = {
        "left_out": _captions.left_out(frame, "its table"),
        "blind": _captions.played_blind(frame),
    }
    return CAPTION.format(**_captions.sizes(frame), **more)


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw maps, the success that tokens buy, and restarts, for each environment and model.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    frame = _style.legible(frame)
    pairs, looks = _style.panels(frame), _style.looks(frame)
    count = len(_style.policies_of(frame))
    lines = 1 if count <= 3 else 2
    figure = Figure(
        figsize=(_style.DOUBLE, 0.3 + len(pairs) * (2.1 * lines + 2.1)), layout="constrained"
    )
    blocks = figure.subfigures(len(pairs), 1, squeeze=False)[:, 0]
    for block, pair in zip(blocks, pairs, strict=True):
        _block(block, _style.within(frame, pair), pair, lines, looks)
    entries = [
        _style.key(
            "best plan of its cost", _style.Look(_style.BASE, "*"), linestyle="none", **STAR
        ),
        *_curves.entries(frame),
        _style.key("best cutoff", _style.Look(_style.BASE, "v"), linestyle="none", **TRIANGLE),
    ]
    _style.legend(figure, entries)
    return figure


def _block(
    block: SubFigure,
    part: pd.DataFrame,
    pair: tuple[str, str],
    lines: int,
    looks: dict[str, _style.Look],
) -> None:
    policies = _style.policies_of(part)
    wide = 3 if len(policies) <= 2 else 2
    grid = block.add_gridspec(lines + 1, 6)
    maps = []
    for place, policy in enumerate(policies):
        row, column = divmod(place, 6 // wide)
        ax = block.add_subplot(grid[row, wide * column : wide * (column + 1)])
        maps.append(ax)
        _map(ax, part.loc[part["policy"] == policy])
        ax.set_title(policy, fontweight="normal", fontsize=7.5)
        if column == 0:
            ax.set_ylabel("attempts k")
    _style.name_block(maps[0], pair)
    bar = block.colorbar(ScalarMappable(Normalize(0, 1), PALETTE), ax=maps, aspect=22, pad=0.02)
    bar.set_label("Pass@(k, T)")
    bar.outline.set_visible(False)  # type: ignore[operator]
    _bought(block.add_subplot(grid[-1, :3]), part, policies, looks)
    _restarts(block.add_subplot(grid[-1, 3:]), part, policies, looks)


def _map(ax: Axes, part: pd.DataFrame) -> None:
    """Draw Pass over the plane of turns and attempts, with lines of equal cost."""
    passes = part.loc[part["metric"] == "pass_at_k"].set_index(["k", "t"])["value"].unstack()  # noqa: PD010 (no aggregation)
    k_K, turns = np.array(passes.index, float), np.array(passes.columns, float)
    if len(passes):
        edges_K = np.sqrt(
            np.concatenate([[k_K[0] / 2], k_K]) * np.concatenate([k_K, [k_K[-1] * 2]])
        )
        edges_T = np.concatenate([turns - 0.5, turns[-1:] + 0.5])
        ax.pcolormesh(edges_T, edges_K, passes, cmap=PALETTE, norm=Normalize(0, 1))
        ax.set_xlim(edges_T[0], edges_T[-1])
        ax.set_ylim(edges_K[0], edges_K[-1])
    ax.set_yscale("log", base=2)
    ax.set_yticks(k_K, [str(int(k)) for k in k_K])
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.minorticks_off()
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.set_xlabel("turn budget T")
    ax.grid(visible=False)
    best = part.loc[part["metric"] == "plan_best"]
    single = part.loc[part["metric"] == "plan_cost"]
    for row in best.to_dict("records"):
        cost = _cost(row["part"])
        _line(ax, single, cost)
    ax.plot(
        best["t"], best["k"], color=_style.BASE, linestyle="none", zorder=4, clip_on=False, **STAR
    )


def _cost(part: str) -> int:
    return int(part.removeprefix(WAY))


def _line(ax: Axes, single: pd.DataFrame, cost: int) -> None:
    """Join the plans of one cost, and write the cost where they leave the map."""
    k_T = cost / single["value"].to_numpy(float)
    t_T = single["t"].to_numpy(float)
    ax.plot(t_T, k_T, color=_style.BASE, linewidth=0.7, alpha=0.8)
    ends = ax.get_ylim()
    inside = np.flatnonzero((k_T >= ends[0]) & (k_T <= ends[1]))
    if len(inside):
        last = inside[-1]
        right = last == len(t_T) - 1
        ax.annotate(
            _short(cost),
            (ax.get_xlim()[1] if right else t_T[last], k_T[last]),
            xytext=(2, 0) if right else (6, 2),
            textcoords="offset points",
            fontsize=7,
            va="center" if right else "bottom",
        )


def _short(cost: float, _: object = None) -> str:
    """Write a number of tokens in few letters."""
    for unit, name in ((1 << 20, "M"), (1 << 10, "k")):
        if cost >= unit and cost % unit == 0:
            return f"{int(cost // unit)}{name}"
    return f"{cost:g}"


def _bought(
    ax: Axes, part: pd.DataFrame, policies: list[str], looks: dict[str, _style.Look]
) -> None:
    rows = part.loc[part["metric"] == "plan_best"]
    rows = rows.assign(cost=rows["part"].map(_cost)).sort_values("cost")
    for policy in policies:
        _bands.curve(ax, rows.loc[rows["policy"] == policy], "cost", looks[policy], _bands.FILLED)
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(FuncFormatter(_short))
    ax.minorticks_off()
    ax.set_ylim(0, 1.03)
    ax.set_xlabel("tokens of a plan")
    ax.set_ylabel("best Pass@(k, T)")


def _restarts(
    ax: Axes, part: pd.DataFrame, policies: list[str], looks: dict[str, _style.Look]
) -> None:
    for policy in policies:
        own = part.loc[part["policy"] == policy]
        curve = own.loc[own["metric"] == "restart_cost"]
        _bands.curve(ax, curve, "t", looks[policy], {"marker": ""})
        for turn in own.loc[own["metric"] == "restart_cutoff", "value"]:
            at = curve.loc[curve["t"] == turn, "value"]
            ax.plot([turn] * len(at), at, color=looks[policy].colour, zorder=4, **TRIANGLE)
    if part.loc[part["metric"] == "restart_cost", "value"].isna().all():
        ax.text(0.5, 0.5, "nothing was solved", transform=ax.transAxes, ha="center")
    else:
        ax.set_yscale("log", base=2)
    ax.yaxis.set_major_formatter(FuncFormatter(_short))
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.set_xlabel("cut at T turns")
    ax.set_ylabel("tokens per solved episode")
