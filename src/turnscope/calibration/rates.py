"""How often something was found over many studies, beside how often it should have been.

Source:
    Exact binomial test and interval: Clopper and Pearson 1934.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from turnscope.calibration.families import LEVEL, MIX
from turnscope.calibration.planted import Planted, Rule
from turnscope.calibration.scenarios import ARMS

Floats = npt.NDArray[np.float64]

NORMALS = 4000
"""Studies drawn to predict a power that is no integral of one variable."""
SEEDS = ARMS[MIX]
HELD = 0.95
"""Of intervals over seeds."""
RESAMPLES = 100
"""Bootstrap samples of studies, for the error of a predicted power."""


def counted(kind: str, name: str, found: Sequence[bool], families: int) -> dict[str, Any]:
    """Test that an effect that is not there is found in at most 5% of studies.

    Args:
        kind: `null`, or `naive`.
        name: The family.
        found: Whether it was found, study by study.
        families: How many are tested together.

    Returns:
        A record of table `calibration`.
    """
    p_value = float(stats.binom.sf(sum(found) - 1, len(found), LEVEL))
    return _record(kind, name, found, LEVEL, None, p_value, families)


def compared(
    planted: Planted,
    found: Sequence[bool],
    rules: Sequence[Rule],
    truth: Sequence[float] | None,
    families: int,
) -> dict[str, Any]:
    """Test that an effect is found as often as the spread of the design predicts.

    The prediction is that of normal estimates around the truth with the spread over the studies,
    and of margins as they were on average. Its own error, and that it is made from the same
    studies, is allowed for by resampling studies.

    Args:
        planted: The family.
        found: Whether it was found, study by study.
        rules: What it was decided by, study by study.
        truth: True values of the estimates; None where only their mean over the studies is known.
        families: How many are tested together.

    Returns:
        A record of table `calibration`.
    """
    values_SC = np.array([one.values for one in rules])
    margins_SC = np.array([one.margins for one in rules])
    found_S = np.array(found, float)
    predict = _over_seeds if planted.over_seeds else _all_beyond
    known_C = None if truth is None else np.array(truth)

    def power(which_S: npt.NDArray[np.int64]) -> float:
        some_SC = values_SC[which_S]
        center_C = some_SC.mean(axis=0) if known_C is None else known_C
        return predict(center_C, some_SC, margins_SC[which_S])

    every_S = np.arange(len(found))
    expected = power(every_S)
    rng = np.random.Generator(np.random.PCG64(0))
    off = [
        found_S[which_S].mean() - power(which_S)
        for which_S in (rng.integers(0, len(found), len(found)) for _ in range(RESAMPLES))
    ]
    least = np.sqrt(expected * (1 - expected) / len(found))
    error = max(float(np.std(off)), float(least), 1 / len(found))
    p_value = float(2 * special.ndtr(-abs(found_S.mean() - expected) / error))
    center_C = values_SC.mean(axis=0) if known_C is None else known_C
    effect = float(center_C[np.argmin(np.abs(center_C))])
    return _record("planted", planted.name, found, expected, effect, p_value, families)


def _record(
    kind: str,
    name: str,
    found: Sequence[bool],
    expected: float,
    effect: float | None,
    p_value: float,
    families: int,
) -> dict[str, Any]:
    studies, hits = len(found), int(sum(found))
    low = 0.0 if hits == 0 else float(special.betaincinv(hits, studies - hits + 1, 0.025))
    high = 1.0 if hits == studies else float(special.betaincinv(hits + 1, studies - hits, 0.975))
    return {
        "kind": kind,
        "family": name,
        "studies": studies,
        "found": hits,
        "rate": hits / studies,
        "low": low,
        "high": high,
        "expected": expected,
        "effect": effect,
        "p_value": p_value,
        "passed": p_value >= LEVEL / families,
    }


def _all_beyond(center_C: Floats, values_SC: Floats, margins_SC: Floats) -> float:
    """Predict how often all estimates lie beyond their margins."""
    need_C = margins_SC.mean(axis=0)
    if len(center_C) == 1:
        spread = max(float(values_SC.std(ddof=1)), 1e-12)
        return float(special.ndtr((center_C[0] - need_C[0]) / spread))
    drawn_NC = center_C + _normals(len(center_C)) @ _root(np.cov(values_SC, rowvar=False))
    return float((drawn_NC > need_C).all(axis=1).mean())


def _over_seeds(center_C: Floats, values_SC: Floats, margins_SC: Floats) -> float:
    """Predict how often t tests over training seeds find all but the last, Holm over all.

    The mean over seeds varies with the seeds, by what the tests see, and with the tasks, which
    seeds share.

    Source:
        `turnscope.claims.budget_mix`.
    """
    total_CC = np.cov(values_SC, rowvar=False)
    critical = special.stdtrit(SEEDS - 1, (1 + HELD) / 2)
    seen_C = (margins_SC**2).mean(axis=0) / critical**2
    scale_C = np.sqrt(np.minimum(seen_C / np.diag(total_CC), 1.0))
    seeds_CC = total_CC * np.outer(scale_C, scale_C)
    count = len(center_C)
    drawn_NC = _normals((SEEDS + 1) * count).reshape(-1, SEEDS + 1, count)
    single_NSC = np.sqrt(SEEDS) * drawn_NC[:, :SEEDS] @ _root(seeds_CC)
    single_NSC += center_C + drawn_NC[:, SEEDS:] @ _root(total_CC - seeds_CC)
    mean_NC = single_NSC.mean(axis=1)
    error_NC = single_NSC.std(axis=1, ddof=1) / np.sqrt(SEEDS)
    p_NC = 2 * special.stdtr(SEEDS - 1, -np.abs(mean_NC) / error_NC)
    order_NC = np.argsort(p_NC, axis=1)
    steps_NC = np.take_along_axis(p_NC, order_NC, axis=1) * np.arange(len(center_C), 0, -1)
    adjusted_NC = np.empty_like(p_NC)
    np.put_along_axis(adjusted_NC, order_NC, np.maximum.accumulate(steps_NC, axis=1), axis=1)
    found_NC = (adjusted_NC < LEVEL) & (mean_NC > 0)
    return float(found_NC[:, :-1].all(axis=1).mean())


@lru_cache(maxsize=8)
def _normals(columns: int) -> Floats:
    """Return the same normal numbers at every call, shape (NORMALS, columns)."""
    return np.random.Generator(np.random.PCG64(1)).standard_normal((NORMALS, columns))


def _root(covariance_CC: Floats) -> Floats:
    """Return a root of a covariance, shape (C, C)."""
    scale_C, axes_CC = np.linalg.eigh(covariance_CC)
    return np.sqrt(np.maximum(scale_C, 0.0))[:, None] * axes_CC.T
