"""Every claim of the studied paper, declared with its rule, and the table of verdicts.

Source:
    Claims, values and sections: abstract-level summary of the paper "What does multi-turn
    reinforcement learning really improve in LLM agents?". Statistics and rules: ours.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from turnscope import registry
from turnscope.arms import seeded
from turnscope.types import Arm

HOLDS, CONTRADICTED, INCONCLUSIVE = "holds", "contradicted", "inconclusive"
NOT_RUN, REPRODUCED = "not run", "reproduced"
PAPER_MODELS = ("qwen3_4b", "qwen3_8b")
"""Only these can reproduce a number; others can show that a direction holds in them."""
OPEN = ("env", "model", "policy", "value", "low", "high", "null_value")
"""Columns that depend on what was run."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim and the rule by which it is judged."""

    claim: str
    section: str
    text: str
    paper: str
    """The paper's value; `direction` where it gives none."""
    statistic: str
    rule: str
    """When it holds and when it is contradicted, which is the mirror image where nothing is said.
    Anything else is inconclusive, and what has no interval is not judged at all."""


CLAIMS = (
    Claim(
        "C1",
        "3.1",
        "RL beats base at every sampling breadth k (Pass@(k, T_max))",
        "direction, all environments",
        "D(k, T_max), paired mean difference to base, at the k where its band reaches lowest",
        "the simultaneous 95% band over k is above 0 at every k; contradicted if it is below 0 at "
        "any k",
    ),
    Claim(
        "C1b",
        "3.1",
        "The gap does not close as k grows",
        "direction, all environments",
        "D(k_max, T_max) - D(1, T_max), paired",
        "the 95% intervals of D(1, T_max) and of D(k_max, T_max) - D(1, T_max) are above 0 and "
        "above -0.02 (a non-inferiority margin), in this order; contradicted, whatever else, if "
        "the second is below 0",
    ),
    Claim(
        "C2a",
        "3.2",
        "At k=8 the RL advantage grows with T",
        "direction",
        "D(8, T_max) - D(8, 0.3 T_max), paired",
        "its 95% interval is above 0, and so is the simultaneous 95% band over T of D(8, T_max); "
        "contradicted if the interval is below 0",
    ),
    Claim(
        "C2b",
        "3.2",
        "Under tight T the advantage diminishes or reverses",
        "direction",
        "D(8, T) at the budget of 10% to 30% of T_max where its band reaches highest",
        "the simultaneous 95% band over T of D(8, T) is above 0 at T_max, and one of two: it is "
        "above 0 at none of the budgets of 10% to 30% of T_max; or it is below 0 somewhere before "
        "T*, and in more than 95% of the bootstrap draws the curves cross. Contradicted if this "
        "does not hold and the band is above 0 at all of the budgets of 10% to 30%",
    ),
    Claim(
        "C2c",
        "3.2",
        "Structural upper bounds leave headroom at small T",
        "direction",
        "bound minus Pass@(8, T), at the budget of 10% to 30% of T_max where it is least",
        "its 95% interval is above 0.05 at each budget of 10% to 30% of T_max; contradicted if it "
        "is below 0.05 at all of them",
    ),
    Claim(
        "C3a",
        "3.3",
        "Share of matched states where RL's step quality is better than base's (G=16 actions each)",
        "DeepCoder-MT 46.8%, FrozenLake 42.8%",
        "better / tie / worse shares and Mann-Whitney probability",
        "RL not better on a majority, and the interval of the Mann-Whitney probability contains "
        "0.5 or lies within 0.05 of it; permutation-null share printed",
    ),
    Claim(
        "C3b",
        "3.3",
        "On error states RL selects the better action more often",
        "FrozenLake 65.7%, DeepCoder-MT 67.3%",
        "Mann-Whitney probability on error states minus on the others, disjoint selection",
        "interval above 0",
    ),
    Claim(
        "C3c",
        "3.3",
        "Continuation success from error states, RL against base",
        "FrozenLake 51.3% vs 38.6%; DeepCoder-MT 38.5% vs 22.9%",
        "paired difference averaged over both prefix sources",
        "interval above 0",
    ),
    Claim(
        "C3d",
        "3.3",
        "RL's step advantage is larger later in the trajectory (d_t = t / T_max)",
        "direction",
        "slope of the step advantage on d_t",
        "task-level interval above 0",
    ),
    Claim(
        "C4a",
        "4.1",
        "Mean action NLL under the base policy, RL actions against base actions",
        "12.20 vs 10.25",
        "ratio of means",
        "below 1.5 (locally plausible), interval given; token scope stated",
    ),
    Claim(
        "C4b",
        "4.1",
        "Cumulative log-likelihood ratio of successful trajectories, RL against base",
        "about 228 vs 26",
        "difference of means",
        "interval above 0, after the sanity checks pass",
    ),
    Claim(
        "C5",
        "4.2",
        "During standard RL training R_multi rises and per-step R_single falls (DeepCoder-MT)",
        "+0.331 and -0.097",
        "change of on-policy R_single over training; those of R_multi and of R_single on fixed "
        "probe states are printed with it",
        "95% intervals: R_multi above 0, on-policy R_single below 0, and R_single on probe states "
        "not above 0; contradicted if R_multi is below 0 or R_single on probe states above 0. "
        "Intervals are over tasks, conditional on the training seeds; the sign in each seed is "
        "printed",
    ),
    Claim(
        "C6a",
        "5.1",
        "Oracle-Q process reward and GiGPO stabilise FrozenLake across budgets",
        "direction",
        "D(8, T), paired mean difference to base, at the budget of 25%, 50%, 75% or 100% of T_max "
        "where it is least; the budget AUC against the reference arm, grpo, is printed with it",
        "D above 0 at all four budgets (sign flips, Holm, 5%), and the 95% interval of the "
        "difference in budget AUC at k=8 to grpo above 0; contradicted if D is below 0 at any of "
        "the budgets (Holm), or that interval is below 0. Tests and interval are over tasks, "
        "conditional on the training seeds; the sign of D in each seed is printed",
    ),
    Claim(
        "C6b",
        "5.1",
        "On BFCL, GiGPO and PPO do not help under constrained budgets",
        "direction",
        "difference to grpo at 25% to 75% of T_max",
        "interval not above 0",
    ),
    Claim(
        "C7a",
        "5.4",
        "BudgetMix beats full-budget RL at 25%, 50% and 75% of T_max",
        "+7.5 / +5.3 / +4.0 points on average",
        "difference to grpo in Pass@(8, T), paired by training seed, at the budget of 25%, 50% or "
        "75% of T_max where it is least",
        "in each environment above 0 at all three budgets by t tests over training seeds (two-"
        "sided, 5%, Holm over these budgets and T_max); contradicted if below 0 at any of them",
    ),
    Claim(
        "C7b",
        "5.4",
        "BudgetMix is on a par with full-budget RL at 100% of T_max",
        "parity",
        "difference to grpo in Pass@(8, T_max), paired by training seed, with its 90% interval",
        "non-inferior with a margin of 2 points: that interval (t over training seeds) is above "
        "-0.02; contradicted if the 95% interval is below -0.02",
    ),
    Claim(
        "CA",
        "appendix",
        "The same sweeps on Terminal-Bench",
        "-",
        "as C1 and C2",
        "as C1 and C2",
    ),
)
BY_NAME = {claim.claim: claim for claim in CLAIMS}


