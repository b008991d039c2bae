"""Which verdicts and tests are counted, and when each of them says that there is an effect.

Each looks at the findings of one study. Tests are two-sided at 5% and intervals hold 95%, so none
may find more than 5% of effects that are not there. Claims that ask for several things at once find
fewer. C2c (headroom below a bound) and CA are about no difference between policies, C7b holds
without one; they are not counted, but C7b is judged at the very margin that it must tell.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from turnscope.calibration.scenarios import BASE
from turnscope.calibration.studies import COMPARED, Design, Findings
from turnscope.claims._evidence import above, below
from turnscope.claims._ledger import CONTRADICTED, HOLDS, NOT_RUN
from turnscope.intervals import NONINFERIORITY

LEVEL = 0.05
EVEN = 0.5
"""Probability of the better action, and share of the better states, without any difference."""
MIX, GIGPO = "budget_mix", "gigpo"

Finds = Callable[[Findings], bool | None]
"""Says whether a study found an effect; None if it could not tell."""


class Family(NamedTuple):
    """What is counted in studies without the effect."""

    name: str
    scenario: str
    finds: Finds


def verdict(claim: str, arm: str, *effects: str) -> Finds:
    """Find an effect where a claim is judged one of some ways."""

    def finds(findings: Findings) -> bool | None:
        judged = findings.verdicts.get((claim, arm), NOT_RUN)
        return None if judged == NOT_RUN else judged in effects

    return finds


def excludes(metric: str, null: float = 0.0, **of: Any) -> Finds:
    """Find an effect where the interval does not hold a value."""

    def finds(findings: Findings) -> bool | None:
        cell = findings.at(metric, **of)
        if cell is None or not cell.low <= cell.high:
            return None
        return bool(above(cell.low, null) or below(cell.high, null))

    return finds


def rejects(metric: str, **of: Any) -> Finds:
    """Find an effect where the p-value is below 5%."""

    def finds(findings: Findings) -> bool | None:
        cell = findings.at(metric, **of)
        return None if cell is None or cell.p_value != cell.p_value else cell.p_value < LEVEL

    return finds


def nulls(design: Design) -> list[Family]:
    """List the families in which nothing is to be found."""
    either = HOLDS, CONTRADICTED
    claims = {
        "C1": (COMPARED, either),
        "C1b": (COMPARED, either),
        "C2a": (COMPARED, either),
        "C2b": (COMPARED, either),
        "C3a": (COMPARED, (CONTRADICTED,)),
        "C3b": (COMPARED, either),
        "C3c": (COMPARED, either),
        "C3d": (COMPARED, either),
        "C4a": (COMPARED, (CONTRADICTED,)),
        "C4b": (COMPARED, either),
        "C5": (COMPARED, either),
        "C6a": (GIGPO, either),
        "C7a": (MIX, either),
        "C7b": (MIX, (CONTRADICTED,)),
    }
    return [
        *(
            Family(f"{claim}: {' or '.join(words)}", "null", verdict(claim, arm, *words))
            for claim, (arm, words) in claims.items()
        ),
        *(Family(name, "null", finds) for name, finds in _of_outcomes(design).items()),
        *(Family(name, "null", finds) for name, finds in _of_steps().items()),
        Family(
            f"C7b: holds at a true loss of {NONINFERIORITY}", "margin", verdict("C7b", MIX, HOLDS)
        ),
    ]


def _of_outcomes(design: Design) -> dict[str, Finds]:
    """Say what is looked for in episodes and evaluations, by family."""
    last, k = {"t": design.t_max}, {"k": design.k}
    mix = {"policy": MIX, "against": COMPARED}
    return {
        "Pass@(8,T_max): interval": excludes("pass_at_k", **k, **last),
        "Pass@(8,T_max): sign flips": rejects("pass_at_k", **k, **last),
        "budget AUC: interval": excludes("budget_auc", **k),
        "Pass@(8,T_max), two arms: interval": excludes("between_arms", **mix, **k, **last),
        "Pass@(8,T_max), two arms: over seeds": rejects("between_arms_seeds", **mix, **k, **last),
        "Pass@(8,T_max): over seeds": rejects("over_seeds", **k, **last),
        "solved sets at T_max: McNemar": rejects("swap", policy=f"{COMPARED}-s0", **last),
        "hazard odds: interval": excludes("hazard_odds"),
        "truncation: sign flips": rejects(
            "truncation", policy=BASE, against=BASE, **k, t=design.again
        ),
        "R_multi, change: interval": excludes("r_multi_change", t=1),
        "R_single, change: interval": excludes("r_single_change", t=1),
        "R_single on probe states, change: interval": excludes("r_single_probe_change", t=1),
    }


def _of_steps() -> dict[str, Finds]:
    """Say what is looked for in matched states and likelihoods, by family."""
    return {
        "better action, all states: interval": excludes("step_win", EVEN, part="mixture/all"),
        "better action, error states: interval": excludes("step_win", EVEN, part="mixture/error"),
        "better action, injected errors: interval": excludes(
            "step_win", EVEN, part="mixture/injected"
        ),
        "quality of actions, all states: interval": excludes("step_gap", part="mixture/all"),
        "quality of actions, on-policy average: interval": excludes(
            "step_visited_gap", part="trained/all"
        ),
        "continuation, base's errors: interval": excludes("continuation_gap", part="base/error"),
        "continuation, injected errors: interval": excludes(
            "continuation_gap", part="mixture/injected"
        ),
        "continuation, prefix by policy: interval": excludes(
            "continuation_interaction", part="both/error"
        ),
        "NLL ratio: interval": excludes("nll_ratio", 1.0),
    }


def naive() -> list[Family]:
    """List the protocols that find effects where there are none."""
    return [
        Family(
            "naive: share of better states against one half",
            "null",
            excludes("step_better", EVEN, part="mixture/all"),
        ),
        Family(
            "naive: error states by base's own actions",
            "null",
            excludes("naive_error_win", EVEN, part="mixture/all"),
        ),
        Family(
            "naive: error states of base's lost episodes",
            "others",
            excludes("naive_continuation_gap", part="base/error"),
        ),
        Family(
            "naive: error states of the trained policy's lost episodes",
            "others",
            excludes("naive_continuation_mirror", part="trained/error"),
        ),
    ]
