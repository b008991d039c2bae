"""What must hold of likelihoods that were scored right, whatever the policies.

`martingale` and `episode`: for any two distributions p and q over the same first actions or whole
episodes, E_p[min(1, q/p)] + E_q[max(0, 1 - p/q)] = 1. Nothing in it is unbounded; in the better
known form E_p[q/p] = 1, actions that base says too rarely to be seen may carry nearly all. With p
and q exchanged it is 2 minus the same sum, so one direction says all. It holds of every policy's
score of the other's episodes, of which no other check knows. In the ratio of episodes, what the
environment does cancels. `temperature`: what is sampled at temperature 1, from all tokens, is on
average as surprising as its entropy says.

Three checks are not estimates but facts about the tokens that were used: `sampler`, `signed` and
`itself` are judged by their value, and no task may be more than `WORST` times as far out.

Source:
    The first sum is that of 1 - TV and TV, with TV the total variation distance. Surprise minus
    entropy is a martingale difference, token by token. Both: ours.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from turnscope.metrics._outcomes import Study
from turnscope.metrics._rows import rows
from turnscope.metrics._scored import Quantity, Scored, known, line, shaped
from turnscope.metrics._visits import divided

Floats = npt.NDArray[np.float64]

LEVEL = 0.999
"""Of the intervals that decide: with several checks and policies, few fail by chance."""
SURE = 1e-3
"""What rounding may do, nats."""
ENGINES = 0.02
"""What the sampler's and our log-probabilities may differ by, nats per token."""
SIGNED = 0.002
"""The same, if one of them is always the larger."""
WORST = 5.0
"""What is allowed of all tokens together, times this, is allowed of those of any single task."""
LARGEST = 700.0
"""Beyond this, an exponential overflows."""
FREE = float("inf")


class Check(NamedTuple):
    """What is looked at, and what is allowed."""

    what: str
    least: float
    most: float
    measured: bool = False
    """A fact about the tokens that were used, not an estimate."""


CHECKS = {
    "base_mean": Check("mean LLR of base's episodes, nats; at most 0", -FREE, SURE),
    "trained_mean": Check("mean LLR of the policy's episodes, nats; at least 0", -SURE, FREE),
    "martingale": Check("likelihood ratio of first actions, bounded form; 1", 1 - SURE, 1 + SURE),
    "episode": Check("likelihood ratio of whole episodes, bounded form; 1", 1 - SURE, 1 + SURE),
    "sampler": Check(
        "size of sampler's minus our log-probability, nats a token", -FREE, ENGINES, measured=True
    ),
    "signed": Check(
        "sampler's minus our log-probability, nats a token; 0", -SIGNED, SIGNED, measured=True
    ),
    "itself": Check(
        "size of LLR to itself, scored twice, nats a token; 0", -FREE, SURE, measured=True
    ),
    "temperature": Check("surprise minus entropy of own tokens, nats a token; 0", -SURE, SURE),
}
"""By the end of the metric's name."""


def sanity(study: Study, one: Scored, weights: Floats) -> Iterator[pd.DataFrame]:
    """Yield a row for each check and one that says whether it passed.

    An estimate fails if its interval lies wholly outside of what is allowed, and is open if it has
    none. What was measured has the least and the largest of the tasks in place of an interval.
    """
    quantities = _quantities(one)
    ratio = one.ratio(quantities)
    means, draws = ratio.mean(), ratio.draws(weights)
    names = np.array([quantity.name for quantity in quantities])
    pair = known(one.pair(None), (ratio.counted > 0).any(axis=1))
    for name, check in CHECKS.items():
        here = names == name
        value = means[here].sum()
        if check.measured:
            low, high = _extremes(*(side[:, here] for side in ratio))
            passed = _within(check, value, low, high)
        else:
            units = [len(np.unique(study.units_N[some_N])) for some_N in ratio.counted.T[here] > 0]
            low, high = decisive(value, draws[here].sum(axis=0), min(units))
            passed = np.nan if np.isnan(low) else float(low <= check.most and high >= check.least)
        columns = shaped({"value": value, "low": low, "high": high})
        yield rows(study, f"sanity_{name}", pair, [None], [None], columns)
        columns = shaped({"value": passed})
        yield rows(study, f"sanity_{name}_passed", pair, [None], [None], columns)
    yield line(study, quantities[-1].name, pair, means[-1], draws[-1])


def _extremes(total_N1: Floats, counted_N1: Floats) -> tuple[float, float]:
    """Return the least and the largest of the tasks; NaN if there are none."""
    value_N1 = divided(total_N1, counted_N1)
    found = value_N1[~np.isnan(value_N1)]
    return (float(found.min()), float(found.max())) if len(found) else (np.nan, np.nan)


def _within(check: Check, value: float, low: float, high: float) -> float:
    """Return 1 if what was measured is allowed, 0 if it is not, NaN if nothing was measured."""
    if np.isnan([value, low, high]).any():
        return np.nan
    kept = check.least <= value <= check.most
    return float(kept and WORST * check.least <= low and high <= WORST * check.most)


def _quantities(one: Scored) -> list[Quantity]:
    """List what the checks are made of, those of one name being added, and `llr_first_exp`."""
    base, trained = np.where(one.base_R, 1.0, 0.0), np.where(one.base_R, 0.0, 1.0)
    first, llr, tokens = one.first_R, one.llr_R, one.tokens_R
    whole = one.episode_llr_R
    begun, ended = base * first, trained * first
    ratio = np.exp(np.minimum(llr, LARGEST))
    return [
        Quantity("base_mean", None, base * llr, begun),
        Quantity("trained_mean", None, trained * llr, ended),
        Quantity("martingale", None, begun * _seen(llr), begun),
        Quantity("martingale", None, ended * _unseen(llr), ended),
        Quantity("episode", None, begun * _seen(whole), begun),
        Quantity("episode", None, ended * _unseen(whole), ended),
        Quantity("sampler", None, np.abs(one.sampled_R), tokens),
        Quantity("signed", None, one.sampled_R, tokens),
        Quantity("itself", None, np.abs(one.again_R), tokens),
        Quantity("temperature", None, one.own_R - one.entropy_R, tokens),
        Quantity("llr_first_exp", None, begun * ratio, begun),
    ]


def _seen(llr_R: Floats) -> Floats:
    """Return min(1, q/p)."""
    return np.exp(np.minimum(llr_R, 0.0))


def _unseen(llr_R: Floats) -> Floats:
    """Return max(0, 1 - p/q)."""
    return 1.0 - np.exp(-np.maximum(llr_R, 0.0))


def decisive(value: float, draws_B: Floats, units: int) -> tuple[float, float]:
    """Return the interval that decides a check.

    Args:
        value: Its estimate.
        draws_B: Bootstrap draws of it.
        units: How many were resampled, see `Study`.

    Returns:
        Ends, symmetric about the value: t with a degree of freedom less than there are units, as a
        percentile so far out would rest on single draws. NaN with fewer than two units.
    """
    if units < 2:
        return np.nan, np.nan
    half = special.stdtrit(units - 1, (1 + LEVEL) / 2) * np.sqrt(units / (units - 1))
    spread = half * draws_B.std()
    return float(value - spread), float(value + spread)
