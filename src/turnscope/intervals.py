"""Intervals and tests for means over tasks.

Tasks are resampled and nothing else: the unbiased estimate of each task already varies with its
episodes, so resampling those too would count that noise twice and bias Pass@k down. All policies
share the same draws, hence differences between them are paired.

Shapes end in N (tasks), C (cells), B (draws), S (training seeds).

Source:
    Bootstrap percentile interval and max-t band: Davison and Hinkley 1997, "Bootstrap methods and
    their application", chapters 4 and 5. Clustered and paired errors of evaluations: Miller 2024,
    arXiv:2411.00640. Equivalence: Schuirmann 1987. Holm 1979. Wilson 1927. Johnson, Welch 1940.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer]

NOISE = 1e-12
"""Standard errors up to this are rounding: the cell does not vary between draws."""
NONINFERIORITY = 0.02
"""Largest loss of success probability that still counts as parity."""


class Bands(NamedTuple):
    """Two simultaneous bands of one surface, each of shape (K, T)."""

    t_low: Floats
    t_high: Floats
    k_low: Floats
    k_high: Floats


class Interval(NamedTuple):
    """Ends of an interval and a p-value; NaN where undefined."""

    low: float
    high: float
    p_value: float


def resample(units_N: Ints, strata_N: Ints, draws: int, seed: int) -> Floats:
    """Draw how often each task enters each bootstrap sample.

    Units are resampled with replacement within their stratum. Strata of a single unit cannot vary,
    which would pass for certainty, so they are pooled, and a lone one joins the largest stratum.

    Args:
        units_N: What is resampled as a whole: label of each task's unit, shape (N,).
        strata_N: Label of each task's stratum, constant within a unit, shape (N,).
        draws: B, number of bootstrap samples, >= 1.
        seed: Names the random stream.

    Returns:
        Multiplicities, shape (B, N).
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    _, first_U, unit_N = np.unique(units_N, return_index=True, return_inverse=True)
    stratum_U = _pool_singletons(strata_N[first_U])
    weights_BU = np.empty((draws, len(first_U)))
    for stratum in np.unique(stratum_U):
        members = np.flatnonzero(stratum_U == stratum)
        size = len(members)
        picks = rng.integers(0, size, (draws, size)) + size * np.arange(draws)[:, None]
        counts = np.bincount(picks.ravel(), minlength=draws * size)
        weights_BU[:, members] = counts.reshape(draws, size)
    return weights_BU[:, unit_N]


def _pool_singletons(strata_U: Ints) -> Ints:
    labels, stratum, sizes = np.unique(strata_U, return_inverse=True, return_counts=True)
    single = sizes[stratum] == 1
    if single.sum() == 1:
        return np.where(single, np.argmax(sizes), stratum)
    return np.where(single, len(labels), stratum)


def signs(units_N: Ints, draws: int, seed: int) -> Floats:
    """Draw random signs, one for each unit and draw.

    Args:
        units_N: Label of each task's unit, shape (N,).
        draws: B, number of draws, >= 1.
        seed: Names the random stream.

    Returns:
        -1 or 1, shape (B, N).
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    labels, unit_N = np.unique(units_N, return_inverse=True)
    bits = rng.integers(0, 2, (draws, len(labels)), dtype=np.int8)
    signs_BN = bits[:, unit_N].astype(float)
    signs_BN *= 2.0
    signs_BN -= 1.0
    return signs_BN


def bootstrap(x_NC: Floats, weights_BN: Floats) -> Floats:
    """Average tasks in each bootstrap sample.

    Args:
        x_NC: Estimates of single tasks; NaN leaves the task out of that cell, shape (N, C).
        weights_BN: Result of `resample`.

    Returns:
        Means, shape (C, B); NaN in draws that hold no task of the cell.
    """
    present_NC = ~np.isnan(x_NC)
    means_CB = np.where(present_NC, x_NC, 0.0).T @ weights_BN.T
    whole_C = present_NC.all(axis=0)
    means_CB[whole_C] /= weights_BN.sum(axis=1)
    with np.errstate(invalid="ignore"):
        means_CB[~whole_C] /= present_NC[:, ~whole_C].T.astype(float) @ weights_BN.T
    return means_CB


def quantiles(draws_xB: Floats, levels: tuple[float, ...]) -> tuple[Floats, ...]:
    """Return quantiles over the last axis, linearly interpolated; NaN where any draw is NaN.

    Equal to numpy's default, by one vectorised sort, which is several times faster here.
    """
    ordered = np.sort(draws_xB, axis=-1)
    undefined = np.isnan(ordered[..., -1])
    results = []
    for level in levels:
        position = level * (ordered.shape[-1] - 1)
        below = int(position)
        above = min(below + 1, ordered.shape[-1] - 1)
        step = ordered[..., above] - ordered[..., below]
        value = ordered[..., below] + (position - below) * step
        results.append(np.where(undefined, np.nan, value))
    return tuple(results)


def percentile(draws_xB: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the ends of the pointwise percentile interval of each cell."""
    low, high = quantiles(draws_xB, ((1 - level) / 2, (1 + level) / 2))
    return low, high


