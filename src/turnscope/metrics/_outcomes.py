"""From episodes to how many of them each policy had solved, task by task and turn by turn.

An episode is solved at its last turn or never. A blind policy does not know its budget, so its
episodes under the largest one also tell what it would have solved under every smaller one.

Source:
    First-passage view: an episode counts at T if its solve turn is at most T. Ours: episodes in
    which the environment failed are left out, so n may differ between tasks.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope import budgets, draws, intervals
from turnscope.metrics import Settings

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BASE = "base"
FEWEST_CLUSTERS = 30
"""With fewer common sources, resampling them gives intervals that are too short."""

log = logging.getLogger(__name__)


class Outcomes(NamedTuple):
    """Episodes of one policy at each task."""

    n_N: Ints
    """Episodes that count, shape (N,)."""
    c_NT: Ints
    """Of these, solved within T = 1, ..., T_max turns, shape (N, T)."""


@dataclass(frozen=True)
class Study:
    """All that is compared: policies on the same test tasks under one largest budget."""

    env: str
    model: str
    settings: Settings
    units_N: Ints
    """What the bootstrap resamples as a whole, shape (N,)."""
    strata_N: Ints
    """Within which stratum, shape (N,)."""
    t_max: int
    """Largest budget, turns."""
    outcomes: dict[str, Outcomes]
    """By policy, `base` first."""
    bound_NT: Floats
    """Highest success probability within T turns; NaN where unknown, shape (N, T)."""

    @property
    def turns(self) -> list[int]:
        """All budgets T = 1, ..., T_max."""
        return list(range(1, self.t_max + 1))

    @property
    def budgets(self) -> list[int]:
        """Budgets of the grid, turns, without repeats."""
        return sorted(set(budgets.grid(self.settings.shares, self.t_max)))

    @property
    def quarters(self) -> list[int]:
        """A quarter, a half, three quarters and all of T_max, turns, without repeats."""
        return sorted(set(budgets.grid(budgets.QUARTERS, self.t_max)))

    def weights(self) -> Floats:
        """Draw the bootstrap samples, the same for every metric and policy."""
        seed = draws.seed(self.settings.seed, "bootstrap", self.env, self.model)
        return intervals.resample(self.units_N, self.strata_N, self.settings.draws, seed)

    def signs(self) -> Floats:
        """Draw the random signs, the same for every metric and policy."""
        seed = draws.seed(self.settings.seed, "signs", self.env, self.model)
        return intervals.signs(self.units_N, self.settings.draws, seed)


def read(tasks: pd.DataFrame, episodes: pd.DataFrame, settings: Settings) -> Study:
    """Count solves in the blind episodes under the largest budget.

    Args:
        tasks: Rows of table `tasks`; the test split is used.
        episodes: Rows of table `episodes` for one environment and one model.
        settings: Options of the metrics.

    Returns:
        The study.

    Raises:
        ValueError: Episodes are of several environments or models, are missing for a policy and
            task, or occur twice; or there is no base policy.
    """
    test = test_tasks(tasks)
    whole = headline(episodes)
    t_max = int(whole["budget"].to_numpy().max())
    repeats = budgets.repeated(budgets.grid(settings.shares, t_max))
    if repeats:
        log.info("budgets that several shares round up to, with their number: %s", repeats)
    return Study(
        only(episodes, "env"),
        only(episodes, "model"),
        settings,
        *resampling_plan(test),
        t_max,
        count_policies(whole, list(test["task_id"]), t_max),
        _bounds(test, t_max),
    )


def test_tasks(tasks: pd.DataFrame) -> pd.DataFrame:
    """Select the test split, numbered from 0."""
    return tasks.loc[tasks["split"] == "test"].reset_index(drop=True)


def visited(tasks: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Select the test tasks that other rows are about."""
    test = test_tasks(tasks)
    return test.loc[test["task_id"].isin(rows["task_id"].unique())]


def without_outcomes(
    test: pd.DataFrame, rows: pd.DataFrame, settings: Settings, t_max: int
) -> Study:
    """Set up a study of single turns, in which no solves are counted.

    Args:
        test: Rows of table `tasks` that count.
        rows: What is estimated from, with the columns `env` and `model`.
        settings: Options of the metrics.
        t_max: Largest budget, turns.

    Raises:
        ValueError: The rows are of several environments or models.
    """
    names = only(rows, "env"), only(rows, "model")
    bound_NT = np.empty((len(test), 0))
    return Study(*names, settings, *resampling_plan(test), t_max, {}, bound_NT)


def headline(episodes: pd.DataFrame) -> pd.DataFrame:
    """Select the blind episodes under the largest budget.

    Raises:
        ValueError: There are none.
    """
    blind = episodes.loc[~episodes["told"].astype(bool)]
    if blind.empty:
        raise ValueError("no blind episodes: only they tell about budgets below their own")
    return blind.loc[blind["budget"] == blind["budget"].max()]


