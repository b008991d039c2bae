"""From how many episodes were solved to one quantity of every policy and every arm, task by task.

Source:
    See `turnscope.estimators`. An arm is the mean over its training seeds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from turnscope.arms import seeded
from turnscope.metrics._outcomes import Outcomes, Study

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Estimator = Callable[[Ints, Ints, Sequence[int]], Floats]


@dataclass(frozen=True)
class Series:
    """One quantity of every task: what a policy achieves, or by how much it differs."""

    policy: str
    against: str | None
    x_NKT: Floats
    """Its value, shape (N, K, T); NaN where it is undefined."""
    n_N: Ints
    """Episodes of each task behind it: the fewest of any policy that entered, shape (N,)."""
    seeds: int
    """Training seeds that entered."""

    def minus(self, other: "Series") -> "Series":
        """Subtract another policy, task by task."""
        x_NKT, n_N = self.x_NKT - other.x_NKT, np.minimum(self.n_N, other.n_N)
        return replace(self, against=other.policy, x_NKT=x_NKT, n_N=n_N)

    def replaced(self, x_NKT: Floats) -> "Series":
        """Return another quantity of the same policies."""
        return replace(self, x_NKT=x_NKT)


def arms(policies: Sequence[str]) -> dict[str, list[str]]:
    """Group policies that differ only in their training seed: arm to policies, sorted."""
    groups: dict[str, list[str]] = {}
    for policy in sorted(policies):
        if one := seeded(policy):
            groups.setdefault(one.arm, []).append(policy)
    return dict(sorted(groups.items()))


def series(outcomes: dict[str, Outcomes], estimator: Estimator, ks: Sequence[int]) -> list[Series]:
    """Estimate a quantity for every policy, and for every arm as its mean over seeds, by task.

    Args:
        outcomes: By policy, `base` first.
        estimator: A function of `turnscope.estimators`.
        ks: Values of k.

    Returns:
        One series for each policy, then one for each arm. An arm has no value at a task where one
        of its seeds has none.
    """
    single = {
        name: Series(name, None, estimator(n_N, c_NT, ks), n_N, int(bool(seeded(name))))
        for name, (n_N, c_NT) in outcomes.items()
    }
    means = [
        Series(
            arm,
            None,
            np.mean([single[name].x_NKT for name in members], axis=0),
            np.min([single[name].n_N for name in members], axis=0),
            len(members),
        )
        for arm, members in arms(list(outcomes)).items()
    ]
    return [*single.values(), *means]


def differences(levels: Sequence[Series]) -> list[Series]:
    """Subtract the first series, the base policy, from every other."""
    return [other.minus(levels[0]) for other in levels[1:]]


def area(one: Series) -> Series:
    """Average over all budgets T = 1, ..., T_max, shape (N, K, 1)."""
    return one.replaced(one.x_NKT.mean(axis=2, keepdims=True))


def bound(study: Study, ks: Sequence[int]) -> Series | None:
    """Return the structural bound of Pass@(k,T), 1 - (1 - p*_T)^k; None if no task has one."""
    if np.isnan(study.bound_NT).all():
        return None
    x_NKT = 1.0 - (1.0 - study.bound_NT[:, None, :]) ** np.array(ks)[:, None]
    return Series("bound", None, x_NKT, np.zeros(len(x_NKT), np.int64), 0)
