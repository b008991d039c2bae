"""Difference to `base` over training seeds: would training anew help again?

Metric `over_seeds`, by arm, k and T: the mean over seeds of the mean paired difference in
Pass@(k,T), with the t interval of S - 1 degrees of freedom and its p-value. The seed is the unit:
tasks are taken as they are. One seed, or seeds that do not differ at all, give no interval.

Source:
    t interval on means of seeds: Agarwal et al. 2021, arXiv:2108.13264, on reporting few runs.
"""

import pandas as pd

from turnscope import estimators
from turnscope.metrics import Settings, _rows
from turnscope.metrics._outcomes import read
from turnscope.metrics._rows import joined, rows
from turnscope.metrics._series import arms, differences, series


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
    return joined(
        rows(
            study,
            "over_seeds",
            gaps[arm],
            settings.all_ks,
            study.turns,
            _rows.over_seeds([gaps[one] for one in members]),
        )
        for arm, members in groups.items()
    )
