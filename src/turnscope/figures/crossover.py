"""From which turn budget on is an arm not behind? The bootstrap distribution of T*."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from turnscope.arms import is_seed
from turnscope.figures import _captions, _rows, _style
from turnscope.types import Arm

SOURCES = ("pass_at_kt", "crossover")
TITLE = "Turn budget from which RL is not behind base"
CAPTION = (
    "T*, the smallest turn budget from which on an arm's Pass@({k}, T) is never below that of the "
    "base model (1: it never is, at any budget; where neither can succeed yet, they are equal). "
    "Bars: share of bootstrap samples of tasks in "
    "which T* takes each value; 'never' is the share in which the arm is still behind at T_max, "
    "printed above its bar. Triangle and line: the estimate and its 95% interval. Arms averaged "
    "over {seeds}; {tasks}, {samples} of each task.{left_out}{blind}"
)
SHOWN = ["against", "k", "t", "value", "low", "high", "t_max"]
COLUMNS = ["metric", *_rows.WHO, *SHOWN, *_rows.SIZES]
ABOVE, HIGHEST = 1.6, 1.75
"""Where T* stands above bars and the share written on them, and the end of the axis."""
BLANK: dict[str, Any] = {"xycoords": "axes fraction", "ha": "center", "color": "#555555"}
TRIANGLE = {"marker": "v", "markersize": 4.5, "markeredgewidth": 0}


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Select the bootstrap distribution of T* of each arm, T* itself and its interval.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Episodes per task, the K of Pass@(K,T).
        arms: The arms of the study by name, in order.

    Returns:
        One row for each bar (t null: no crossover) and one for each T*; `t_max` is the largest
        budget of the study.

    Raises:
        ValueError: There is no crossover with this k.
    """
    rows = estimates.loc[estimates["metric"].isin(["crossover", "crossover_share"])]
    rows = rows.loc[(rows["k"] == k) & ~is_seed(rows["policy"])]
    shares = rows.loc[(rows["metric"] == "crossover_share") & rows["value"].notna()]
    # a null T* means that there is none, but only where its distribution is defined
    rows = rows.merge(shares.loc[:, ["env", "model", "policy"]].drop_duplicates())
    if rows.empty:
        raise ValueError(f"crossover: no estimate with k={k} to draw")
    curves = estimates.loc[estimates["metric"] == "pass_at_k"]
    t_max = curves.groupby(["env", "model"], as_index=False).agg(t_max=("t", "max"))
    rows = rows.merge(t_max, on=["env", "model"], how="left", validate="many_to_one")
    return _rows.table(rows, arms, COLUMNS, ["metric", *_rows.ORDER, "t"])


def caption(frame: pd.DataFrame) -> str:
    """Describe the figure to a reader who sees nothing else of the study."""
    more = {"left_out": _captions.left_out(frame), "blind": _captions.played_blind(frame)}
    return CAPTION.format(**_captions.sizes(frame), **more)


@_style.styled
def plot(frame: pd.DataFrame) -> Figure:
    """Draw one distribution for each arm, environment and model.

    Args:
        frame: Result of `data`.

    Returns:
        A figure; saving it is the caller's business.
    """
    every, frame = frame, _style.legible(frame)
    pairs, arms, looks = _style.panels(frame), _style.arms_of(frame), _style.looks(frame)
    width = _style.SINGLE if len(pairs) == 1 else _style.DOUBLE
    each = 1.3 if len(arms) == 1 else 0.62
    figure = Figure(figsize=(width, 0.75 + each * len(arms)), layout="constrained")
    axes = figure.subplots(len(arms), len(pairs), squeeze=False, sharey=True)
    for column, pair in enumerate(pairs):
        part = _style.within(frame, pair)
        t_max = max(part.loc[:, "t_max"].astype(int))
        for row, arm in enumerate(arms):
            ax = axes[row, column]
            _distribution(ax, part.loc[part["policy"] == arm], t_max, looks[arm].colour)
            ax.tick_params(labelbottom=row == len(arms) - 1)
            if arm not in _style.arms_of(part):
                run = arm in _style.arms_of(_style.within(every, pair))
                words = "not shown" if run else "not run here"
                ax.annotate(words, (0.5, 0.4), fontsize=7, **BLANK)
            if column == 0:
                ax.set_ylabel("share of samples" if len(arms) == 1 else _folded(arm))
        _style.name_panel(axes[0, column], pair)
        if len(arms) == 1:
            axes[0, column].set_title(f"{axes[0, column].get_title('left')} · {arms[0]}")
        axes[-1, column].set_xlabel("T*, turns")
    for label in (ax.yaxis.label for ax in axes[:, 0] if len(arms) > 1):
        label.set(rotation=0, ha="right", va="center", multialignment="right")
    mark = _style.Look(_style.BASE, "v")
    _style.legend(figure, [_style.key("T* with 95% interval", mark, linewidth=1.1, **TRIANGLE)])
    return figure


def _folded(arm: str) -> str:
    return arm if len(arm) <= 12 else arm.replace("_", "_\n", 1)


def _distribution(ax: Axes, rows: pd.DataFrame, t_max: int, colour: str) -> None:
    never = t_max + max(2, round(0.2 * t_max))
    ax.set(xlim=(0.3, never + 0.9), ylim=(0, HIGHEST))
    step = max(1, -(-t_max // 5))
    ticks = [1, *range(step, t_max + 1, step)] if step > 1 else list(range(1, t_max + 1))
    ax.set_xticks([*ticks, never], [*map(str, ticks), "never"])
    ax.set_yticks([0, 0.5, 1])
    ax.grid(visible=False, axis="x")
    share = rows.loc[rows["metric"] == "crossover_share"]
    bars = share.loc[share["t"].notna()]
    ax.bar(bars["t"].astype(int), bars["value"], width=0.8, color=colour, alpha=0.75)
    none = share.loc[share["t"].isna(), "value"]
    ax.bar([never] * len(none), none, width=0.8, color=_style.BOUND)
    for value in none:
        ax.annotate(f"{value:.1%}", (never, value), ha="center", va="bottom", fontsize=7)
    for row in rows.loc[rows["metric"] == "crossover"].to_dict("records"):
        turns = [never if pd.isna(row[name]) else row[name] for name in ("low", "value", "high")]
        ax.plot(turns, [ABOVE] * 3, color=_style.BASE, linewidth=1.1)
        ax.plot(turns[1], ABOVE, color=_style.BASE, **TRIANGLE)
