"""Estimators of one task: from how many of its episodes were solved to Pass@k and pass^k.

A task was attempted in n independent episodes, and c of them were solved (within T turns, if the
question is Pass@(k,T)). All functions are exact, unbiased and vectorised over tasks and turns.

Source:
    pass@k: Chen et al. 2021, "Evaluating large language models trained on code", section 2.1,
    arXiv:2107.03374. pass^k: Yao et al. 2024, "tau-bench", section 3, arXiv:2406.12045.
    Differs: products of ratios instead of binomials, so that no factorial overflows; k > n gives
    NaN, where the published code returns 1.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer]


def all_fail_table(n: int, k_max: int) -> Floats:
    """Tabulate the probability that k of n episodes, drawn without replacement, all failed.

    Args:
        n: Episodes of the task, >= 0.
        k_max: Largest k, >= 0.

    Returns:
        C(n-c, k) / C(n, k) at row c = 0, ..., n and column k = 0, ..., k_max, shape
        (n + 1, k_max + 1); NaN where k > n. Never increases along either axis.
    """
    table = np.full((n + 1, k_max + 1), np.nan)
    table[:, 0] = 1.0
    failed = np.arange(n, -1, -1, dtype=float)
    for k in range(min(n, k_max)):
        table[:, k + 1] = table[:, k] * np.maximum(failed - k, 0.0) / (n - k)
    return table


def all_fail(n_N: Ints, c_NT: Ints, ks: Sequence[int]) -> Floats:
    """Estimate without bias the probability that k fresh episodes of a task all fail.

    Args:
        n_N: Episodes of each task, shape (N,); they may differ between tasks.
        c_NT: Solved ones within each number of turns, 0 <= c <= n, shape (N, T).
        ks: Sizes of the draw, each >= 1.

    Returns:
        Estimates, shape (N, K, T); NaN where k > n.

    Raises:
        ValueError: Some k is below 1, or some c is not between 0 and n.
    """
    if min(ks) < 1:
        raise ValueError(f"k = {min(ks)}: must be at least 1")
    if (c_NT < 0).any() or (c_NT > n_N[:, None]).any():
        raise ValueError("solved episodes of a task must number between 0 and its episodes")
    fail_NKT = np.empty((len(n_N), len(ks), c_NT.shape[1]))
    for n in np.unique(n_N):
        table = all_fail_table(int(n), max(ks))[:, list(ks)]
        rows = n_N == n
        fail_NKT[rows] = table[c_NT[rows]].transpose(0, 2, 1)
    return fail_NKT


def pass_at_k(n_N: Ints, c_NT: Ints, ks: Sequence[int]) -> Floats:
    """Estimate without bias the probability that at least one of k fresh episodes is solved.

    Args:
        n_N: Episodes of each task, shape (N,).
        c_NT: Solved ones within each number of turns, shape (N, T).
        ks: Numbers of episodes, each >= 1.

    Returns:
        Pass@(k,T) of each task, shape (N, K, T); NaN where k > n. Never decreases in k, nor in T
        if c does not.
    """
    return 1.0 - all_fail(n_N, c_NT, ks)


def pass_hat_k(n_N: Ints, c_NT: Ints, ks: Sequence[int]) -> Floats:
    """Estimate without bias the probability that all of k fresh episodes are solved.

    Args:
        n_N: Episodes of each task, shape (N,).
        c_NT: Solved ones within each number of turns, shape (N, T).
        ks: Numbers of episodes, each >= 1.

    Returns:
        pass^k within T turns of each task, shape (N, K, T); NaN where k > n.
    """
    return all_fail(n_N, n_N[:, None] - c_NT, ks)


def variance(n_N: Ints, c_NT: Ints, ks: Sequence[int]) -> Floats:
    """Estimate without bias the sampling variance of `pass_at_k` of each task, the task fixed.

    The square of one estimate less an unbiased estimate of its squared mean: f_k(c)^2 - f_2k(c).
    Single values may be negative; their mean over tasks is what is used.

    Args:
        n_N: Episodes of each task, shape (N,).
        c_NT: Solved ones within each number of turns, shape (N, T).
        ks: Numbers of episodes, each >= 1.

    Returns:
        Variances, shape (N, K, T); NaN where 2k > n.
    """
    return all_fail(n_N, c_NT, ks) ** 2 - all_fail(n_N, c_NT, [2 * k for k in ks])
