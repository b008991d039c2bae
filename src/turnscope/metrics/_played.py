"""Episodes as tables of turns: what happened in each of their turns, and its mean at each task.

Shapes end in N (tasks), E (episodes), R (turns of all episodes), T (turns of one), C (cells).
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope.metrics import Settings
from turnscope.metrics._outcomes import (
    Outcomes,
    Study,
    count_policies,
    only,
    resampling_plan,
    visited,
)
from turnscope.metrics._series import Series, series
from turnscope.metrics._totals import ratio

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Played(NamedTuple):
    """The episodes of all policies."""

    study: Study
    task_ids: list[str]
    """The N test tasks, in order."""
    episodes: pd.DataFrame
    """One row each: `policy`, `task_id`, `sample`, `success` and `turns`."""
    rows: pd.DataFrame
    """Their turns, as in table `turns`."""
    episode_R: Ints
    """Place in `episodes` of each of these turns."""
    turn_R: Ints
    """Number of the turn, from 0."""


def read(tasks: pd.DataFrame, turns: pd.DataFrame, settings: Settings) -> Played | None:
    """Gather turns into episodes and count the solved ones.

    Args:
        tasks: Rows of table `tasks`; those of the test split that were played are used.
        turns: Rows of table `turns`, of one environment and model. The largest number of turns of
            any episode is T_max.
        settings: Options of the metrics.

    Returns:
        The episodes; None if there is no turn.

    Raises:
        ValueError: See `_outcomes.count_policies`; or the turns are of several environments or
            models.
    """
    test = visited(tasks, turns).reset_index(drop=True)
    rows = turns.loc[turns["task_id"].isin(test["task_id"])].reset_index(drop=True)
    if rows.empty:
        return None
    turn_R = rows["turn"].to_numpy(np.int64)
    first_E, episode_R = _episodes(rows)
    length_E = np.bincount(episode_R)
    episodes = rows.loc[first_E, ["policy", "task_id", "sample", "success"]]
    episodes = episodes.assign(turns=length_E).reset_index(drop=True)
    t_max, task_ids = 1 + int(turn_R.max()), list(test["task_id"])
    study = Study(
        only(rows, "env"),
        only(rows, "model"),
        settings,
        *resampling_plan(test),
        t_max,
        count_policies(episodes, task_ids, t_max),
        bound_NT=np.full((len(test), t_max), np.nan),
    )
    return Played(study, task_ids, episodes, rows, episode_R, turn_R)


def _episodes(rows: pd.DataFrame) -> tuple[Ints, Ints]:
    """Number the episodes: a row of each, and the episode of each row."""
    number_R = rows["sample"].to_numpy(np.int64)
    for name in ("task_id", "policy"):
        codes_R, labels = pd.factorize(rows[name])
        number_R = number_R * len(labels) + codes_R
    _, first_E, episode_R = np.unique(number_R, return_index=True, return_inverse=True)
    return first_E, episode_R.ravel()


def surface(played: Played, name: str) -> Floats:
    """Lay a column of `turns` out by episode and turn, shape (E, T); NaN after the last turn."""
    found_ET = np.full((len(played.episodes), played.study.t_max), np.nan)
    found_ET[played.episode_R, played.turn_R] = played.rows[name].to_numpy(np.float64)
    return found_ET


def means(played: Played, amount_EC: Floats) -> list[Series]:
    """Average the episodes of each task, for every policy, `base` first, and then for every arm.

    Episodes in which the environment failed are left out.

    Args:
        played: Result of `read`.
        amount_EC: A quantity of each episode, shape (E, C).

    Returns:
        Series of shape (N, 1, C), NaN where a task has an episode with NaN.
    """
    return series(_sums(played, amount_EC), ratio, [1])


def _sums(played: Played, amount_EC: Floats) -> dict[str, Outcomes]:
    episodes = played.episodes
    place_E = pd.Index(played.task_ids).get_indexer(pd.Index(episodes["task_id"]))
    counts_E = episodes["success"].notna().to_numpy(bool)
    found: dict[str, Outcomes] = {}
    for policy, outcomes in played.study.outcomes.items():
        own_E = counts_E & (episodes["policy"] == policy).to_numpy(bool)
        # in place of the solved episodes stands their sum, which need not be whole
        sums: npt.NDArray[Any] = _by_task(place_E[own_E], amount_EC[own_E], len(played.task_ids))
        found[policy] = Outcomes(outcomes.n_N, sums)
    return found


def _by_task(place_E: Ints, amount_EC: Floats, size: int) -> Floats:
    columns = [np.bincount(place_E, amount_E, size) for amount_E in amount_EC.T]
    return np.stack(columns, axis=1).astype(np.float64)
