"""Section 5.1: do exact process reward and GiGPO help at every budget of FrozenLake (C6a)?

Verdicts are over the arm's mean, with tests and intervals over tasks: conditional on its training
seeds, whose own differences are printed.

Source:
    Rules: `turnscope.claims._ledger`.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from turnscope.claims import _ledger as ledger
from turnscope.claims._evidence import (
    K,
    Subject,
    above,
    at_k,
    at_quarters,
    below,
    by_holm,
    judgeable,
    judged,
    largest_budget,
    listed,
    not_run,
    power,
    reference,
    row,
    span,
    whole,
)
from turnscope.claims._seeds import at_budgets, each_seed, seeds
from turnscope.types import Arm

ENV = "frozen_lake"
ALGORITHMS = ("oracle_process", "gigpo")


def judge(estimates: pd.DataFrame, arms: Mapping[str, Arm]) -> list[dict[str, Any]]:
    """Judge C6a for every arm of these algorithms that was trained blind.

    Args:
        estimates: Rows of table `estimates`.
        arms: The arms of the study, by name.

    Returns:
        Records of table `claims`.
    """
    return judged(
        estimates,
        arms,
        {"C6a": _every_budget},
        lambda one: one.env == ENV and arms[one.policy].algorithm in ALGORITHMS,
    )


def _every_budget(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    t_max = largest_budget(estimates, subject)
    gaps = at_quarters(estimates, subject, "pass_at_k")
    adjusted = at_quarters(estimates, subject, "pass_at_k_holm")
    rival = reference(estimates, subject)
    areas = at_k(estimates, subject, "between_arms_auc", rival)
    if not (whole(t_max, gaps, adjusted) and judgeable(gaps) and judgeable(areas)):
        detail = f"at k={K}, no test against base at some quarter of T_max, or no AUC of {rival}"
        return not_run("C6a", subject, detail)
    side, p_values = by_holm(gaps, adjusted)
    area = areas.iloc[0]
    ahead, robust = (side > 0).all(), above(area["low"])
    if (side < 0).any() or below(area["high"]):
        verdict = ledger.CONTRADICTED
    else:
        verdict = ledger.HOLDS if ahead and robust else ledger.INCONCLUSIVE
    least = gaps.iloc[int(gaps["value"].to_numpy().argmin())]
    parts = [
        f"T_max={t_max}. D at {listed(gaps, 't')}",
        f"Holm: {p_values}",
        f"budget AUC minus that of {rival}: {span(*area[['value', 'low', 'high']])}",
        seeds(estimates, subject, K, int(least["t"])),
        _by_seed(estimates, subject),
    ]
    if verdict == ledger.INCONCLUSIVE and not ahead:
        parts.append(power(gaps, "D"))
    if verdict == ledger.INCONCLUSIVE and not robust:
        parts.append(power(areas, "difference in AUC"))
    return row("C6a", subject, verdict, parts, least)


def _by_seed(estimates: pd.DataFrame, subject: Subject) -> str:
    """List the training seeds, of which the tests and intervals over tasks know nothing."""
    single = [at_quarters(estimates, one, "pass_at_k") for one in each_seed(estimates, subject)]
    return at_budgets(single, "D by training seed")
