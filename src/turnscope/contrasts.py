"""Contrasts of two policies in matched states, and what they show if there is no difference.

In each of S states base and a trained policy act G times each, and every action has a quality
between 0 and 1. All functions work state by state and are vectorised. A missing action is NaN, and
so is what cannot be said of a state.

The share of states in which the trained policy is better has no fixed null: it is a half less half
of the ties, and how many states tie depends on the qualities and on G. Hence `relabelled`.

Shapes end in S (states), G (actions), R (relabellings), K (kinds of actions), M (posterior draws).

Source:
    Probability of superiority: Mann and Whitney 1947. Permutation null: Fisher 1935. Prior of half
    a count: Jeffreys 1946. Ours: the naive choice of states, and what identical policies then show.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

SURE = 0.9
"""A class is assigned to a state if its posterior probability is above this."""
POOREST = 0.25
"""Part of the states in which the naive protocol calls base's own actions poor."""
NOISE = 1e-9
"""Qualities that differ by no more than this are the same."""


class Relabelled(NamedTuple):
    """Mean qualities after the 2G actions of each state were dealt out at random, shape (S, R)."""

    base: Floats
    trained: Floats


def gap(base_SG: Floats, trained_SG: Floats) -> Floats:
    """Return the difference of mean qualities, trained minus base, shape (S,)."""
    return mean(trained_SG) - mean(base_SG)


def mean(quality_SG: Floats) -> Floats:
    """Return the mean quality of the actions there are, shape (S,)."""
    known = ~np.isnan(quality_SG)
    count = known.sum(axis=-1)
    total = np.where(known, quality_SG, 0.0).sum(axis=-1)
    return np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)


def outcomes(gap_x: Floats, tie: float) -> Floats:
    """Class differences of means.

    Args:
        gap_x: Differences, any shape.
        tie: Largest one that is a tie, >= 0.

    Returns:
        1 at better, tie or worse and 0 at the others, shape (..., 3).
    """
    better, worse = gap_x > tie + NOISE, gap_x < -tie - NOISE
    found = np.stack([better, ~(better | worse), worse], axis=-1).astype(float)
    found[np.isnan(gap_x)] = np.nan
    return found


def win(base_SG: Floats, trained_SG: Floats) -> Floats:
    """Estimate without bias the probability that an action of the trained policy is the better one.

    Args:
        base_SG: Qualities of base's actions.
        trained_SG: Qualities of the trained policy's actions.

    Returns:
        Share of all pairs of actions, equal ones counting half, shape (S,).
    """
    step_SGG = trained_SG[:, :, None] - base_SG[:, None, :]
    score_SGG = np.where(np.abs(step_SGG) <= NOISE, 0.5, (step_SGG > 0).astype(float))
    score_SGG[np.isnan(step_SGG)] = np.nan
    return mean(score_SGG.reshape(len(base_SG), -1))


def optimal(base_SG: Floats, trained_SG: Floats, best_S: Floats) -> Floats:
    """Return the difference in how often an action is as good as the best one, shape (S,)."""

    def hits(quality_SG: Floats) -> Floats:
        hit_SG = (quality_SG >= best_S[:, None] - NOISE).astype(float)
        return mean(np.where(np.isnan(quality_SG) | np.isnan(best_S)[:, None], np.nan, hit_SG))

    return hits(trained_SG) - hits(base_SG)


def relabelled(
    base_SG: Floats, trained_SG: Floats, relabellings: int, rng: np.random.Generator
) -> Relabelled:
    """Deal the actions of each state out anew: what identical policies with these actions show.

    Args:
        base_SG: Qualities of base's actions.
        trained_SG: Qualities of the trained policy's actions.
        relabellings: R, >= 1.
        rng: Where the randomness comes from.

    Returns:
        Mean qualities of both sides; each side gets as many actions as it had.
    """
    both = np.concatenate([base_SG, trained_SG], axis=1)
    rank = rng.random((len(both), relabellings, both.shape[1]))
    rank += np.isnan(both)[:, None, :]  # what is missing is dealt out last
    dealt = np.take_along_axis(both[:, None, :], rank.argsort(axis=2), axis=2)
    place = np.arange(both.shape[1])
    bases = (~np.isnan(base_SG)).sum(axis=1)[:, None, None]
    return Relabelled(
        mean(np.where(place < bases, dealt, np.nan)),
        mean(np.where(place >= bases, dealt, np.nan)),
    )


