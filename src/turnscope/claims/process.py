"""Section 5.1: do exact process reward and GiGPO help at every budget of FrozenLake (C6a)?

Verdicts are over the arm's mean, with intervals over tasks: conditional on its training seeds.

Source:
    Rules: `turnscope.claims._ledger`.
"""

from typing import Any

import pandas as pd

from turnscope import budgets
from turnscope.claims import _ledger as ledger
from turnscope.claims._evidence import (
    Subject,
    above,
    below,
    by_holm,
    judgeable,
    largest_budget,
    listed,
    power,
    reference,
    seeds,
    select,
    span,
    subjects,
)

K = 8
ENV = "frozen_lake"
ARMS = ("oracle_process", "gigpo")


def judge(estimates: pd.DataFrame) -> list[dict[str, Any]]:
    """Judge C6a for both arms.

    Args:
        estimates: Rows of table `estimates`.

    Returns:
        Records of table `claims`.
    """
    return [
        _every_budget(estimates, one)
        for one in subjects(estimates)
        if one.env == ENV and one.policy in ARMS
    ]


def _every_budget(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    t_max = largest_budget(estimates, subject)
    quarters = sorted(set(budgets.grid(budgets.QUARTERS, t_max)))
    gaps = select(estimates, subject, "pass_at_k")
    gaps = gaps.loc[(gaps["k"] == K) & gaps["t"].isin(quarters) & gaps["p_value"].notna()]
    rival = reference(estimates, subject.env, subject.model)
    areas = select(estimates, subject, "between_arms_auc", rival)
    areas = areas.loc[areas["k"] == K]
    if len(gaps) < len(quarters) or not (judgeable(gaps) and judgeable(areas)):
        detail = f"at k={K}, no test against base at some quarter of T_max, or no AUC of {rival}"
        return ledger.row("C6a", ledger.NOT_RUN, detail, **subject._asdict())
    side, p_values = by_holm(gaps)
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
    ]
    if verdict == ledger.INCONCLUSIVE and not ahead:
        parts.append(power(gaps, "D"))
    if verdict == ledger.INCONCLUSIVE and not robust:
        parts.append(power(areas, "difference in AUC"))
    return ledger.row(
        "C6a",
        verdict,
        ". ".join(parts),
        value=least["value"],
        low=least["low"],
        high=least["high"],
        **subject._asdict(),
    )
