"""Crossover turn T*: the smallest T from which on a policy is never behind `base`.

With D(k,T) the difference in Pass@(k,T) to `base`, T* is the smallest T in 1, ..., T_max such that
D(k,T') >= 0 for all T' from T to T_max. It is null if the policy is behind at T_max. A tie is not
behind: before anything can be solved both have 0 and D = 0, so a policy that is never behind has
T* = 1, although no curve crosses there. Curves cross only if 1 < T* <= T_max, which implies
D(k, T* - 1) < 0.

Metrics, by policy and k:

- `crossover`: T* and its percentile interval; an end is null where it lies beyond T_max.
- `crossover_share`, by T: share of bootstrap draws with T* = T; T null: with no T*.
- `crossover_reversal`: share of draws in which the curves cross, 1 < T* <= T_max. It is no test:
  where D is near 0 over many T, chance alone puts some draws below 0. That a policy is behind at
  some T is shown by the simultaneous band of `pass_at_k`, and the claims ask for both.

Source:
    Our own definition; intervals as in `turnscope.intervals`.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope import estimators, intervals
from turnscope.metrics import Settings
from turnscope.metrics._outcomes import Study, read
from turnscope.metrics._rows import bootstrap, joined, mean, rows
from turnscope.metrics._series import Series, differences, series

Floats = npt.NDArray[np.float64]


def estimate(tasks: pd.DataFrame, episodes: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Estimate the crossover turn of every policy and arm.

    Args:
        tasks: Rows of table `tasks`.
        episodes: Rows of table `episodes`, all policies of one environment and model.
        settings: Uses `ks`, `k`, `draws` and `seed`.

    Returns:
        Rows of table `estimates`.

    Raises:
        ValueError: See `_outcomes.read`.
    """
    study = read(tasks, episodes, settings)
    weights = study.weights()
    levels = series(study.outcomes, estimators.pass_at_k, settings.all_ks)
    return joined(_rows(study, gap, bootstrap(gap, weights)) for gap in differences(levels))


def crossover_turn(gap_xT: Floats) -> Floats:
    """Return T* of each curve.

    Args:
        gap_xT: Differences at T = 1, ..., T_max along the last axis.

    Returns:
        T*, infinite if the last difference is below 0, NaN if a difference is NaN.
    """
    level = gap_xT >= -intervals.NOISE  # sums of equal shares may differ by rounding
    from_here_on = np.logical_and.accumulate(level[..., ::-1], axis=-1).sum(axis=-1)
    turn = np.where(from_here_on > 0, gap_xT.shape[-1] - from_here_on + 1.0, np.inf)
    return np.where(np.isnan(gap_xT).any(axis=-1), np.nan, turn)


def _rows(study: Study, gap: Series, draws_KTB: Floats) -> pd.DataFrame:
    ks = study.settings.all_ks
    value_K = crossover_turn(mean(gap.x_NKT))
    turn_KB = crossover_turn(draws_KTB.transpose(0, 2, 1))
    low_K, high_K = np.quantile(turn_KB, [0.025, 0.975], axis=-1, method="inverted_cdf")
    columns = {"value": _finite(value_K), "low": _finite(low_K), "high": _finite(high_K)}
    undefined_K = np.isnan(value_K)[:, None]
    outcomes = [*study.turns, np.inf]
    share_KT = np.stack([(turn_KB == outcome).mean(axis=-1) for outcome in outcomes], axis=-1)
    crosses_K = ((turn_KB > 1) & np.isfinite(turn_KB)).mean(axis=-1, keepdims=True)
    shares = {"value": np.where(undefined_K, np.nan, share_KT)}
    crosses = {"value": np.where(undefined_K, np.nan, crosses_K)}
    last = gap.replaced(gap.x_NKT[:, :, -1:])
    spread = gap.replaced(np.repeat(last.x_NKT, len(outcomes), axis=2))
    return pd.concat(
        [
            rows(study, "crossover", last, ks, [None], {n: x[:, None] for n, x in columns.items()}),
            rows(study, "crossover_share", spread, ks, [*study.turns, None], shares),
            rows(study, "crossover_reversal", last, ks, [None], crosses),
        ]
    )


def _finite(turns_K: Floats) -> Floats:
    return np.where(np.isfinite(turns_K), turns_K, np.nan)