def posterior(
    base_SG: Floats,
    trained_SG: Floats,
    best_S: Floats,
    draws: int,
    rng: np.random.Generator,
    tie: float,
) -> Floats:
    """Estimate how probable it is that the true means differ, of a few kinds of actions.

    The kinds are the qualities seen in the state, and that of its best action. How often a policy
    takes each is drawn from a Dirichlet posterior, whose prior is half a count for each kind. Where
    only one is known, another is taken to be worth 0: all actions were alike, but had there been
    more, some might not be.

    What neither policy did in the 2G samples has no prior mass, unless it is the best action. So
    the posterior is about the actions that were seen. An action of another quality that only one
    policy takes, with probability q, stays unseen with probability (1 - q)^G, 0.19 for q = 0.1 and
    G = 16. It can move that policy's true mean by up to q, and this is then not in doubt.

    Args:
        base_SG: Qualities of base's actions.
        trained_SG: Qualities of the trained policy's actions.
        best_S: Quality of the best action; NaN if unknown.
        draws: M, >= 1.
        rng: Where the randomness comes from.
        tie: Largest difference that is a tie, >= 0.

    Returns:
        Probability of better, tie and worse, shape (S, 3).
    """
    worth_SK, base_SK, trained_SK = _kinds(base_SG, trained_SG, best_S)
    prior_SK = np.where(np.isnan(worth_SK), 0.0, 0.5)
    worth_SK = np.nan_to_num(worth_SK)

    def drawn(count_SK: Floats) -> Floats:
        share_MSK = rng.standard_gamma(count_SK + prior_SK, (draws, *worth_SK.shape))
        return (share_MSK * worth_SK).sum(axis=2) / share_MSK.sum(axis=2)

    found = outcomes(drawn(trained_SK) - drawn(base_SK), tie).mean(axis=0)
    found[(base_SK.sum(axis=1) == 0) | (trained_SK.sum(axis=1) == 0)] = np.nan
    return found


def _kinds(base_SG: Floats, trained_SG: Floats, best_S: Floats) -> tuple[Floats, Floats, Floats]:
    """Count actions by quality: worth of each kind (NaN: none such), base's and the other's."""
    states, actions = base_SG.shape
    every = np.concatenate([base_SG, trained_SG, best_S[:, None]], axis=1)
    order = every.argsort(axis=1)
    ordered = np.take_along_axis(every, order, axis=1)
    kind = np.zeros(every.shape, np.int64)
    kind[:, 1:] = np.cumsum(np.diff(ordered, axis=1) > NOISE, axis=1)
    size = max(2, int(kind.max(initial=0)) + 1)
    known = ~np.isnan(ordered)
    cell = size * np.arange(states)[:, None] + kind
    worth_SK = np.full((states, size), np.nan)
    worth_SK.flat[cell[known]] = ordered[known]
    worth_SK[np.isnan(worth_SK[:, 1]), 1] = 0.0

    def counted(mine: Bools) -> Floats:
        found = np.bincount(cell[known & mine], minlength=states * size)
        return found.reshape(states, size).astype(float)

    trained = (order >= actions) & (order < every.shape[1] - 1)
    return worth_SK, counted(order < actions), counted(trained)


def classes(posterior_S3: Floats) -> Floats:
    """Assign states to better, tie or worse where that is sure, else to none of them.

    Args:
        posterior_S3: Result of `posterior`.

    Returns:
        1 at better, tie, worse or undetermined and 0 at the others, shape (S, 4).
    """
    sure = posterior_S3 > SURE
    found = np.column_stack([sure, ~sure.any(axis=1)]).astype(float)
    found[np.isnan(posterior_S3).any(axis=1)] = np.nan
    return found


def moments(x_S: Floats, y_S: Floats) -> Floats:
    """Return what the sums of `slope` are made of, shape (S, 5); zeros where y is NaN."""
    known = ~np.isnan(y_S)
    x, y = np.where(known, x_S, 0.0), np.where(known, y_S, 0.0)
    return np.stack([known.astype(float), x, y, x * x, x * y], axis=-1)


def slope(moments_x5: Floats) -> Floats:
    """Return the least-squares slope of y on x; NaN where x does not vary.

    Args:
        moments_x5: Sums of `moments` over states, shape (..., 5).
    """
    count, x, y, xx, xy = np.moveaxis(moments_x5, -1, 0)
    spread = count * xx - x * x
    flat = spread <= NOISE * np.maximum(count, 1.0) ** 2
    return np.divide(count * xy - x * y, spread, out=np.full(spread.shape, np.nan), where=~flat)


def poorest(base_Sx: Floats, best_S: Floats) -> Bools:
    """Choose states by how poor base's own actions are there, which is the naive protocol's trap.

    What was unlucky for base is called an error of it, and the same actions are then compared. With
    16 actions that are good or bad, and probabilities of good ones spread as Beta(1, 1), Beta(2, 2)
    or Beta(1/2, 1/2), an identical policy then looks better in 0.64, 0.68 or 0.66 of the states
    that do not tie.

    Args:
        base_Sx: Mean quality of the very actions that are compared, shape (S,) or (S, R).
        best_S: Quality of the best action; where it is NaN, the mean quality itself must be poor.

    Returns:
        Whether the mean falls short of the best by as much as in the poorest quarter of states.
    """
    best_Sx = np.nan_to_num(best_S).reshape(-1, *[1] * (base_Sx.ndim - 1))
    short_Sx = base_Sx - best_Sx
    if not np.isfinite(short_Sx).any():
        return np.zeros(short_Sx.shape, bool)
    return short_Sx <= np.nanquantile(short_Sx, POOREST, axis=0) + NOISE
