"""Solved sets: which tasks each policy solves at all, and what training gained and lost of them.

A task is in the set of a policy if any of its episodes is solved within T turns. Both policies have
equally many episodes of a task (the first ones, where they had not). A larger number of them would
make larger sets: this is what is reached with these episodes, not what can be reached.

Metrics, at the quarters of T_max (k is null):

- `solved_set`: share of tasks in the set, by policy, from all of its episodes.
- `gained`, `lost`, against `base`: tasks only in the trained policy's set, and only in base's;
  numbers of tasks. `swap`: gained minus lost, with the exact McNemar p-value. Of an arm, which is a
  mean over seeds, and where intervals resample clusters of tasks, the same test is by sign flips
  of these units.
- `srr`, `ndr`, `sds`, `nscr`, against `base`: see `turnscope.boundary.Support`.
- `gained_null` (that of `lost` is the same), `srr_null`, `ndr_null`, `sds_null`: what to expect of
  two policies that are alike, from the episodes of both, relabelled within tasks. Even they swap
  tasks, those that are rarely solved.

An arm's sets are counted seed by seed and averaged, so that it has no more episodes than base.

Source:
    See `turnscope.boundary`.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope import boundary, intervals
from turnscope.arms import seeded
from turnscope.boundary import Sets
from turnscope.metrics import Settings
from turnscope.metrics._anew import evened
from turnscope.metrics._outcomes import (
    BASE,
    Outcomes,
    Study,
    count_each,
    headline,
    read,
    test_tasks,
)
from turnscope.metrics._rows import bootstrap, joined, p_values, pointwise, rows
from turnscope.metrics._series import Series, arms, series

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Compared(NamedTuple):
    """The sets of one policy against base, or the mean over the seeds of an arm, shape (N, T)."""

    sets: Sets
    by_chance: Sets
    series: Series
    """Counts the tasks and episodes."""


def estimate(tasks: pd.DataFrame, episodes: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Compare the set of tasks that each policy solves with that of base.

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
    weights, signs = study.weights(), study.signs()
    whole, task_ids = headline(episodes), list(test_tasks(tasks)["task_id"])
    single = {
        name: _compared(study, name, *_pair(study, whole, name, task_ids))
        for name in study.outcomes
        if name != BASE
    }
    pooled = [
        _mean(arm, [single[name] for name in members])
        for arm, members in arms(list(single)).items()
    ]
    parts = [*_levels(study, weights)]
    for one in (*single.values(), *pooled):
        parts += _rows(study, one, weights, signs)
    return joined(parts)


def _levels(study: Study, weights: Floats) -> Iterator[pd.DataFrame]:
    outcomes = {name: _at(study, one) for name, one in study.outcomes.items()}
    for one in series(outcomes, _any, [1]):
        columns = pointwise(one, bootstrap(one, weights), share=True)
        yield rows(study, "solved_set", one, [None], study.quarters, columns)


def _any(n_N: Ints, c_NT: Ints, ks: object) -> Floats:
    """Say whether any episode of a task is solved, as an estimator of `_series.series`."""
    return np.where(n_N[:, None] > 0, c_NT > 0, np.nan)[:, None, :]


def _at(study: Study, one: Outcomes) -> Outcomes:
    return Outcomes(one.n_N, one.c_NT[:, [turns - 1 for turns in study.quarters]])


def _pair(
    study: Study, whole: pd.DataFrame, name: str, task_ids: list[str]
) -> tuple[Outcomes, Outcomes]:
    """Count the solves of base and of a policy in equally many episodes of each task."""
    pair = study.outcomes[BASE], study.outcomes[name]
    if (pair[0].n_N != pair[1].n_N).any():
        sides = [whole.loc[whole["policy"] == policy] for policy in (BASE, name)]
        cut = [
            evened(sides[0], sides[1].assign(policy=BASE)),
            evened(sides[1], sides[0].assign(policy=name)),
        ]
        counted = count_each(pd.concat(cut), task_ids, study.t_max)
        pair = counted[BASE], counted[name]
    return _at(study, pair[0]), _at(study, pair[1])


def _compared(study: Study, name: str, base: Outcomes, trained: Outcomes) -> Compared:
    some = np.where(trained.n_N > 0, 0.0, np.nan)  # only whether a task has episodes matters
    x_NKT = np.repeat(some, len(study.quarters)).reshape(len(some), 1, -1)
    return Compared(
        boundary.of_tasks(base.c_NT, trained.c_NT),
        boundary.by_chance(trained.n_N, base.c_NT, trained.c_NT),
        Series(name, BASE, x_NKT, trained.n_N, int(bool(seeded(name)))),
    )


def _mean(arm: str, members: list[Compared]) -> Compared:
    x_NKT = np.mean([one.series.x_NKT for one in members], axis=0)
    n_N = np.min([one.series.n_N for one in members], axis=0)
    return Compared(
        Sets(*np.mean([one.sets for one in members], axis=0)),
        Sets(*np.mean([one.by_chance for one in members], axis=0)),
        Series(arm, BASE, x_NKT, n_N, len(members)),
    )


def _rows(study: Study, one: Compared, weights: Floats, signs: Floats) -> Iterator[pd.DataFrame]:
    found, drawn = _measures(one.sets), _measures(one.sets, weights)
    for metric, value_T in found.items():
        low, high = intervals.percentile(drawn[metric])
        columns = {"value": value_T, "low": low, "high": high}
        if metric == "swap":
            columns["p_value"] = _p_values(study, one, signs)
        yield _line(study, metric, one, columns)
    chance = _measures(one.by_chance)
    for metric in ("gained", "srr", "ndr", "sds"):
        yield _line(study, f"{metric}_null", one, {"value": chance[metric]})


def _p_values(study: Study, one: Compared, signs: Floats) -> Floats:
    _, gained, lost = one.sets
    alone = len(np.unique(study.units_N)) == len(study.units_N)
    if alone and one.series.seeds < 2:
        return boundary.mcnemar(gained.sum(axis=0), lost.sum(axis=0))
    return p_values(one.series.replaced((gained - lost)[:, None]), signs)[0]


def _measures(sets: Sets, weights_BN: Floats | None = None) -> dict[str, Floats]:
    """Count the tasks and measure support, shape (T,), or (T, B) with weights."""
    counts = [part.sum(axis=0) if weights_BN is None else part.T @ weights_BN.T for part in sets]
    total = Sets(*counts)
    named = {"gained": total.gained, "lost": total.lost, "swap": total.gained - total.lost}
    return named | boundary.support(total)._asdict()


def _line(study: Study, metric: str, one: Compared, columns: dict[str, Floats]) -> pd.DataFrame:
    surface = {name: value_T[None] for name, value_T in columns.items()}
    return rows(study, metric, one.series, [None], study.quarters, surface)
