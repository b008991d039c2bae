"""Told budgets: what policies achieve that see how many turns are left, beside the blind ones.

Told episodes are played anew under each budget T. Beside them stand the blind episodes under T_max,
cut at T, of the same policy at the same tasks: a blind policy does not know the difference.

Metrics, by policy, at every T that was told:

- `told`: Pass@(k,T | told T), at k = 1 and the k of depth. An arm that was trained with the budget
  shown is judged by these rows; its blind ones show it without what it is used to.
- `awareness`: told minus blind, paired by task, with the bootstrap interval and the sign-flip
  p-value. `against` is the same policy. Both sides have equally many episodes at each task (the
  first ones), or the test would not be exact; so the value may differ from that of all episodes.
- `told_turns`, `blind_turns` (k is null): mean turns used.
- `told_solved_5` and so on, one metric for each told budget (k is null): share of the episodes told
  that budget that are solved within t turns, t = 1, ..., budget. The blind episodes solved within t
  are `avg_at_n` of `pass_at_kt`.

An arm is the mean over its training seeds. Values are null where k exceeds the episodes of a task.

Source:
    Ours. That a shown budget changes behaviour: see arXiv:2511.17006.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from turnscope import estimators
from turnscope.metrics import Settings
from turnscope.metrics._anew import evened, within
from turnscope.metrics._outcomes import (
    Study,
    count_each,
    headline,
    read,
    resampling_plan,
    test_tasks,
)
from turnscope.metrics._rows import bootstrap, joined, p_values, pointwise, rows
from turnscope.metrics._series import Series, series
from turnscope.metrics._totals import ratio, totals


def estimate(tasks: pd.DataFrame, episodes: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Compare told with blind episodes, for every policy and budget that has told ones.

    Args:
        tasks: Rows of table `tasks`.
        episodes: Rows of table `episodes`, all policies of one environment and model.
        settings: Uses `k`, `draws` and `seed`.

    Returns:
        Rows of table `estimates`; none without told episodes.

    Raises:
        ValueError: See `_outcomes.read`; the policies told a budget must share their tasks.
    """
    study = read(tasks, episodes, settings)
    test, whole = test_tasks(tasks), headline(episodes)
    told = episodes.loc[episodes["told"].astype(bool)]
    told = told.loc[told["task_id"].isin(test["task_id"])]
    parts = []
    for budget in sorted(set(told["budget"].tolist())):
        shown = told.loc[told["budget"] == budget]
        chosen = test.loc[test["task_id"].isin(shown["task_id"].unique())]
        hidden = whole.loc[whole["policy"].isin(shown["policy"].unique())]
        units_N, strata_N = resampling_plan(chosen)
        part = replace(study, units_N=units_N, strata_N=strata_N)
        task_ids = list(chosen["task_id"])
        parts += _successes(part, task_ids, shown, hidden, budget)
        parts += _lengths(part, task_ids, shown, hidden, budget)
        parts += _solve_turns(part, task_ids, shown, budget)
    return joined(parts)


def _successes(
    study: Study, task_ids: list[str], shown: pd.DataFrame, hidden: pd.DataFrame, budget: int
) -> Iterator[pd.DataFrame]:
    ks = sorted({1, study.settings.k})
    weights, signs = study.weights(), study.signs()
    for one in _told(shown, task_ids, budget, ks):
        columns = pointwise(one, bootstrap(one, weights), share=True)
        yield rows(study, "told", one, ks, [budget], columns)
    ours = _told(evened(shown, hidden), task_ids, budget, ks)
    cut = within(count_each(evened(hidden, shown), task_ids, study.t_max), budget)
    for one, other in zip(ours, series(cut, estimators.pass_at_k, ks), strict=True):
        gap = one.minus(other)
        columns = pointwise(gap, bootstrap(gap, weights)) | {"p_value": p_values(gap, signs)}
        yield rows(study, "awareness", gap, ks, [budget], columns)


def _told(shown: pd.DataFrame, task_ids: list[str], budget: int, ks: list[int]) -> list[Series]:
    outcomes = within(count_each(shown, task_ids, budget), budget)
    return series(outcomes, estimators.pass_at_k, ks)


def _lengths(
    study: Study, task_ids: list[str], shown: pd.DataFrame, hidden: pd.DataFrame, budget: int
) -> Iterator[pd.DataFrame]:
    weights = study.weights()
    cut = hidden.assign(turns=np.minimum(hidden["turns"].to_numpy(), budget))
    names = sorted(shown["policy"].unique())
    for metric, frame in (("told_turns", shown), ("blind_turns", cut)):
        sums = totals(frame, frame["success"].notna(), frame["turns"], names, task_ids)
        for one in series(sums, ratio, [1]):
            columns = pointwise(one, bootstrap(one, weights))
            yield rows(study, metric, one, [None], [budget], columns)


def _solve_turns(
    study: Study, task_ids: list[str], shown: pd.DataFrame, budget: int
) -> Iterator[pd.DataFrame]:
    weights = study.weights()
    for one in series(count_each(shown, task_ids, budget), ratio, [1]):
        columns = pointwise(one, bootstrap(one, weights), share=True)
        turns = list(range(1, budget + 1))
        yield rows(study, f"told_solved_{budget}", one, [None], turns, columns)
