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

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope import estimators
from turnscope.metrics import Settings
from turnscope.metrics._anew import Anew, by_budget, evened, within
from turnscope.metrics._outcomes import count_each, read
from turnscope.metrics._rows import bootstrap, joined, p_values, pointwise, rows
from turnscope.metrics._series import Series, series
from turnscope.metrics._totals import ratio, totals

Floats = npt.NDArray[np.float64]


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
    found = by_budget(study, tasks, episodes, episodes["told"].astype(bool))
    return joined(part for one in found for part in _budget(one))


def _budget(one: Anew) -> Iterator[pd.DataFrame]:
    weights = one.study.weights()
    yield from _successes(one, weights)
    yield from _lengths(one, weights)
    yield from _solve_turns(one, weights)


def _successes(told: Anew, weights: Floats) -> Iterator[pd.DataFrame]:
    study, budget = told.study, told.budget
    ks, signs = sorted({1, study.settings.k}), study.signs()
    for one in _told(told, told.fresh, ks):
        columns = pointwise(one, bootstrap(one, weights), share=True)
        yield rows(study, "told", one, ks, [budget], columns)
    ours = _told(told, evened(told.fresh, told.whole), ks)
    cut = count_each(evened(told.whole, told.fresh), told.task_ids, study.t_max)
    theirs = series(within(cut, budget), estimators.pass_at_k, ks)
    for one, other in zip(ours, theirs, strict=True):
        gap = one.minus(other)
        columns = pointwise(gap, bootstrap(gap, weights)) | {"p_value": p_values(gap, signs)}
        yield rows(study, "awareness", gap, ks, [budget], columns)


def _told(told: Anew, episodes: pd.DataFrame, ks: list[int]) -> list[Series]:
    outcomes = count_each(episodes, told.task_ids, told.budget)
    return series(within(outcomes, told.budget), estimators.pass_at_k, ks)


def _lengths(told: Anew, weights: Floats) -> Iterator[pd.DataFrame]:
    cut = told.whole.assign(turns=np.minimum(told.whole["turns"].to_numpy(), told.budget))
    names = sorted(told.fresh["policy"].unique())
    for metric, frame in (("told_turns", told.fresh), ("blind_turns", cut)):
        sums = totals(frame, frame["success"].notna(), frame["turns"], names, told.task_ids)
        for one in series(sums, ratio, [1]):
            columns = pointwise(one, bootstrap(one, weights))
            yield rows(told.study, metric, one, [None], [told.budget], columns)


def _solve_turns(told: Anew, weights: Floats) -> Iterator[pd.DataFrame]:
    turns = list(range(1, told.budget + 1))
    for one in series(count_each(told.fresh, told.task_ids, told.budget), ratio, [1]):
        columns = pointwise(one, bootstrap(one, weights), share=True)
        yield rows(told.study, f"told_solved_{told.budget}", one, [None], turns, columns)
