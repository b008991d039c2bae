"""Effects that are there: what finds them, what decides it, and what is true."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from turnscope import budgets
from turnscope.calibration import scenarios
from turnscope.calibration.families import EVEN, MIX, Finds, verdict
from turnscope.calibration.studies import COMPARED, Cell, Design, Findings
from turnscope.claims._evidence import above
from turnscope.claims._ledger import HOLDS

Floats = npt.NDArray[np.float64]
Gaps = Mapping[str, Floats]
"""True difference in Pass@(k,T) to base of each arm of a scenario, shape (K, T_max)."""


class Rule(NamedTuple):
    """What must lie beyond what for an effect to be found: all of it at once."""

    values: tuple[float, ...]
    """Estimates, as distances to the threshold."""
    margins: tuple[float, ...]
    """By how much each must exceed it: half an interval or band."""


class Planted(NamedTuple):
    """What is counted in studies with an effect."""

    name: str
    scenario: str
    finds: Finds
    rule: Callable[[Findings], Rule | None]
    exact: Callable[[Gaps], list[float]] | None = None
    """True values of the estimates; where None, their mean over the studies stands for them."""
    over_seeds: bool = False
    """Whether t tests over training seeds decide, Holm over all of the values but for the last to
    be found."""


class Look(NamedTuple):
    """A number of table `estimates` that must lie above a threshold."""

    metric: str
    of: dict[str, Any]
    low: str = "low"
    """Its end that must."""
    threshold: float = 0.0


def rule(looks: list[Look], findings: Findings) -> Rule | None:
    """Collect what decides; None if any of it was not estimated."""
    cells = [findings.at(look.metric, **look.of) for look in looks]
    known: list[Cell] = [cell for cell in cells if cell is not None]
    if len(known) < len(cells):
        return None
    ends = [getattr(cell, look.low) for cell, look in zip(known, looks, strict=True)]
    return Rule(
        tuple(cell.value - look.threshold for cell, look in zip(known, looks, strict=True)),
        tuple(cell.value - end for cell, end in zip(known, ends, strict=True)),
    )


def families(design: Design) -> list[Planted]:
    """List the families in which something is to be found."""
    return [*_outcomes(design), *_steps()]


def _outcomes(design: Design) -> list[Planted]:
    """List those whose truth is known exactly."""
    ks, last = list(design.ks), design.t_max
    at_k, early = ks.index(design.k), budgets.budget(0.3, last)
    quarters = budgets.grid(budgets.QUARTERS, last)
    gaps = [Look("pass_at_k", {"k": k, "t": last}, "band_k_low") for k in ks]
    growth = [
        Look("gap_growth_t", {"k": design.k, "t": early}),
        Look("pass_at_k", {"k": design.k, "t": last}, "band_t_low"),
    ]
    one = [Look("pass_at_k", {"k": design.k, "t": last})]
    mix = {"policy": MIX, "against": COMPARED, "k": design.k}
    over_seeds = [Look("between_arms_seeds", mix | {"t": turns}) for turns in quarters]

    def every_k(gaps: Gaps) -> list[float]:
        return gaps[COMPARED][:, -1].tolist()

    def grown(gaps: Gaps) -> list[float]:
        gap_T = gaps[COMPARED][at_k]
        return [float(gap_T[-1] - gap_T[early - 1]), float(gap_T[-1])]

    def at_last(gaps: Gaps) -> list[float]:
        return [float(gaps[COMPARED][at_k, -1])]

    def of_arms(gaps: Gaps) -> list[float]:
        gap_T = (gaps[MIX] - gaps[COMPARED])[at_k]
        return [float(gap_T[turns - 1]) for turns in quarters]

    skill, late = scenarios.SKILL.name, scenarios.LATE.name
    return [
        Planted("C1: holds", skill, verdict("C1", COMPARED, HOLDS), partial(rule, gaps), every_k),
        Planted("C2a: holds", late, verdict("C2a", COMPARED, HOLDS), partial(rule, growth), grown),
        Planted(
            "Pass@(8,T_max): interval above 0",
            skill,
            _above(one[0]),
            partial(rule, one),
            at_last,
        ),
        Planted(
            "C7a: holds",
            skill,
            verdict("C7a", MIX, HOLDS),
            partial(rule, over_seeds),
            of_arms,
            over_seeds=True,
        ),
    ]


def _steps() -> list[Planted]:
    """List those on single actions and likelihoods."""
    skill, errors, late = scenarios.SKILL.name, scenarios.ERRORS.name, scenarios.LATE.name
    everywhere = {"part": "mixture/all"}
    claims = {
        "C3b": (errors, [Look("step_error_contrast", {"part": "mixture/error"})]),
        "C3c": (errors, [Look("continuation_both", {"part": "both/error"})]),
        "C3d": (late, [Look(name, everywhere) for name in ("step_win_slope", "step_slope")]),
        "C4b": (skill, [Look("llr_gap", {})]),
    }
    tests = {
        "better action, all states: interval above 1/2": (
            skill,
            Look("step_win", {"part": "mixture/all"}, threshold=EVEN),
        ),
        "better action, error states: interval above 1/2": (
            errors,
            Look("step_win", {"part": "mixture/error"}, threshold=EVEN),
        ),
        "continuation, injected errors: interval above 0": (
            skill,
            Look("continuation_gap", {"part": "mixture/injected"}),
        ),
        "R_single on probe states, change: interval above 0": (
            skill,
            Look("r_single_probe_change", {"t": 1}),
        ),
    }
    return [
        *(
            Planted(f"{claim}: holds", where, verdict(claim, COMPARED, HOLDS), partial(rule, looks))
            for claim, (where, looks) in claims.items()
        ),
        *(
            Planted(name, where, _above(look), partial(rule, [look]))
            for name, (where, look) in tests.items()
        ),
    ]


def _above(look: Look) -> Finds:
    """Find an effect where an interval lies above a threshold."""

    def finds(findings: Findings) -> bool | None:
        cell = findings.at(look.metric, **look.of)
        return None if cell is None else bool(above(cell.low, look.threshold))

    return finds
