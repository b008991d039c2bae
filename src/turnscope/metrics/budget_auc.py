"""Budget AUC: Pass@(k,T) averaged over all budgets T = 1, ..., T_max; one number for robustness.

Metrics, by policy and k (T is null): `budget_auc` of Pass@(k,T), also of the structural bound and
against `base`; `budget_auc_hat` of pass^k; `budget_regret`, the AUC of the bound minus the
policy's.

Source:
    Area under the accuracy-budget curve: Qi et al. 2025, arXiv:2505.13438; regret to the best
    achievable curve: Qu et al. 2025, arXiv:2503.07572.
    Differs: budgets are turns, and the mean is over every budget up to T_max. For k = 1 it equals
    1 - (E min(tau, T_max) - 1 + P(tau > T_max)) / T_max with tau the solve turn.
"""

import pandas as pd

from turnscope import estimators
from turnscope.metrics import Settings
from turnscope.metrics._outcomes import read
from turnscope.metrics._rows import bootstrap, joined, p_values, pointwise, rows
from turnscope.metrics._series import area, bound, differences, series


def estimate(tasks: pd.DataFrame, episodes: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Estimate the budget AUC of every policy and arm.

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
    ks, weights, signs = settings.all_ks, study.weights(), study.signs()
    areas = [area(one) for one in series(study.outcomes, estimators.pass_at_k, ks)]
    hats = [area(one) for one in series(study.outcomes, estimators.pass_hat_k, ks)]
    best = bound(study, ks)
    bests = [] if best is None else [area(best)]
    regrets = [one.replaced(top.x_NKT - one.x_NKT) for top in bests for one in areas]
    named = [
        *(("budget_auc", one) for one in areas + bests + differences(areas)),
        *(("budget_auc_hat", one) for one in hats),
        *(("budget_regret", one) for one in regrets),
    ]
    parts = []
    for metric, one in named:
        share = one.against is None and metric != "budget_regret"
        columns = pointwise(one, bootstrap(one, weights), share=share)
        if one.against is not None:
            columns["p_value"] = p_values(one, signs)
        parts.append(rows(study, metric, one, ks, [None], columns))
    return joined(parts)
