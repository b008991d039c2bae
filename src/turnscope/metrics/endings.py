"""How episodes ended: what was played, before anything is estimated from it.

Metrics, by policy at T_max (k is null), from the blind episodes under the largest budget:

- `share_success`, `share_failure`, `share_budget`, `share_tokens`, `share_error`: share of all
  episodes that ended so; they sum to 1. Where an environment failed, no other metric knows.
- `turns`, `tokens`, `invalid`: mean number of turns, of sampled tokens, and of turns whose action
  could not be parsed, in the episodes in which the environment did not fail. A task at which it
  always failed has none: column `tasks` counts those that are left.

An arm is the mean over its training seeds.
"""

from collections.abc import Iterator

import pandas as pd

from turnscope.metrics import Settings
from turnscope.metrics._outcomes import headline, read, test_tasks
from turnscope.metrics._rows import bootstrap, joined, pointwise, rows
from turnscope.metrics._series import series
from turnscope.metrics._totals import ratio, totals
from turnscope.types import StopReason

LENGTHS = ("turns", "tokens", "invalid")


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
        sums = totals(whole, counted, amount, names, list(test_tasks(tasks)["task_id"]))
        for one in series(sums, ratio, [1]):
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
