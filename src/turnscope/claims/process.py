"""Section 5.1: do exact process reward and GiGPO help at every budget of FrozenLake (C6a)?

Verdicts are over the arm's mean, with tests and intervals over tasks: conditional on its training
seeds, whose own differences are printed.

Source:
    Rules: `turnscope.claims._ledger`.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from turnscope import budgets
from turnscope.claims import _ledger as ledger
from turnscope.claims._evidence import (
    Subject,
    above,
    agreement,
    below,
    by_holm,
    each_seed,
    judgeable,
    largest_budget,
    listed,
    not_blind,
    power,
    reference,
    seeds,
    select,
    span,
    subjects,
)
from turnscope.types import Arm

K = 8
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
    blind, told = (
        [one for one in found if one.env == ENV and arms[one.policy].algorithm in ALGORITHMS]
        for found in (subjects(estimates, arms), subjects(estimates, arms, told=True))
    )
    return [_every_budget(estimates, one) for one in blind] + not_blind(("C6a",), told)


def _gaps(estimates: pd.DataFrame, subject: Subject, metric: str = "pass_at_k") -> pd.DataFrame:
    """Select the differences to base at k = 8 and the quarters of T_max."""
    quarters = budgets.grid(budgets.QUARTERS, largest_budget(estimates, subject))
    rows = select(estimates, subject, metric)
    return rows.loc[(rows["k"] == K) & rows["t"].isin(quarters)]


def _every_budget(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    t_max = largest_budget(estimates, subject)
    quarters = set(budgets.grid(budgets.QUARTERS, t_max))
    gaps, adjusted = (_gaps(estimates, subject, f"pass_at_k{end}") for end in ("", "_holm"))
    whole = set(gaps["t"]) == quarters == set(adjusted["t"])
    rival = reference(estimates, subject.env, subject.model)
    areas = select(estimates, subject, "between_arms_auc", rival)
    areas = areas.loc[areas["k"] == K]
    if not (whole and judgeable(gaps) and judgeable(areas)):
        detail = f"at k={K}, no test against base at some quarter of T_max, or no AUC of {rival}"
        return ledger.row("C6a", ledger.NOT_RUN, detail, **subject._asdict())
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
    return ledger.row(
        "C6a",
        verdict,
        ". ".join(parts),
        value=least["value"],
        low=least["low"],
        high=least["high"],
        **subject._asdict(),
    )


def _by_seed(estimates: pd.DataFrame, subject: Subject) -> str:
    """List the training seeds, of which the tests and intervals over tasks know nothing."""
    single = [_gaps(estimates, one) for one in each_seed(estimates, subject)]
    values = pd.concat(single) if single else pd.DataFrame(columns=["t", "value"])
    if values.empty:
        return "By training seed: not estimated"
    texts = [f"T={t}: {agreement(list(part['value']))}" for t, part in values.groupby("t")]
    return f"D by training seed at {'; '.join(texts)}"
