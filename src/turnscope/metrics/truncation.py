"""Self-test of truncation: episodes cut at T against episodes played anew under T.

For a blind policy both estimate the same Pass@(k,T). They are compared at every smaller budget
under which blind episodes exist, on the tasks that have them, with equally many episodes of both
kinds at each task (the first ones): otherwise the differences would be skewed where nearly
everything is solved, and the sign-flip test would not be exact.

- `truncation`, by policy, k and T: played anew minus cut, paired by task, with the bootstrap
  interval and the sign-flip p-value. `against` is the same policy.
- `truncation_equivalence`: the same difference, with the 90% interval and the p-value of the two
  one-sided tests with the margin of the settings. The two ways are equivalent at 5% where
  p < 0.05: the interval then lies within the margin. A large p of `truncation` alone would not
  show it.

With 50 tasks and nearly everything solved, bootstrap intervals are too short (13% to 16% of those
at k = 8 missed the truth in a simulation, the sign-flip test 5%): use a few hundred tasks.

Source:
    Two one-sided tests: Schuirmann 1987, J. Pharmacokinet. Biopharm. 15.
    Differs: one-sided p-values are shares of bootstrap draws.
"""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from turnscope import estimators, intervals
from turnscope.metrics import Settings
from turnscope.metrics._anew import evened, within
from turnscope.metrics._outcomes import (
    Study,
    count_policies,
    headline,
    read,
    resampling_plan,
    test_tasks,
)
from turnscope.metrics._rows import bootstrap, joined, p_values, pointwise, rows
from turnscope.metrics._series import series


def estimate(tasks: pd.DataFrame, episodes: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Compare cut with fresh episodes, for every policy and every smaller budget.

    Args:
        tasks: Rows of table `tasks`.
        episodes: Rows of table `episodes`, all policies of one environment and model.
        settings: Uses `k`, `draws`, `seed` and `margin`.

    Returns:
        Rows of table `estimates`; none without blind episodes under a smaller budget.

    Raises:
        ValueError: See `_outcomes.read`; the policies of a smaller budget must share their tasks.
    """
    study = read(tasks, episodes, settings)
    test = test_tasks(tasks)
    whole = headline(episodes)
    blind = episodes.loc[~episodes["told"].astype(bool)]
    blind = blind.loc[blind["task_id"].isin(test["task_id"])]
    parts = []
    for budget in sorted(set(blind["budget"].tolist()) - {study.t_max}):
        fresh = blind.loc[blind["budget"] == budget]
        chosen = test.loc[test["task_id"].isin(fresh["task_id"].unique())]
        cut = whole.loc[whole["policy"].isin(fresh["policy"].unique())]
        parts += _compare(study, chosen, fresh, cut, budget)
    return joined(parts)


def _compare(
    study: Study, tasks: pd.DataFrame, fresh: pd.DataFrame, whole: pd.DataFrame, budget: int
) -> Iterator[pd.DataFrame]:
    ks = sorted({1, study.settings.k})
    units_N, strata_N = resampling_plan(tasks)
    part = replace(study, units_N=units_N, strata_N=strata_N)
    weights, signs = part.weights(), part.signs()
    fresh, whole = evened(fresh, whole), evened(whole, fresh)
    task_ids = list(tasks["task_id"])
    anew = within(count_policies(fresh, task_ids, budget), budget)
    cut = within(count_policies(whole, task_ids, study.t_max), budget)
    pairs = zip(
        series(anew, estimators.pass_at_k, ks),
        series(cut, estimators.pass_at_k, ks),
        strict=True,
    )
    for ours, theirs in pairs:
        if ours.policy not in anew:  # an arm's mean says no more than the policies it is made of
            continue
        gap = ours.minus(theirs)
        draws_KTB = bootstrap(gap, weights)
        columns = pointwise(gap, draws_KTB) | {"p_value": p_values(gap, signs)}
        yield rows(study, "truncation", gap, ks, [budget], columns)
        low, high, p_value = intervals.equivalence(draws_KTB, study.settings.margin)
        columns |= {"low": low, "high": high, "p_value": p_value}
        yield rows(study, "truncation_equivalence", gap, ks, [budget], columns)