def bands(center_KT: Floats, draws_KTB: Floats, level: float = 0.95) -> Bands:
    """Widen intervals until whole curves lie inside with the stated probability.

    The critical value is a quantile of the largest |draw - center| / se over the curve. A cell
    that never varies (nothing is solvable yet, say) has a band of width 0 and widens no other. A
    cell with a draw that is undefined has no band (NaN), and widens no other either.

    Args:
        center_KT: Estimates, shape (K, T).
        draws_KTB: Their bootstrap draws, shape (K, T, B).
        level: Probability that the band holds the whole curve.

    Returns:
        The band over all T at each k, and the band over all k at each T.
    """
    se_KT = draws_KTB.std(axis=-1)
    varies = se_KT > NOISE
    scale = np.where(varies, se_KT, np.inf)
    z_KTB = np.abs(draws_KTB - center_KT[..., None]) / scale[..., None]
    z_KTB[~varies] = 0.0
    (over_t_K,) = quantiles(z_KTB.max(axis=1), (level,))
    (over_k_T,) = quantiles(z_KTB.max(axis=0), (level,))
    spread_KT = np.where(varies | np.isnan(se_KT), se_KT, 0.0)
    half_t, half_k = over_t_K[:, None] * spread_KT, over_k_T[None, :] * spread_KT
    return Bands(center_KT - half_t, center_KT + half_t, center_KT - half_k, center_KT + half_k)


def sign_flip(x_NC: Floats, signs_BN: Floats) -> Floats:
    """Test whether paired differences are centred on 0, by flipping their signs.

    Exact if the differences are symmetric about 0 under the null, as when equal policies have
    equally many episodes; with other numbers of episodes it is exact only for many tasks.

    Args:
        x_NC: Differences of single tasks; NaN leaves the task out, shape (N, C).
        signs_BN: Result of `signs`.

    Returns:
        Two-sided p-values, (1 + draws at least as far out) / (1 + B), shape (C,); NaN without
        tasks.
    """
    present_NC = ~np.isnan(x_NC)
    filled = np.where(present_NC, x_NC, 0.0)
    flipped_CB = np.abs(filled.T @ signs_BN.T)
    far_C = np.abs(filled.sum(axis=0)) - 1e-9  # equal sums may differ by rounding
    p_C = (1 + (flipped_CB >= far_C[:, None]).sum(axis=1)) / (1 + len(signs_BN))
    return np.where(present_NC.any(axis=0), p_C, np.nan)


def equivalence(draws_CB: Floats, margin: float) -> tuple[Floats, Floats, Floats]:
    """Test whether differences lie within a margin of 0 on both sides (TOST at 5%).

    Args:
        draws_CB: Bootstrap draws of the differences, shape (C, B).
        margin: Largest difference that does not matter, > 0.

    Returns:
        Ends of the 90% interval and the p-value of `the difference is at least the margin`, each
        of shape (C,). Equivalent at 5%: the interval lies within the margin, p < 0.05.
    """
    low_C, high_C = percentile(draws_CB, 0.90)
    outside = np.maximum((draws_CB >= margin).sum(axis=-1), (draws_CB <= -margin).sum(axis=-1))
    p_C = (1 + outside) / (1 + draws_CB.shape[-1])
    return low_C, high_C, np.where(np.isnan(low_C), np.nan, p_C)


