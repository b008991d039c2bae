"""Episodes played anew under a smaller budget, beside those of the largest one cut there."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from turnscope.metrics._outcomes import Outcomes, Study, headline, resampling_plan, test_tasks


class Anew(NamedTuple):
    """Episodes played anew under one budget, and what they stand beside."""

    budget: int
    study: Study
    """The study, with the tasks that have such episodes."""
    task_ids: list[str]
    """These tasks, in order."""
    fresh: pd.DataFrame
    """The episodes."""
    whole: pd.DataFrame
    """Blind episodes under T_max of the same policies."""


def by_budget(
    study: Study, tasks: pd.DataFrame, episodes: pd.DataFrame, anew: pd.Series
) -> Iterator[Anew]:
    """Yield the episodes played anew, budget by budget, smallest first.

    Args:
        study: Result of `_outcomes.read`.
        tasks: Rows of table `tasks`.
        episodes: Rows of table `episodes`, all policies of one environment and model.
        anew: Which of them were played anew.
    """
    test, whole = test_tasks(tasks), headline(episodes)
    fresh = episodes.loc[anew & episodes["task_id"].isin(test["task_id"])]
    for budget, part in fresh.groupby("budget"):
        chosen = test.loc[test["task_id"].isin(part["task_id"].unique())]
        units_N, strata_N = resampling_plan(chosen)
        yield Anew(
            int(str(budget)),
            replace(study, units_N=units_N, strata_N=strata_N),
            list(chosen["task_id"]),
            part,
            whole.loc[whole["policy"].isin(part["policy"].unique())],
        )


def evened(episodes: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Keep, at each policy and task, no more of the episodes that count than others count.

    The first ones are kept. With equally many on both sides, Pass@k of the same policy has the
    same law on both, so that differences are symmetric about 0 and the sign-flip test is exact.
    """
    key = ["policy", "task_id"]
    limit = others.loc[others["success"].notna()].value_counts(key).to_frame("limit")
    ordered = episodes.sort_values([*key, "sample"])
    counts = ordered["success"].notna()
    place = counts.groupby([ordered[name] for name in key]).cumsum()
    most = ordered.join(limit, on=key)["limit"].fillna(0)
    return ordered.loc[~counts | (place <= most)]


def within(outcomes: dict[str, Outcomes], budget: int) -> dict[str, Outcomes]:
    """Select the solves within one budget, shape (N, 1)."""
    return {
        policy: Outcomes(n_N, c_NT[:, budget - 1 : budget])
        for policy, (n_N, c_NT) in outcomes.items()
    }
