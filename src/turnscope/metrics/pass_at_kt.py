"""Pass@(K,T): whether any of K episodes of at most T turns is solved, and its kin.

Metrics, by policy, k and T = 1, ..., T_max, from one set of blind episodes under T_max:

- `pass_at_k`: at least one of k episodes is solved. Against `base` also the simultaneous bands
  and, at the budgets of the grid and at the quarters of T_max, sign-flip p-values.
- `pass_at_k_holm`, against `base` at the quarters of T_max: these p-values, adjusted by Holm; also
  in column `value`. The family is the four quarters at one k.
- `pass_hat_k`: all k episodes are solved.
- `avg_at_n`: share of episodes solved (k is null).
- `evaluation_noise`: standard error of `pass_at_k` that is due to the episodes alone, were the
  tasks fixed; null where 2k > n, or where chance makes the estimate of its square negative.
- `bound`: highest `pass_at_k` of any policy; `headroom`: bound minus policy.
- `gap_growth_k`, at each k > 1 and T_max: D(k, T_max) - D(1, T_max), where D is the difference to
  `base`; `gap_growth_t`, at each smaller budget T of the grid: D(k, T_max) - D(k, T).
- `pass_at_k_errors_failed`: `pass_at_k` with episodes in which the environment failed counted as
  unsolved instead of left out; only where there are any.

Source:
    Definition: the studied paper, section 2.2. Estimator: `turnscope.estimators`.
    Differs: intervals and bands resample tasks, see `turnscope.intervals`.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope import estimators
from turnscope.metrics import Settings
from turnscope.metrics._outcomes import (
    Study,
    count_policies,
    headline,
    read,
    test_tasks,
)
from turnscope.metrics._rows import (
    Sampled,
    banded,
    bootstrap,
    bootstrap_gap,
    holm,
    joined,
    p_values,
    pointwise,
    rows,
)
from turnscope.metrics._series import bound, differences, series

Floats = npt.NDArray[np.float64]


def estimate(tasks: pd.DataFrame, episodes: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Estimate Pass@(K,T) and its kin for every policy and arm.

    Args:
        tasks: Rows of table `tasks`.
        episodes: Rows of table `episodes`, all policies of one environment and model.
        settings: Uses `ks`, `k`, `shares`, `draws` and `seed`.

    Returns:
        Rows of table `estimates`.

    Raises:
        ValueError: See `_outcomes.read`.
    """
    study = read(tasks, episodes, settings)
    weights = study.weights()
    levels = [
        Sampled(one, bootstrap(one, weights))
        for one in series(study.outcomes, estimators.pass_at_k, settings.all_ks)
    ]
    hats = series(study.outcomes, estimators.pass_hat_k, settings.all_ks)
    parts = [
        *(_level(study, "pass_at_k", one) for one in levels),
        *(_level(study, "pass_hat_k", Sampled(one, bootstrap(one, weights))) for one in hats),
        *_noise(study),
        *_bounds(study, levels, weights),
        *_differences(study, levels, weights),
        *_errors_failed(study, tasks, episodes, weights),
    ]
    return joined(parts)


def _level(study: Study, metric: str, sampled: Sampled) -> pd.DataFrame:
    one = sampled.series
    columns = pointwise(one, sampled.draws_KTB, share=True)
    table = rows(study, metric, one, study.settings.all_ks, study.turns, columns)
    if metric != "pass_at_k":
        return table
    first = {name: surface[:1] for name, surface in columns.items()}  # Pass@1 is c / n
    average = one.replaced(one.x_NKT[:, :1])
    return pd.concat([table, rows(study, "avg_at_n", average, [None], study.turns, first)])


def _noise(study: Study) -> Iterator[pd.DataFrame]:
    ks = study.settings.all_ks
    for one in series(study.outcomes, estimators.variance, ks):
        entered = (~np.isnan(one.x_NKT)).sum(axis=0)
        total = np.nansum(one.x_NKT, axis=0) / max(1, one.seeds)
        known = (entered > 0) & (total >= 0)
        noise = np.sqrt(np.where(known, total, np.nan)) / np.maximum(1, entered)
        yield rows(study, "evaluation_noise", one, ks, study.turns, {"value": noise})


def _bounds(study: Study, levels: list[Sampled], weights: Floats) -> Iterator[pd.DataFrame]:
    ks = study.settings.all_ks
    best = bound(study, ks)
    if best is None:
        return
    top = Sampled(best, bootstrap(best, weights))
    yield _level(study, "bound", top)
    for level in levels:
        room = level.series.replaced(best.x_NKT - level.series.x_NKT)
        columns = pointwise(room, bootstrap_gap(room, top, level, weights))
        yield rows(study, "headroom", room, ks, study.turns, columns)


def _differences(study: Study, levels: list[Sampled], weights: Floats) -> Iterator[pd.DataFrame]:
    ks, signs = study.settings.all_ks, study.signs()
    grid = [turns - 1 for turns in study.budgets]
    tested = sorted({*grid, *(turns - 1 for turns in study.quarters)})
    base = levels[0]
    for level in levels[1:]:
        gap = level.series.minus(base.series)
        columns = banded(gap, bootstrap_gap(gap, level, base, weights))
        columns["p_value"] = p_values(gap, signs, tested)
        yield rows(study, "pass_at_k", gap, ks, study.turns, columns)
        yield holm(study, "pass_at_k_holm", gap, ks, columns["p_value"])
        last = gap.x_NKT[:, :, -1:]
        growths = [
            ("gap_growth_k", last[:, 1:] - last[:, :1], ks[1:], [study.t_max]),
            ("gap_growth_t", last - gap.x_NKT[:, :, grid[:-1]], ks, study.budgets[:-1]),
        ]
        for metric, x_NKT, growth_ks, turns in growths:
            if x_NKT.size:
                growth = gap.replaced(x_NKT)
                columns = pointwise(growth, bootstrap(growth, weights))
                columns["p_value"] = p_values(growth, signs)
                yield rows(study, metric, growth, growth_ks, turns, columns)


def _errors_failed(
    study: Study, tasks: pd.DataFrame, episodes: pd.DataFrame, weights: Floats
) -> Iterator[pd.DataFrame]:
    whole = headline(episodes)
    test_ids = list(test_tasks(tasks)["task_id"])
    failed = whole.loc[whole["success"].isna(), "task_id"]
    if not failed.isin(test_ids).any():
        return
    outcomes = count_policies(whole, test_ids, study.t_max, errors_failed=True)
    ks = study.settings.all_ks
    levels = series(outcomes, estimators.pass_at_k, ks)
    for one in levels + differences(levels):
        columns = pointwise(one, bootstrap(one, weights), share=one.against is None)
        yield rows(study, "pass_at_k_errors_failed", one, ks, study.turns, columns)
