"""Section 5.1: do GiGPO and PPO help on BFCL where budgets are small (C6b)?

That something does not help is shown by an interval, not by a test that finds nothing: the claim
holds if a gain of more than two points is ruled out at each small budget. Intervals and tests are
over tasks, conditional on the training seeds.

Source:
    Rules: `turnscope.claims._ledger`.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from turnscope import intervals
from turnscope.claims import _ledger as ledger
from turnscope.claims._evidence import (
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
    whole,
)
from turnscope.claims._seeds import at_budgets, each_seed
from turnscope.types import Arm

ENV = "bfcl"
ALGORITHMS = ("gigpo", "ppo")
MARGIN = intervals.NONINFERIORITY


def judge(estimates: pd.DataFrame, arms: Mapping[str, Arm]) -> list[dict[str, Any]]:
    """Judge C6b for every arm of these algorithms that was trained blind.

    Args:
        estimates: Rows of table `estimates`.
        arms: The arms of the study, by name.

    Returns:
        Records of table `claims`.
    """
    return judged(
        estimates,
        arms,
        {"C6b": _no_help},
        lambda one: one.env == ENV and arms[one.policy].algorithm in ALGORITHMS,
    )


def _no_help(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    rival, t_max = reference(estimates, subject), largest_budget(estimates, subject)
    family = at_quarters(estimates, subject, "between_arms", rival)
    adjusted = at_quarters(estimates, subject, "between_arms_holm", rival)
    if not (whole(t_max, family, adjusted) and judgeable(family)):
        detail = f"at k={K}, not compared with {rival} at some quarter of T_max"
        return not_run("C6b", subject, detail)
    side, p_values = by_holm(family, adjusted)
    small = (family["t"] < t_max).to_numpy(bool)
    gaps = family.loc[small]
    if (side[small] > 0).any():
        verdict = ledger.CONTRADICTED
    else:
        ruled_out = below(gaps["high"], MARGIN).all()
        verdict = ledger.HOLDS if ruled_out else ledger.INCONCLUSIVE
    most = gaps.iloc[int(gaps["value"].to_numpy().argmax())]
    parts = [
        f"T_max={t_max}. Difference to {rival} at {listed(gaps, 't')}",
        f"Holm: {p_values}",
        _by_seed(estimates, subject, rival),
    ]
    if verdict == ledger.INCONCLUSIVE:
        highest = float(gaps["high"].max())
        parts.append(f"a gain of {highest:.3f} is not ruled out; {MARGIN:.2f} would have to be")
    return row("C6b", subject, verdict, parts, most)


def _by_seed(estimates: pd.DataFrame, subject: Subject, rival: str) -> str:
    """List the differences of single training seeds, of which intervals over tasks know nothing."""
    found = []
    for one in each_seed(estimates, subject):
        other = one.policy.replace(subject.policy, rival, 1)
        pair = at_quarters(estimates, one, "between_arms_pair", other)
        found.append(pair.loc[pair["t"] < largest_budget(estimates, one)])
    return at_budgets(found, "By training seed")