def count_policies(
    episodes: pd.DataFrame, task_ids: Sequence[str], t_max: int, *, errors_failed: bool = False
) -> dict[str, Outcomes]:
    """Count the solves of every policy, `base` first.

    Args:
        episodes: Rows of table `episodes` under one budget.
        task_ids: The N tasks that count, in order.
        t_max: That budget, turns.
        errors_failed: Count episodes in which the environment failed as unsolved ones, instead of
            leaving them out.

    Returns:
        Outcomes by policy.

    Raises:
        ValueError: A policy has no episode at some task, or has one twice; `base` is missing.
    """
    names = set(episodes["policy"].unique())
    if BASE not in names:
        raise ValueError(f"no episodes of policy {BASE!r}; found: {', '.join(sorted(names))}")
    return count_each(episodes, task_ids, t_max, errors_failed=errors_failed)


def count_each(
    episodes: pd.DataFrame, task_ids: Sequence[str], t_max: int, *, errors_failed: bool = False
) -> dict[str, Outcomes]:
    """Count the solves of those policies that there are, as `count_policies`; `base` first."""
    names = sorted(episodes["policy"].unique(), key=lambda name: (name != BASE, name))
    return {
        name: _count(name, episodes.loc[episodes["policy"] == name], task_ids, t_max, errors_failed)
        for name in names
    }


def _count(
    policy: str, episodes: pd.DataFrame, task_ids: Sequence[str], t_max: int, errors_failed: bool
) -> Outcomes:
    place = pd.Index(list(task_ids)).get_indexer(pd.Index(episodes["task_id"]))
    episodes, place = episodes.loc[place >= 0], place[place >= 0]
    if episodes.duplicated(["task_id", "sample"]).any():
        raise ValueError(f"policy {policy}: some episodes occur twice under budget {t_max}")
    size = len(task_ids)
    absent = np.flatnonzero(np.bincount(place, minlength=size) == 0)
    if len(absent):
        raise ValueError(
            f"policy {policy}: {len(absent)} of {size} test tasks have no episodes under "
            f"budget {t_max}, such as {task_ids[absent[0]]!r}; sample them"
        )
    success = episodes["success"].astype("boolean")
    counts = np.full(len(episodes), True) if errors_failed else success.notna().to_numpy()
    solved = success.fillna(False).to_numpy(bool)
    turn = episodes["turns"].to_numpy(np.int64)
    late = solved & ((turn < 1) | (turn > t_max))
    if late.any():
        raise ValueError(f"policy {policy}: solved at a turn outside 1 to {t_max}")
    cells = place[solved] * t_max + turn[solved] - 1
    solves_NT = np.bincount(cells, minlength=size * t_max).reshape(size, t_max)
    return Outcomes(np.bincount(place[counts], minlength=size), solves_NT.cumsum(axis=1))


def resampling_plan(tasks: pd.DataFrame) -> tuple[Ints, Ints]:
    """Decide what the bootstrap resamples, and within which strata.

    Tasks within strata; or, with at least 30 clusters of several tasks, clusters, and then within
    strata only if no cluster spans two.

    Args:
        tasks: Rows of table `tasks`, N of them.

    Returns:
        Labels of units and of strata, each of shape (N,).
    """
    strata_N = pd.factorize(tasks["stratum"], sort=True)[0].astype(np.int64)
    sizes = tasks["cluster"].value_counts()
    if (sizes > 1).sum() < FEWEST_CLUSTERS:
        return np.arange(len(tasks)), strata_N
    pairs = tasks[["cluster", "stratum"]].drop_duplicates()
    if len(pairs) > len(sizes):
        strata_N = np.zeros(len(tasks), np.int64)
    return pd.factorize(tasks["cluster"], sort=True)[0].astype(np.int64), strata_N


def _bounds(tasks: pd.DataFrame, t_max: int) -> Floats:
    bound_NT = np.full((len(tasks), t_max), np.nan)
    for row, (task_id, known) in enumerate(zip(tasks["task_id"], tasks["bound"], strict=True)):
        if known is None or np.ndim(known) == 0:
            continue
        if len(known) < t_max:
            raise ValueError(f"task {task_id}: bound for {len(known)} turns, needed: {t_max}")
        bound_NT[row] = known[:t_max]
    return bound_NT


def only(frame: pd.DataFrame, column: str) -> str:
    """Return the only value of a column.

    Raises:
        ValueError: There are several.
    """
    values = frame[column].unique()
    if len(values) != 1:
        raise ValueError(f"episodes of one {column} expected, found: {', '.join(sorted(values))}")
    return str(values[0])
