"""Every claim of the studied paper, declared with its rule, and what a row of the ledger holds.

Source:
    Claims, values and sections: abstract-level summary of the paper "What does multi-turn
    reinforcement learning really improve in LLM agents?". Statistics and rules: ours.
"""

from dataclasses import asdict, dataclass
from typing import Any

HOLDS, CONTRADICTED, INCONCLUSIVE = "holds", "contradicted", "inconclusive"
NOT_RUN, REPRODUCED = "not run", "reproduced"
PAPER_MODELS = ("qwen3_4b", "qwen3_8b")
"""Only these can reproduce a number; others can show that a direction holds in them."""
EVERYWHERE = "all"
"""Stands in column `env` for the mean over the environments of a study."""
OPEN = ("env", "model", "policy", "value", "low", "high", "null_value", "naive_value", "code")
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
    figure: str
    """Module of the figure that shows it."""
    summary: str
    """Module of the table that shows it; `claims` holds the numbers of every claim."""


CLAIMS = (
    Claim(
        "C1",
        "3.1",
        "RL beats base at every sampling breadth k (Pass@(k, T_max))",
        "direction, all environments",
        "D(k, T_max), paired mean difference to base, at the k where its band reaches lowest",
        "the simultaneous 95% band over k is above 0 at every k; contradicted if it is below 0 at "
        "any k",
        figure="pass_at_k",
        summary="claims",
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
        figure="pass_at_k",
        summary="claims",
    ),
    Claim(
        "C2a",
        "3.2",
        "At k=8 the RL advantage grows with T",
        "direction",
        "D(8, T_max) - D(8, 0.3 T_max), paired",
        "its 95% interval is above 0, and so is the simultaneous 95% band over T of D(8, T_max); "
        "contradicted if the interval is below 0",
        figure="pass_at_t",
        summary="claims",
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
        figure="crossover",
        summary="claims",
    ),
    Claim(
        "C2c",
        "3.2",
        "Structural upper bounds leave headroom at small T",
        "direction",
        "bound minus Pass@(8, T), at the budget of 10% to 30% of T_max where it is least",
        "its 95% interval is above 0.05 at each budget of 10% to 30% of T_max; contradicted if it "
        "is below 0.05 at all of them",
        figure="pass_at_t",
        summary="claims",
    ),
    Claim(
        "C3a",
        "3.3",
        "Share of matched states where RL's step quality is better than base's (G=16 actions each)",
        "DeepCoder-MT 46.8%, FrozenLake 42.8%",
        "share of matched states in which the mean quality of RL's actions is higher by more than "
        "a tie allows; states where all actions are alike do not count. How much that is, the "
        "shares of ties and worse states, and the Mann-Whitney probability are printed with it",
        "95% intervals: the share is below 0.5, and the Mann-Whitney probability below 0.55; "
        "contradicted if the share is above 0.5, or the Mann-Whitney probability above 0.55. A "
        "policy whose actions are worse is not better either; the detail then says so. Without an "
        "effect: the share after the actions of both policies were dealt out anew in each state. "
        "Conditional on the training seeds",
        figure="step_quality",
        summary="claims",
    ),
    Claim(
        "C3b",
        "3.3",
        "On error states RL selects the better action more often",
        "FrozenLake 65.7%, DeepCoder-MT 67.3%",
        "Mann-Whitney probability in states after an error minus that in clean states; an error "
        "is told by the action before, never by those that are compared. Naive value: share of "
        "better states, without ties, of those in which base's own compared actions are poor",
        "95% interval above 0. The naive value is above 0.5 also for identical policies; what they "
        "show is printed. Conditional on the training seeds",
        figure="step_quality",
        summary="error_states",
    ),
    Claim(
        "C3c",
        "3.3",
        "Continuation success from error states, RL against base",
        "FrozenLake 51.3% vs 38.6%; DeepCoder-MT 38.5% vs 22.9%",
        "D, difference to base in the share of continuations solved from the same states after an "
        "error, with the turns that are left; averaged with equal weights over base's errors and "
        "the trained policy's. Naive: D after errors of base's lost episodes alone",
        "the 95% interval of D over tasks is above 0; contradicted if it is below 0. Conditional "
        "on the training seeds; the sign in each seed, D after either policy's errors, by each "
        "definition of an error and after injected errors are printed",
        figure="continuation",
        summary="error_states",
    ),
    Claim(
        "C3d",
        "3.3",
        "RL's step advantage is larger later in the trajectory (d_t = t / T_max)",
        "direction",
        "least-squares slope of the Mann-Whitney probability on d_t, over matched states; that of "
        "the difference in mean quality is printed with it",
        "95% intervals over tasks of both slopes above 0; contradicted if both are below 0. How "
        "much an action can change the quality may grow with depth, which the slope of the "
        "probability does not follow. Conditional on the training seeds",
        figure="depth",
        summary="claims",
    ),
    Claim(
        "C4a",
        "4.1",
        "Mean action NLL under the base policy, RL actions against base actions",
        "12.20 vs 10.25",
        "mean NLL under base of the actions of RL, divided by that of base's own; NLL of an action "
        "is a sum over all tokens sampled in the turn, its end included",
        "locally plausible: the 95% interval is below 1.5; contradicted if it is above",
        figure="nll",
        summary="claims",
    ),
    Claim(
        "C4b",
        "4.1",
        "Cumulative log-likelihood ratio of successful trajectories, RL against base",
        "about 228 vs 26",
        "log-probability under RL minus that under base, summed over an episode: mean of RL's "
        "successful episodes minus mean of base's",
        "the 95% interval is above 0; contradicted if it is below. It is judged only if all sanity "
        "checks of the likelihoods could be made and passed, for the arm and each of its seeds",
        figure="llr",
        summary="sanity",
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
        figure="training_curves",
        summary="claims",
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
        figure="process_supervision",
        summary="budget_mix",
    ),
    Claim(
        "C6b",
        "5.1",
        "On BFCL, GiGPO and PPO do not help under constrained budgets",
        "direction",
        "difference to grpo in Pass@(8, T), paired by task, at the budget of 25%, 50% or 75% of "
        "T_max where it is largest",
        "a gain of 2 points is ruled out: 95% intervals below 0.02 at all three budgets; "
        "contradicted if above 0 at any of them (sign flips, 5%, Holm over these budgets and "
        "T_max). Intervals and tests are over tasks, conditional on the training seeds; the "
        "difference in each seed is printed",
        figure="process_supervision",
        summary="budget_mix",
    ),
    Claim(
        "C7a",
        "5.4",
        "BudgetMix beats full-budget RL at 25%, 50% and 75% of T_max",
        "+7.5 / +5.3 / +4.0 points on average",
        "difference to grpo in Pass@(8, T), paired by training seed, at the budget of 25%, 50% or "
        "75% of T_max where it is least; with several environments also its mean over them, at "
        "equal parts of T_max (env `all`)",
        "in each environment, and in their mean, above 0 at all three budgets by t tests over "
        "training seeds (two-sided, 5%, Holm over these budgets and T_max); contradicted if below "
        "0 at any of them",
        figure="budget_mix",
        summary="budget_mix",
    ),
    Claim(
        "C7b",
        "5.4",
        "BudgetMix is on a par with full-budget RL at 100% of T_max",
        "parity",
        "difference to grpo in Pass@(8, T_max), paired by training seed, with its 90% interval",
        "non-inferior with a margin of 2 points: that interval (t over training seeds) is above "
        "-0.02; contradicted if the 95% interval is below -0.02",
        figure="budget_mix",
        summary="budget_mix",
    ),
    Claim(
        "CA",
        "appendix",
        "The same sweeps on Terminal-Bench",
        "-",
        "as C1 and C2",
        "as C1 and C2",
        figure="pass_at_t",
        summary="claims",
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