def student(values_S: Floats, shared: float = 0.0) -> Interval:
    """Return the 95% t interval of the mean of values that are independent but for what they share.

    Args:
        values_S: One value for each training seed, shape (S,).
        shared: Variance, taken as known, of what all of them have in common, such as the noise of
            the policy that was subtracted from each.

    Returns:
        Interval and two-sided p-value of mean 0; NaN if S < 2, if the values do not differ (their
        spread is then unknown), or if `shared` is NaN.

    Source:
        S - 1 degrees of freedom; with `shared` those of Satterthwaite 1946.
    """
    mean, own, freedom = _spread(values_S)
    se = np.sqrt(own**2 + max(shared, 0.0)) if shared == shared else np.nan
    freedom *= (se / own) ** 4 if se > own else 1.0
    half = special.stdtrit(freedom, 0.975) * se
    p_value = 2 * special.stdtr(freedom, -abs(mean) / se)
    return Interval(float(mean - half), float(mean + half), float(p_value))


def noninferiority(values_S: Floats, margin: float) -> Interval:
    """Test by one-sided t at 5% whether the mean of independent values is above -margin.

    Args:
        values_S: One value for each training seed, shape (S,).
        margin: Largest loss that does not matter, > 0.

    Returns:
        The 90% interval, whose lower end is above -margin if and only if p < 0.05, and the p-value
        of `the mean is at most -margin`. NaN as in `student`.
    """
    mean, se, freedom = _spread(values_S)
    half = special.stdtrit(freedom, 0.95) * se
    p_value = special.stdtr(freedom, -(mean + margin) / se)
    return Interval(float(mean - half), float(mean + half), float(p_value))


def _spread(values_S: Floats) -> tuple[float, float, int]:
    """Return mean, standard error (NaN where unknown) and degrees of freedom."""
    size = len(values_S)
    se = values_S.std(ddof=1) / np.sqrt(size) if size > 1 else 0.0
    return float(values_S.mean()), float(se) if se > NOISE else np.nan, size - 1


def holm(p_values_C: Floats) -> Floats:
    """Adjust the p-values of a family for multiplicity; shape and order are kept."""
    order = np.argsort(p_values_C)
    steps = np.arange(len(p_values_C), 0, -1) * p_values_C[order]
    adjusted = np.empty(len(p_values_C))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


def wilson(solved: float, tasks: int, level: float = 0.95) -> tuple[float, float]:
    """Return the Wilson interval of a share of tasks, which also serves where all or none count."""
    z = special.ndtri((1 + level) / 2)
    share, scale = solved / tasks, 1 + z**2 / tasks
    middle = (share + z**2 / (2 * tasks)) / scale
    half = z / scale * np.sqrt(share * (1 - share) / tasks + z**2 / (4 * tasks**2))
    low = 0.0 if solved == 0 else float(middle - half)
    high = 1.0 if solved == tasks else float(middle + half)
    return low, high


def standard_error(low: float, high: float) -> float:
    """Return the standard error behind a pointwise 95% interval."""
    return float((high - low) / (2 * special.ndtri(0.975)))


def detectable(low: float, high: float, se: float, power: float = 0.8) -> float:
    """Return how far beyond a threshold the truth must lie to be found there with some power.

    Args:
        low: Lower end of the interval or band that must lie beyond the threshold.
        high: Upper end.
        se: Standard error of the estimate; that of a band is not the band's width.
        power: Probability to find it.
    """
    return float((high - low) / 2 + special.ndtri(power) * se)


def detectable_over_seeds(half: float, seeds: int, tail: float) -> float:
    """Return how far beyond a threshold the truth must lie to be found by a t test with 80% power.

    Args:
        half: Half the width of the 95% t interval; its standard error is taken for the true one.
        seeds: S, >= 2.
        tail: Size of the test on the side of the threshold: 0.025 for a two-sided test at 5%.
    """
    se, critical = half / special.stdtrit(seeds - 1, 0.975), special.stdtrit(seeds - 1, 1 - tail)
    return float(special.nctdtrinc(seeds - 1, 0.2, critical) * se)