def row(claim: str, verdict: str, detail: str, **columns: Any) -> dict[str, Any]:
    """Write one row of the ledger.

    Args:
        claim: A key of `BY_NAME`.
        verdict: One of the five verdicts.
        detail: The numbers behind it, in words.
        columns: Any of `OPEN`; the others are null.

    Returns:
        A record of table `claims`.

    Raises:
        ValueError: `reproduced` is claimed for a model that is not the paper's.
    """
    if verdict == REPRODUCED and columns.get("model") not in PAPER_MODELS:
        raise ValueError(
            f"claim {claim}: model {columns.get('model')!r} cannot reproduce the paper's numbers"
        )
    declared = asdict(BY_NAME[claim])
    return declared | dict.fromkeys(OPEN) | columns | {"verdict": verdict, "detail": detail}


def assemble(estimates: pd.DataFrame, arms: Mapping[str, Arm]) -> list[dict[str, Any]]:
    """Judge every claim by every evaluator, and list the claims that none could judge.

    Args:
        estimates: Rows of table `estimates`, all metrics, environments and models.
        arms: The arms of the study, by name.

    Returns:
        Records of table `claims` in the order of declaration: one for each environment, model and
        arm that was judged, or a single `not run`.

    Raises:
        ValueError: There are estimates of an arm that is not one of the study.
    """
    trained = {str(policy) for policy in estimates.loc[estimates["seeds"] > 0, "policy"].unique()}
    if unknown := sorted({one for one in trained if not seeded(one)} - set(arms)):
        raise ValueError(f"arm {unknown[0]!r} has estimates; arms of the study: {', '.join(arms)}")
    judged: dict[str, list[dict[str, Any]]] = {claim.claim: [] for claim in CLAIMS}
    for name in registry.names("claims"):
        for record in registry.load("claims", name).judge(estimates, arms):
            judged[record["claim"]].append(record)
    missing = "Turnscope has no evaluator for this claim yet, or no estimate that it needs"
    return [
        record
        for claim, found in judged.items()
        for record in found or [row(claim, NOT_RUN, missing)]
    ]
