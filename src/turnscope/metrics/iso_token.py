"""What success costs in sampled tokens, and how to split a cost between attempts and turns.

A plan is a pair (k, T): k episodes of at most T turns. An episode cut at T costs the tokens that
were sampled in its first T turns, whether it was solved, lost or cut.

Metrics, by policy (T is null where it is not named):

- `plan_cost`, by k and T: tokens of k episodes side by side, k E[tokens within T].
- `stopped_cost`, by k and T: tokens if a verifier stops after the first solved one of at most k
  episodes.
- `plan_best`, parts `cost/C` (side by side) and `stopped/C`: highest Pass@(k,T) of the plans that
  cost at most C tokens on average, with C a power of two; columns k and t are that plan. All k up
  to the largest of `ks` are tried; costs at which some policy could afford more are left out.
- `plan_gap`, same parts: that of the policy minus that of `base` at equal cost, paired by task;
  columns k and t are the policy's plan.
- `restart_cost`, by t: tokens for each solved episode when every episode is cut at T = t and begun
  anew, E[tokens within T] / F(T), where F is the share of episodes solved. Tasks are mixed as in
  the study. `restart_cutoff`: the T at which it is lowest, turns.

The plan is chosen on the same episodes that measure it, and its interval is that of this plan. Pass
changes little between the plans of one cost, so the choice adds little: on the lake's 500 test
tasks with 32 episodes each, plans chosen on one half of the episodes achieved at most 0.0014 less
on the other; on 30 of these tasks up to 0.006 less, and 0.017 at one cost. Choosing on one half and
measuring on the other would be free of it, but leave no plan with k above half of the episodes.

Source:
    Iso-cost planning of attempts: statistics of restarts, Luby, Sinclair and Zuckerman 1993.
    Verifier-stopped cost: ours, after Chen et al. 2021, arXiv:2107.03374. The mean over all orders
    of a task's episodes: one is played as number j + 1 if j of the others were drawn before it and
    failed.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope import estimators, intervals
from turnscope.metrics import Settings, _played
from turnscope.metrics._outcomes import Study
from turnscope.metrics._rows import bootstrap, joined, mean, pointwise, rows
from turnscope.metrics._series import Series, arms, series
from turnscope.metrics._visits import Ratio

SOURCE = "turns"

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Plans(NamedTuple):
    """All plans of one policy: k = 1, ..., K and T = 1, ..., T_max."""

    success: Series
    """Pass@(k,T), shape (N, K, T)."""
    costs: dict[str, Series]
    """By way to play, their tokens, shape (N, K, T)."""


def estimate(tasks: pd.DataFrame, turns: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Estimate the cost of plans, the best plan at each cost, and the best cutoff of restarts.

    Args:
        tasks: Rows of table `tasks`.
        turns: Rows of table `turns`, of one environment and model.
        settings: Uses `ks`, `k`, `draws` and `seed`.

    Returns:
        Rows of table `estimates`; none if nothing was sampled.

    Raises:
        ValueError: See `_played.read`.
    """
    played = _played.read(tasks, turns, settings)
    if played is None or not turns["tokens"].to_numpy().any():
        return joined([])
    study, weights = played.study, played.study.weights()
    spent_ET = np.nan_to_num(_played.surface(played, "tokens")).cumsum(axis=1)
    tokens = _played.means(played, spent_ET)
    plans = _plans(study, tokens, _stopped_costs(played, spent_ET))
    return joined(
        [
            *(part for one in tokens for part in _costs(study, one, weights)),
            *(part for one in plans for part in _stopped(study, one, weights)),
            *(part for way in ("cost", "stopped") for part in _best(study, plans, way, weights)),
            *(
                part
                for one, plan in zip(tokens, plans, strict=True)
                for part in _restarts(study, one, plan, weights)
            ),
        ]
    )


