"""Sums over the episodes of a task, and their mean."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope.metrics._outcomes import Outcomes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def totals(
    episodes: pd.DataFrame,
    counted: pd.Series,
    amount: pd.Series,
    policies: Sequence[str],
    task_ids: Sequence[str],
) -> dict[str, Outcomes]:
    """Count and sum up the episodes of every policy at each task.

    Args:
        episodes: Rows of table `episodes`.
        counted: Which of them count.
        amount: What each adds to the sum, a whole number.
        policies: Whose.
        task_ids: The N tasks, in order.

    Returns:
        By policy, the number of episodes and their sum, in place of the solved ones.
    """
    place = pd.Index(list(task_ids)).get_indexer(pd.Index(episodes["task_id"]))
    known = counted.to_numpy(bool) & (place >= 0)
    found = {}
    for policy in policies:
        chosen = known & (episodes["policy"] == policy).to_numpy(bool)
        n_N = np.bincount(place[chosen], minlength=len(task_ids))
        sum_N = np.zeros(len(task_ids), np.int64)
        np.add.at(sum_N, place[chosen], amount.to_numpy(np.int64)[chosen])
        found[policy] = Outcomes(n_N, sum_N[:, None])
    return found


def ratio(n_N: Ints, sum_NT: Ints, ks: Sequence[int]) -> Floats:
    """Return the mean of each task as an estimator of `_series.series`; NaN without episodes."""
    some_N = np.where(n_N > 0, n_N, np.nan)
    return (sum_NT / some_N[:, None])[:, None, :]
