"""Sets of solved tasks before and after training: what was kept, gained and lost.

With A the tasks that base solves at least once and B those that the trained policy does:
kept = |A and B|, gained = |B minus A|, lost = |A minus B|. Both sets are those of finitely many
episodes, so two samples of one policy differ too; `by_chance` says by how much.

Shapes end in N (tasks).

Source:
    Swaps and their test: McNemar 1947, in its exact form, a binomial test of the tasks that differ.
    Support measures: Wu et al. 2025, "The Invisible Leash?", arXiv:2507.14843.
    Differs: their support holds single solutions of a task, ours holds whole tasks.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from turnscope import estimators

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer]


class Sets(NamedTuple):
    """How many tasks both policies solve, only the trained one, and only base."""

    kept: Floats
    gained: Floats
    lost: Floats


class Support(NamedTuple):
    """How the set of solved tasks changed; NaN where a denominator is 0."""

    srr: Floats
    """Support retention rate: share of what base solves that the trained policy solves too."""
    ndr: Floats
    """Net discovery rate: share of what the trained policy solves that base does not."""
    sds: Floats
    """Support dynamic score: harmonic mean of the two."""
    nscr: Floats
    """Net support change rate: gained less lost, as a share of what either solves."""


def of_tasks(base_NT: Ints, trained_NT: Ints) -> Sets:
    """Say of each task whether it is kept, gained or lost.

    Args:
        base_NT: Episodes of base that are solved within T turns, shape (N, T).
        trained_NT: The same of the trained policy.

    Returns:
        1 or 0 each, shape (N, T).
    """
    before, after = base_NT > 0, trained_NT > 0
    parts = before & after, after & ~before, before & ~after
    return Sets(*(part.astype(np.float64) for part in parts))


def by_chance(n_N: Ints, base_NT: Ints, trained_NT: Ints) -> Sets:
    """Expect the sets if the two policies were alike: their 2n episodes of a task are relabelled.

    Args:
        n_N: Episodes of each task, of each policy, shape (N,).
        base_NT: Episodes of base that are solved within T turns, shape (N, T).
        trained_NT: The same of the trained policy.

    Returns:
        Probabilities of each task, shape (N, T); gained and lost are equal.
    """
    both_NT = base_NT + trained_NT
    none_NT = np.empty(both_NT.shape)
    for n in np.unique(n_N):
        rows = n_N == n
        none_NT[rows] = estimators.all_fail_table(2 * int(n), int(n))[both_NT[rows], int(n)]
    swapped_NT = np.where(both_NT > 0, none_NT, 0.0)  # the n episodes of one side hold no solve
    return Sets(np.where(both_NT > 0, 1 - 2 * none_NT, 0.0), swapped_NT, swapped_NT)


def support(sets: Sets) -> Support:
    """Measure how support changed, from numbers of tasks of any shape."""
    kept, gained, lost = sets
    srr = _divided(kept, kept + lost)
    ndr = _divided(gained, kept + gained)
    return Support(
        srr, ndr, _divided(2 * srr * ndr, srr + ndr), _divided(gained - lost, kept + gained + lost)
    )


def mcnemar(gained: npt.ArrayLike, lost: npt.ArrayLike) -> Floats:
    """Test whether gains and losses are equally likely.

    Args:
        gained: Tasks that only the trained policy solves.
        lost: Tasks that only base solves.

    Returns:
        Exact two-sided p-values; 1 where nothing differs.
    """
    more, fewer = np.maximum(gained, lost), np.minimum(gained, lost)
    return np.minimum(1.0, 2.0 * special.bdtr(fewer, np.asarray(more + fewer, np.int64), 0.5))


def _divided(part: Floats, whole: Floats) -> Floats:
    shape = np.broadcast_shapes(np.shape(part), np.shape(whole))
    return np.divide(part, whole, out=np.full(shape, np.nan), where=whole > 0)
