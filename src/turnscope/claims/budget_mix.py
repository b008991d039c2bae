"""Section 5.4: is BudgetMix better under small budgets, and no worse under the largest (C7a, C7b)?

Tests are over training seeds, paired by their number: would training both arms anew show it again?

Source:
    Rules: `turnscope.claims._ledger`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from turnscope import intervals
from turnscope.claims import _ledger as ledger
from turnscope.claims._evidence import (
    LEVEL,
    K,
    Subject,
    at_quarters,
    below,
    by_holm,
    judgeable,
    judged,
    largest_budget,
    listed,
    not_run,
    reference,
    row,
    span,
    whole,
)
from turnscope.types import Arm

ALGORITHM = "budget_mix"
MARGIN = intervals.NONINFERIORITY


def judge(estimates: pd.DataFrame, arms: Mapping[str, Arm]) -> list[dict[str, Any]]:
    """Judge C7a and C7b for every arm of this algorithm that was trained blind.

    Args:
        estimates: Rows of table `estimates`.
        arms: The arms of the study, by name.

    Returns:
        Records of table `claims`.
    """
    return judged(
        estimates,
        arms,
        {"C7a": _small_budgets, "C7b": _parity},
        lambda one: arms[one.policy].algorithm == ALGORITHM,
    )


def _quarters(estimates: pd.DataFrame, subject: Subject, metric: str) -> pd.DataFrame:
    """Select the differences to the reference arm at k = 8 and the quarters of T_max."""
    return at_quarters(estimates, subject, metric, reference(estimates, subject))


def _untested(claim: str, estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    """Say why there is no test over seeds."""
    rows = _quarters(estimates, subject, "between_arms_seeds")
    rival = reference(estimates, subject)
    if rows.empty:
        detail = f"not compared with {rival} at k={K} over training seeds that both have"
    elif rows["seeds"].iloc[0] < 2:
        detail = (
            f"{subject.policy} and {rival} share one training seed; a test over seeds needs two"
        )
    else:
        pair = f"{subject.policy} and {rival}"
        detail = f"the seeds of {pair} do not differ at some budget: spread unknown"
    return not_run(claim, subject, detail)


def _small_budgets(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    family = _quarters(estimates, subject, "between_arms_seeds")
    t_max = largest_budget(estimates, subject)
    small = (family["t"] < t_max).to_numpy(bool)
    adjusted = _quarters(estimates, subject, "between_arms_seeds_holm")
    if not (whole(t_max, family, adjusted) and judgeable(family) and any(small)):
        return _untested("C7a", estimates, subject)
    side, p_values = by_holm(family, adjusted)
    if (side[small] < 0).any():
        verdict = ledger.CONTRADICTED
    else:
        verdict = ledger.HOLDS if (side[small] > 0).all() else ledger.INCONCLUSIVE
    gaps = family.loc[small]
    least = gaps.iloc[int(gaps["value"].to_numpy().argmin())]
    parts = [
        f"T_max={t_max}. Over {least['seeds']} seeds: {listed(family, 't')}",
        f"Holm: {p_values}",
        _over_tasks(estimates, subject),
    ]
    if verdict == ledger.INCONCLUSIVE:
        parts.append(_power(gaps, LEVEL / 2 / len(family), "difference", 0.0))
    return row("C7a", subject, verdict, parts, least)


def _parity(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    t_max = largest_budget(estimates, subject)
    lower, both = (
        rows.loc[rows["t"] == t_max]
        for rows in (
            _quarters(estimates, subject, "between_arms_lower"),
            _quarters(estimates, subject, "between_arms_seeds"),
        )
    )
    if not (judgeable(lower) and judgeable(both)):
        return _untested("C7b", estimates, subject)
    one = lower.iloc[0]
    if below(both["high"], -MARGIN).all():
        verdict = ledger.CONTRADICTED
    else:
        verdict = ledger.HOLDS if one["p_value"] < LEVEL else ledger.INCONCLUSIVE
    parts = [
        f"T_max={t_max}. Over {one['seeds']} seeds: {span(*one[['value', 'low', 'high']])} (90%), "
        f"p={one['p_value']:.4f} of a loss of {MARGIN} or more; 95%: {listed(both, 't')}",
        _over_tasks(estimates, subject),
        _power(both, LEVEL, "difference", -MARGIN),
    ]
    return row("C7b", subject, verdict, parts, one)


def _over_tasks(estimates: pd.DataFrame, subject: Subject) -> str:
    rows = _quarters(estimates, subject, "between_arms")
    return f"Over tasks, these seeds as they are: {listed(rows, 't')}"


def _power(rows: pd.DataFrame, tail: float, what: str, threshold: float) -> str:
    """Say which true value the tests over seeds would have found where that is hardest."""
    halves = (rows["high"] - rows["low"]).to_numpy(float) / 2
    count = int(rows["seeds"].iloc[0])
    least = threshold + intervals.detectable_over_seeds(float(np.max(halves)), count, tail)
    strict = ", each by itself at Holm's strictest step" if len(rows) > 1 else ""
    return f"a true {what} of at least {least:.3f} would be found with 80% power{strict}"
