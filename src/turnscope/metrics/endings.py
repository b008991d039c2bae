"""How episodes ended: what was played, before anything is estimated from it.

Metrics, by policy at T_max (k is null), from the blind episodes under the largest budget:

- `share_success`, `share_failure`, `share_budget`, `share_tokens`, `share_error`: share of all
  episodes that ended so; they sum to 1. Where an environment failed, no other metric knows.
- `turns`, `tokens`: mean length of the episodes in which the environment did not fail. A task at
  which it always failed has none: column `tasks` counts those that are left.

An arm is the mean over its training seeds.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope.metrics import Settings
from turnscope.metrics._outcomes import Outcomes, headline, read, series, test_tasks
from turnscope.metrics._rows import bootstrap, joined, pointwise, rows
from turnscope.types import StopReason

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LENGTHS = ("turns", "tokens")


def estimate(tasks: pd.DataFrame, episodes: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Estimate how the episodes of every policy and arm ended.

    Args:
        tasks: Rows of table `tasks`.
        episodes: Rows of table `episodes`, all policies of one environment and model.
        settings: Uses `draws` and `seed`.

    Returns:
        Rows of table `estimates`.

    Raises:
        ValueError: See `_outcomes.read`.
    """
    study = read(tasks, episodes, settings)
    weights = study.weights()
    whole = headline(episodes)
    names = list(study.outcomes)
    parts = []
    for metric, counted, amount in _measures(whole):
        totals = _totals(whole, counted, amount, names, list(test_tasks(tasks)["task_id"]))
        for one in series(totals, _ratio, [1]):
            columns = pointwise(one, bootstrap(one, weights), share=metric not in LENGTHS)
            parts.append(rows(study, metric, one, [None], [study.t_max], columns))
    return joined(parts)


def _measures(episodes: pd.DataFrame) -> Iterator[tuple[str, pd.Series, pd.Series]]:
    """Name each measure, with the episodes that count and what each adds to the sum."""
    stop = episodes["stop"]
    for reason in StopReason:
        yield f"share_{reason}", stop.notna(), (stop == reason).astype(int)
    for name in LENGTHS:
        yield name, stop != StopReason.ERROR, episodes[name]


def _totals(
    episodes: pd.DataFrame,
    counted: pd.Series,
    amount: pd.Series,
    policies: Sequence[str],
    task_ids: Sequence[str],
) -> dict[str, Outcomes]:
    """Count and sum up the episodes of every policy at each task."""
    place = pd.Index(list(task_ids)).get_indexer(pd.Index(episodes["task_id"]))
    known = counted.to_numpy(bool) & (place >= 0)
    totals = {}
    for policy in policies:
        chosen = known & (episodes["policy"] == policy).to_numpy(bool)
        n_N = np.bincount(place[chosen], minlength=len(task_ids))
        sum_N = np.zeros(len(task_ids), np.int64)
        np.add.at(sum_N, place[chosen], amount.to_numpy(np.int64)[chosen])
        totals[policy] = Outcomes(n_N, sum_N[:, None])
    return totals


def _ratio(n_N: Ints, sum_NT: Ints, ks: Sequence[int]) -> Floats:
    some_N = np.where(n_N > 0, n_N, np.nan)
    return (sum_NT / some_N[:, None])[:, None, :]
