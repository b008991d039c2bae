"""Trained policies heated until they are as undecided as base: is breadth a matter of temperature?

Training makes policies decided, and a decided policy gains less from many attempts. So it is also
played at the temperature at which its entropy per token is base's. Rows are the blind episodes
under T_max of base and the trained policies, and after them those of the heated ones, which have
the same names and another temperature than base, or, where theirs is base's, the same numbers.

Metrics, for all trained policies, by k up to the episodes of a task and T = 1, ..., T_max:

- `heated_pass_at_k`: Pass@(k,T) of the heated policy.
- `heated_gap`, against `base`: heated minus base, paired by task, with the simultaneous bands.
- `heated_change`, against the policy itself: heated minus not heated.
- `heated_temperature` (k and T null): at what temperature; of an arm the mean of its seeds.

An arm is the mean over its training seeds. Base has more episodes of a task than a heated policy.
As Pass@k is unbiased for any number of them, differences are too.

Source:
    Comparison at equal entropy: Yue et al. 2025, arXiv:2504.13837.
    Differs: entropies are matched on the same tokens, not on each policy's own.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope import estimators
from turnscope.metrics import Settings
from turnscope.metrics._outcomes import (
    BASE,
    Study,
    count_each,
    headline,
    read,
    test_tasks,
)
from turnscope.metrics._rows import (
    Sampled,
    banded,
    bootstrap,
    bootstrap_gap,
    joined,
    pointwise,
    rows,
)
from turnscope.metrics._series import Series, arms, series

SOURCE = "heated"

Floats = npt.NDArray[np.float64]


def estimate(tasks: pd.DataFrame, episodes: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Compare heated policies with base, and with themselves.

    Args:
        tasks: Rows of table `tasks`.
        episodes: Rows of table `episodes`, of one environment and model.
        settings: Uses `ks`, `k`, `draws` and `seed`.

    Returns:
        Rows of table `estimates`; none if there is only base.

    Raises:
        ValueError: See `_outcomes.read` and `heated`.
    """
    hot = heated(episodes)
    if not hot.any():
        return joined([])
    fresh = headline(episodes.loc[hot])
    study = read(tasks, episodes.loc[~hot], settings)
    outcomes = count_each(fresh, list(test_tasks(tasks)["task_id"]), study.t_max)
    most = max(int(one.n_N.max()) for one in outcomes.values())
    ks = [k for k in settings.all_ks if k <= most]
    weights = study.weights()
    colds = {one.policy: one for one in series(study.outcomes, estimators.pass_at_k, ks)}
    base = Sampled(colds[BASE], bootstrap(colds[BASE], weights))
    temperatures = _temperatures(fresh)
    parts = []
    for one in series(outcomes, estimators.pass_at_k, ks):
        parts += _successes(study, ks, one, colds[one.policy], base, weights)
        last = one.replaced(one.x_NKT[:, :1, -1:])
        columns = {"value": np.full((1, 1), temperatures[one.policy])}
        parts.append(rows(study, "heated_temperature", last, [None], [None], columns))
    return joined(parts)


def heated(episodes: pd.DataFrame) -> pd.Series:
    """Say which episodes were played at the temperature that makes a policy as random as base.

    Where this is the temperature of base, an episode that occurs twice is heated the second time.

    Raises:
        ValueError: Those of base are of several temperatures, or there are none; or a policy has
            no heated episodes.
    """
    known = sorted(set(episodes.loc[episodes["policy"] == BASE, "temperature"].tolist()))
    if len(known) != 1:
        raise ValueError(f"temperatures of base: {known}; there must be one")
    same = ["policy", "task_id", "sample", "budget", "told", "temperature"]
    trained = episodes["policy"] != BASE
    hot = (episodes["temperature"] != known[0]) | (trained & episodes.duplicated(same))
    if left := sorted(set(episodes.loc[trained, "policy"]) - set(episodes.loc[hot, "policy"])):
        raise ValueError(f"policy {left[0]}: no heated episodes; every policy but base needs them")
    return hot


def _successes(
    study: Study, ks: list[int], one: Series, cold: Series, base: Sampled, weights: Floats
) -> Iterator[pd.DataFrame]:
    level = Sampled(one, bootstrap(one, weights))
    columns = pointwise(one, level.draws_KTB, share=True)
    yield rows(study, "heated_pass_at_k", one, ks, study.turns, columns)
    gap = one.minus(base.series)
    columns = banded(gap, bootstrap_gap(gap, level, base, weights))
    yield rows(study, "heated_gap", gap, ks, study.turns, columns)
    change = one.minus(cold)
    columns = pointwise(change, bootstrap(change, weights))
    yield rows(study, "heated_change", change, ks, study.turns, columns)


def _temperatures(fresh: pd.DataFrame) -> dict[str, float]:
    """Return the temperature of each policy, and the mean of each arm."""
    found = {str(name): float(own.iloc[0]) for name, own in fresh.groupby("policy")["temperature"]}
    means = {
        arm: float(np.mean([found[name] for name in members]))
        for arm, members in arms(list(found)).items()
    }
    return found | means
