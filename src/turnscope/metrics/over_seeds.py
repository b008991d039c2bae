"""Difference to `base` over training seeds: would training anew help again?

Metric `over_seeds`, by arm, k and T: the mean over seeds of the mean paired difference in
Pass@(k,T), with its t interval and p-value. The seed is the unit: tasks are taken as they are. All
seeds are compared with the same episodes of base, whose noise they share: with the spread between
seeds alone, identical policies would differ in a sixth of all studies. One seed, or seeds that do
not differ at all, give no interval; nor does 2k > n, where base's noise is unknown.

Source:
    t interval on means of seeds: Agarwal et al. 2021, arXiv:2108.13264, on reporting few runs.
    Differs: the variance of base's own estimate is added, see `turnscope.intervals.student`.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope import estimators
from turnscope.metrics import Settings, _rows
from turnscope.metrics._outcomes import BASE, Study, read
from turnscope.metrics._rows import joined, rows
from turnscope.metrics._series import arms, differences, series

Floats = npt.NDArray[np.float64]


def estimate(tasks: pd.DataFrame, episodes: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Estimate the difference to `base` of every arm, over its training seeds.

    Args:
        tasks: Rows of table `tasks`.
        episodes: Rows of table `episodes`, all policies of one environment and model.
        settings: Uses `ks` and `k`.

    Returns:
        Rows of table `estimates`; none without a trained arm.

    Raises:
        ValueError: See `_outcomes.read`.
    """
    study = read(tasks, episodes, settings)
    levels = series(study.outcomes, estimators.pass_at_k, settings.all_ks)
    gaps = {gap.policy: gap for gap in differences(levels)}
    groups = arms(list(study.outcomes))
    noise_KT = _noise(study)
    return joined(
        rows(
            study,
            "over_seeds",
            gaps[arm],
            settings.all_ks,
            study.turns,
            _rows.over_seeds([gaps[one] for one in members], shared_KT=noise_KT),
        )
        for arm, members in groups.items()
    )


def _noise(study: Study) -> Floats:
    """Estimate the variance of base's mean that is due to its episodes, shape (K, T)."""
    variance_NKT = estimators.variance(*study.outcomes[BASE], study.settings.all_ks)
    entered_KT = (~np.isnan(variance_NKT)).sum(axis=0)
    total_KT = np.nansum(variance_NKT, axis=0)
    known = entered_KT > 0
    # chance may make the estimate negative; the noise itself is not
    return np.where(known, np.maximum(total_KT, 0.0) / np.maximum(1, entered_KT) ** 2, np.nan)
