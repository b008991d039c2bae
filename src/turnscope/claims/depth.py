"""Section 3.2: how does the RL advantage at k = 8 depend on the turn budget (C2a, C2b, C2c)?

Verdicts are over the arm's mean, with intervals over tasks: conditional on its training seeds.

Source:
    Rules: `turnscope.claims._ledger`.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from turnscope import budgets
from turnscope.claims import _ledger as ledger
from turnscope.claims._evidence import (
    K,
    Subject,
    above,
    at_k,
    below,
    judgeable,
    judged,
    largest_budget,
    listed,
    not_run,
    power,
    row,
    sided,
    span,
)
from turnscope.claims._seeds import seeds
from turnscope.types import Arm

TIGHT = (0.1, 0.2, 0.3)
"""Shares of T_max that count as tight budgets."""
HEADROOM = 0.05
LIKELY = 0.95
BAND = "band_t_low", "band_t_high"


def judge(estimates: pd.DataFrame, arms: Mapping[str, Arm]) -> list[dict[str, Any]]:
    """Judge C2a, C2b and C2c for every arm that was trained blind.

    Args:
        estimates: Rows of table `estimates`.
        arms: The arms of the study, by name.

    Returns:
        Records of table `claims`.
    """
    return judged(estimates, arms, {"C2a": _grows, "C2b": _diminishes, "C2c": _headroom})


def _tight(rows: pd.DataFrame, t_max: int) -> pd.DataFrame:
    return rows.loc[rows["t"].isin(budgets.grid(TIGHT, t_max))]


def _missing(claim: str, subject: Subject, what: str) -> dict[str, Any]:
    detail = f"no {what} at k={K}: too few episodes a task, not estimated, or without interval"
    return not_run(claim, subject, detail)


def _grows(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    t_max = largest_budget(estimates, subject)
    early = budgets.budget(0.3, t_max)
    growth = at_k(estimates, subject, "gap_growth_t")
    growth = growth.loc[growth["t"] == early]
    ends = at_k(estimates, subject, "pass_at_k")
    ends = ends.loc[ends["t"].isin([early, t_max])]
    last = ends.loc[ends["t"] == t_max]
    if not (judgeable(growth) and judgeable(last, *BAND)):
        return _missing("C2a", subject, f"D({K}, T_max) - D({K}, {early})")
    one, advantage = growth.iloc[0], above(last.iloc[0]["band_t_low"])
    verdict = grows = sided(growth)
    if grows == ledger.HOLDS and not advantage:
        verdict = ledger.INCONCLUSIVE
    parts = [f"T_max={t_max}. D, bands: {listed(ends, 't', *BAND)}"]
    parts.append(seeds(estimates, subject, K, t_max))
    if not advantage:
        parts.append("no advantage was shown at T_max")
    if verdict == ledger.INCONCLUSIVE and not advantage:
        parts.append(power(last, "D at T_max", *BAND))
    if grows == ledger.INCONCLUSIVE:
        parts.append(power(growth, "growth"))
    return row("C2a", subject, verdict, parts, one)


def _diminishes(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    t_max = largest_budget(estimates, subject)
    gaps = at_k(estimates, subject, "pass_at_k")
    tight, last = _tight(gaps, t_max), gaps.loc[gaps["t"] == t_max]
    if not (judgeable(tight, *BAND) and judgeable(last, *BAND)):
        return _missing("C2b", subject, "difference at tight budgets")
    crosses, crossing = _crosses(estimates, subject, gaps)
    leads = above(tight["band_t_low"])
    advantage = above(last.iloc[0]["band_t_low"])
    if advantage and (crosses or not leads.any()):
        verdict = ledger.HOLDS
    else:
        verdict = ledger.CONTRADICTED if leads.all() else ledger.INCONCLUSIVE
    highest = tight.iloc[int(tight["band_t_high"].to_numpy().argmax())]
    parts = [
        f"T_max={t_max}, bands: {listed(tight, 't', *BAND)}",
        crossing,
        seeds(estimates, subject, K, int(highest["t"])),
    ]
    if verdict != ledger.CONTRADICTED and not crosses:
        # a band that is not above 0 may just be wide, so its power belongs beside it
        parts.append(power(tight, "difference", *BAND))
    if not advantage:
        ours = span(*last.iloc[0][["value", *BAND]])
        parts.append(f"D at T_max is {ours}: no advantage was shown that could diminish")
    return row("C2b", subject, verdict, parts, highest, *BAND)


def _crosses(estimates: pd.DataFrame, subject: Subject, gaps: pd.DataFrame) -> tuple[bool, str]:
    """Say whether the curves cross for sure: likely by the draws, and behind by the band."""
    share = at_k(estimates, subject, "crossover_reversal")
    turn = at_k(estimates, subject, "crossover")
    if share.empty:
        return False, "crossover not estimated"
    probability = float(share["value"].iloc[0])
    if turn.empty:
        return False, f"no crossover: behind at T_max (crosses in {probability:.3f} of draws)"
    first = int(turn["value"].iloc[0])
    behind = bool(below(gaps.loc[gaps["t"] < first, "band_t_high"]).any())
    text = f"T*={first}, crosses in {probability:.3f} of draws, " + (
        "behind before it by the band" if behind else "nowhere behind by the band"
    )
    return probability > LIKELY and behind, text


def _headroom(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    t_max = largest_budget(estimates, subject)
    tight = _tight(at_k(estimates, subject, "headroom", None), t_max)
    if not judgeable(tight):
        return _missing("C2c", subject, "structural bound")
    verdict = sided(tight, HEADROOM)
    least = tight.iloc[int(tight["low"].to_numpy().argmin())]
    parts = [f"T_max={t_max}. Bound minus {subject.policy} at {listed(tight, 't')}"]
    if verdict == ledger.INCONCLUSIVE:
        parts.append(power(tight, "headroom", threshold=HEADROOM))
    return row("C2c", subject, verdict, parts, least)