def _plans(study: Study, tokens: list[Series], stopped: dict[str, Floats]) -> list[Plans]:
    ks = _all(study)
    successes = series(study.outcomes, estimators.pass_at_k, ks)
    k_K = np.array(ks, np.float64)[:, None]
    return [
        Plans(
            some,
            {
                "cost": one.replaced(one.x_NKT * k_K),
                "stopped": one.replaced(stopped[one.policy]),
            },
        )
        for one, some in zip(tokens, successes, strict=True)
    ]


def _all(study: Study) -> range:
    """List all k that are tried."""
    return range(1, max(study.settings.all_ks) + 1)


def _stopped_costs(played: _played.Played, spent_ET: Floats) -> dict[str, Floats]:
    """Estimate the tokens up to the first solved episode, of policies and of arms."""
    solved_E = played.episodes["success"].fillna(False).to_numpy(bool)
    length_E = played.episodes["turns"].to_numpy(np.int64)
    solved_ET = solved_E[:, None] & (length_E[:, None] <= np.array(played.study.turns))
    sides = (_played.means(played, spent_ET * mine_ET) for mine_ET in (solved_ET, ~solved_ET))
    ks, outcomes = _all(played.study), played.study.outcomes
    found = {
        won.policy: stopped(*outcomes[won.policy], won.x_NKT[:, 0], lost.x_NKT[:, 0], ks)
        for won, lost in zip(*sides, strict=True)
        if won.policy in outcomes
    }
    groups = arms(list(found)).items()
    means = {arm: np.mean([found[name] for name in members], axis=0) for arm, members in groups}
    return found | means


def stopped(n_N: Ints, c_NT: Ints, won_NT: Floats, lost_NT: Floats, ks: Sequence[int]) -> Floats:
    """Estimate without bias the tokens of at most k episodes, up to the first that is solved.

    Args:
        n_N: Episodes of each task, shape (N,).
        c_NT: Solved ones within each number of turns, shape (N, T).
        won_NT: Tokens of those, divided by n, shape (N, T).
        lost_NT: Tokens of the others, divided by n, shape (N, T).
        ks: 1, 2, ..., K.

    Returns:
        Tokens, shape (N, K, T); NaN where k > n.
    """
    others_N = np.maximum(n_N - 1, 0)
    # without a solved episode, or without another, the tokens of that side are 0
    after_won = _plays(others_N, np.maximum(c_NT - 1, 0), ks)
    after_lost = _plays(others_N, np.minimum(c_NT, others_N[:, None]), ks)
    found_NKT = won_NT[:, None] * after_won + lost_NT[:, None] * after_lost
    return np.where(n_N[:, None, None] >= np.array(ks)[:, None], found_NKT, np.nan)


def _plays(n_N: Ints, c_NT: Ints, ks: Sequence[int]) -> Floats:
    """Sum, over 0 to k - 1 episodes of these, the probability that all failed."""
    fail_NKT = estimators.all_fail(n_N, c_NT, ks)
    return np.concatenate([np.ones_like(fail_NKT[:, :1]), fail_NKT[:, :-1]], axis=1).cumsum(axis=1)


def _costs(study: Study, tokens: Series, weights: Floats) -> Iterator[pd.DataFrame]:
    ks = study.settings.all_ks
    one = pointwise(tokens, bootstrap(tokens, weights))
    columns = {name: np.array(ks)[:, None] * column for name, column in one.items()}
    wide = tokens.replaced(np.repeat(tokens.x_NKT, len(ks), axis=1))
    yield rows(study, "plan_cost", wide, ks, study.turns, columns)


def _stopped(study: Study, plans: Plans, weights: Floats) -> Iterator[pd.DataFrame]:
    ks = study.settings.all_ks
    cost = plans.costs["stopped"]
    some = cost.replaced(cost.x_NKT[:, [k - 1 for k in ks]])
    yield rows(
        study, "stopped_cost", some, ks, study.turns, pointwise(some, bootstrap(some, weights))
    )


