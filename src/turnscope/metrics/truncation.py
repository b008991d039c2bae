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

import pandas as pd

from turnscope import estimators, intervals
from turnscope.metrics import Settings
from turnscope.metrics._anew import Anew, by_budget, evened, within
from turnscope.metrics._outcomes import count_policies, read
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
    smaller = ~episodes["told"].astype(bool) & (episodes["budget"] != study.t_max)
    found = by_budget(study, tasks, episodes, smaller)
    return joined(part for one in found for part in _compare(one))


def _compare(one: Anew) -> Iterator[pd.DataFrame]:
    study, budget = one.study, one.budget
    ks = sorted({1, study.settings.k})
    weights, signs = study.weights(), study.signs()
    fresh, whole = evened(one.fresh, one.whole), evened(one.whole, one.fresh)
    anew = within(count_policies(fresh, one.task_ids, budget), budget)
    cut = within(count_policies(whole, one.task_ids, study.t_max), budget)
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
