"""When episodes are solved or lost: hazards by turn, what they add up to, and odds of policies.

An episode is solved at some turn, lost for good at some turn, or still going when the budget ends.
Being lost competes with being solved; it is not censoring. What censors it, estimates how many
would be solved if nothing could be lost, which no policy achieves.

Turns run along the first axis; draws may run along a second one. Shapes end in T (turns), B
(draws).

Source:
    Cumulative incidence: Aalen and Johansen 1978, in discrete time; where nothing but the budget
    censors, it is the share of episodes solved so far. Naive form: Kaplan and Meier 1958.
    Discrete-time logit: Singer and Willett 1993, "It's about time". Common odds ratio of sparse
    strata: Mantel and Haenszel 1959.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

Floats = npt.NDArray[np.float64]

ITERATIONS = 50
"""Most Newton steps; a handful is enough but in odd tables."""
CONVERGED = 1e-6
"""Largest step, log-odds, after which the next would be about its square."""
STRIDE = 2.0
"""Longest step, log-odds: far from the maximum Newton's would overshoot."""


class Counts(NamedTuple):
    """What happened at each turn, as numbers or as shares of all episodes."""

    events: Floats
    at_risk: Floats
    """Episodes that were still going before the turn."""


def at_risk(ended_T: Floats, start: Floats | float = 1.0) -> Floats:
    """Count what is still going before each turn.

    Args:
        ended_T: What ends at each turn, for whatever reason.
        start: What there is before the first one.
    """
    return start - (np.cumsum(ended_T, axis=0) - ended_T)


def hazard(counts: Counts) -> Floats:
    """Divide events by what was at risk; NaN where nothing was."""
    events, risk = counts
    # shares that sum to 1 leave rounding at risk, not episodes
    some = risk > 1e-9 * np.max(risk, axis=0, initial=0.0)
    return np.divide(events, risk, out=np.full(events.shape, np.nan), where=some)


def incidence(hazard_T: Floats, competing_T: Floats | None = None) -> Floats:
    """Accumulate the probability of an event by each turn.

    Args:
        hazard_T: Probability of the event at each turn, of what is still going; NaN where nothing
            is.
        competing_T: The same of the event that precludes it. None censors it instead, which is the
            naive form.

    Returns:
        Probability of the event within 1, 2, ..., T turns.
    """
    event_T = np.nan_to_num(hazard_T)
    other_T = 0.0 if competing_T is None else np.nan_to_num(competing_T)
    after_T = np.cumprod(1.0 - event_T - other_T, axis=0)
    before_T = np.concatenate([np.ones_like(after_T[:1]), after_T[:-1]])
    return np.cumsum(before_T * event_T, axis=0)


def log_odds(one: Counts, other: Counts) -> Floats:
    """Fit logit(hazard) = turn + policy, and return the coefficient of the policy.

    All turns share one odds ratio and each has its own level. Newton's method on the aggregated
    counts; the levels of the turns are eliminated, so all draws are fitted at once.

    Args:
        one: The policy, shape (T,) or (T, B).
        other: The one it is compared with, of the same shape.

    Returns:
        Log-odds ratio, shape () or (B,); NaN where no finite one maximises the likelihood.
    """
    up, down = crossed(one, other)
    finite = (up > 0) & (down > 0)
    events_T, risk_T = one.events + other.events, one.at_risk + other.at_risk
    told_T = (events_T > 0) & (events_T < risk_T) & (one.at_risk > 0) & (other.at_risk > 0)
    told_T &= finite
    rate_T = np.divide(events_T, risk_T, out=np.full(events_T.shape, 0.5), where=told_T)
    slope = np.log(np.divide(up, down, out=np.ones(finite.shape), where=finite))
    share_T = np.divide(one.at_risk, risk_T, out=np.zeros(risk_T.shape), where=told_T)
    level_T = special.logit(rate_T) - slope * share_T
    step = np.full(finite.shape, np.inf)
    for _ in range(ITERATIONS):
        residual_T, weight_T = _score(one, level_T + slope)
        rest_T, rest_weight_T = _score(other, level_T)
        both_T = np.where(told_T, weight_T + rest_weight_T, 1.0)
        pull_T, share_T = residual_T + rest_T, weight_T / both_T
        gradient = np.where(told_T, residual_T - share_T * pull_T, 0.0).sum(axis=0)
        curvature = np.where(told_T, weight_T * (1 - share_T), 0.0).sum(axis=0)
        step = np.divide(gradient, curvature, out=np.zeros(finite.shape), where=curvature > 0)
        step = np.clip(step, -STRIDE, STRIDE)
        move_T = np.where(told_T, (pull_T - weight_T * step) / both_T, 0.0)
        level_T, slope = level_T + np.clip(move_T, -STRIDE, STRIDE), slope + step
        if np.max(np.abs(step), initial=0.0) < CONVERGED:
            break
    return np.where(finite & (np.abs(step) < CONVERGED), slope, np.nan)


def _score(counts: Counts, logit_T: Floats) -> tuple[Floats, Floats]:
    """Return residuals of the events and their binomial variances."""
    rate_T = special.expit(logit_T)
    expected_T = counts.at_risk * rate_T
    return counts.events - expected_T, expected_T * (1 - rate_T)


def crossed(one: Counts, other: Counts) -> tuple[Floats, Floats]:
    """Return the two sums over turns whose ratio is the common odds ratio of Mantel and Haenszel.

    Summed over tasks before they are divided, they compare policies within one turn of one task,
    so neither the difficulty of the tasks that are left nor the turn can pass for a difference.

    Args:
        one: Counts of the policy.
        other: Counts of the one it is compared with, of the same shape.
    """
    both = one.at_risk + other.at_risk
    scale = np.divide(1.0, both, out=np.zeros(both.shape), where=both > 0)
    up = one.events * (other.at_risk - other.events) * scale
    down = other.events * (one.at_risk - one.events) * scale
    return up.sum(axis=0), down.sum(axis=0)