def _best(study: Study, plans: list[Plans], way: str, weights: Floats) -> Iterator[pd.DataFrame]:
    costs = [mean(one.costs[way].x_NKT) for one in plans]
    grid = _grid(costs)
    if not grid:
        return
    chosen: list[Series] = []
    for one, cost_KT in zip(plans, costs, strict=True):
        value_KT = mean(one.success.x_NKT)
        cells = [best(value_KT, cost_KT, cost) for cost in grid]
        k_C, t_C = np.transpose(cells)
        picked = one.success.replaced(one.success.x_NKT[:, k_C, t_C][:, None])
        chosen.append(picked)
        columns = pointwise(picked, bootstrap(picked, weights), share=True)
        yield from _lines(study, "plan_best", picked, way, grid, cells, columns)
        if len(chosen) > 1:
            gap = picked.minus(chosen[0])
            columns = pointwise(gap, bootstrap(gap, weights))
            yield from _lines(study, "plan_gap", gap, way, grid, cells, columns)


def _grid(costs: list[Floats]) -> list[int]:
    """List the powers of two that buy a plan of every policy, and not all plans of any."""
    least = max(float(np.nanmin(cost_KT)) for cost_KT in costs)
    most = min(float(np.nanmax(cost_KT)) for cost_KT in costs)
    first, last = np.ceil(np.log2(least)), np.floor(np.log2(most))
    return [2**power for power in range(max(0, int(first)), int(last) + 1)]


def best(value_KT: Floats, cost_KT: Floats, most: float) -> tuple[int, int]:
    """Choose the cell of highest value that costs no more; the cheapest of equal ones.

    Args:
        value_KT: What is achieved; NaN where undefined.
        cost_KT: What it costs.
        most: Largest cost, which some cell does not exceed.
    """
    allowed = (cost_KT <= most * (1 + intervals.NOISE)) & ~np.isnan(value_KT)
    value_KT = np.where(allowed, value_KT, -np.inf)
    equal = value_KT >= value_KT.max() - intervals.NOISE
    k, t = np.unravel_index(np.argmin(np.where(equal, cost_KT, np.inf)), cost_KT.shape)
    return int(k), int(t)


def _lines(
    study: Study,
    metric: str,
    one: Series,
    way: str,
    grid: list[int],
    cells: list[tuple[int, int]],
    columns: dict[str, Floats],
) -> Iterator[pd.DataFrame]:
    for place, (cost, (k, t)) in enumerate(zip(grid, cells, strict=True)):
        here = slice(place, place + 1)
        some = one.replaced(one.x_NKT[:, :, here])
        column = {name: found[:, here] for name, found in columns.items()}
        yield rows(study, metric, some, [k + 1], [t + 1], column, part=f"{way}/{cost}")


def _restarts(
    study: Study, tokens: Series, plans: Plans, weights: Floats
) -> Iterator[pd.DataFrame]:
    solved_NT = np.nan_to_num(plans.success.x_NKT[:, 0])
    ratio = Ratio(np.nan_to_num(tokens.x_NKT[:, 0]), solved_NT)
    cost_T, draws_TB = ratio.mean(), ratio.draws(weights)
    low, high = intervals.percentile(draws_TB)
    columns = {"value": cost_T[None], "low": low[None], "high": high[None]}
    yield rows(study, "restart_cost", tokens, [None], study.turns, columns)
    if np.isnan(cost_T).all():
        return
    turn_B = 1.0 + np.where(np.isnan(draws_TB), np.inf, draws_TB).argmin(axis=0)
    ends = np.quantile(turn_B, [0.025, 0.975], method="inverted_cdf")
    found = (1.0 + np.nanargmin(cost_T), *ends)
    columns = {
        name: np.full((1, 1), x) for name, x in zip(("value", "low", "high"), found, strict=True)
    }
    last = tokens.replaced(tokens.x_NKT[:, :, -1:])
    yield rows(study, "restart_cutoff", last, [None], [None], columns)
