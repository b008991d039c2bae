"""Section 3.2: how does the RL advantage at k = 8 depend on the turn budget (C2a, C2b, C2c)?

Source:
    Rules: `turnscope.claims.ledger`. Verdicts are over the arm's mean, with intervals over tasks.
"""

from typing import Any

import pandas as pd

from turnscope import budgets
from turnscope.claims import ledger
from turnscope.claims._evidence import (
    Subject,
    largest_budget,
    listed,
    power,
    seeds,
    select,
    sided,
    span,
    subjects,
)

K = 8
TIGHT = (0.1, 0.2, 0.3)
"""Shares of T_max that count as tight budgets."""
HEADROOM = 0.05
LIKELY = 0.95


def judge(estimates: pd.DataFrame) -> list[dict[str, Any]]:
    """Judge C2a, C2b and C2c for every arm.

    Args:
        estimates: Rows of table `estimates`.

    Returns:
        Records of table `claims`.
    """
    return [
        judged(estimates, one)
        for one in subjects(estimates)
        for judged in (_grows, _diminishes, _headroom)
    ]


def _at_k(estimates: pd.DataFrame, subject: Subject, metric: str, *against: None) -> pd.DataFrame:
    rows = select(estimates, subject, metric, *against)
    return rows.loc[rows["k"] == K]


def _tight(rows: pd.DataFrame, t_max: int) -> pd.DataFrame:
    return rows.loc[rows["t"].isin(budgets.grid(TIGHT, t_max))]


def _not_run(claim: str, subject: Subject, what: str) -> dict[str, Any]:
    detail = f"no {what} at k={K}: too few episodes a task, or not estimated"
    return ledger.row(claim, ledger.NOT_RUN, detail, **subject._asdict())


def _grows(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    t_max = largest_budget(estimates, subject)
    early = budgets.budget(0.3, t_max)
    growth = _at_k(estimates, subject, "gap_growth_t")
    growth = growth.loc[growth["t"] == early]
    if growth.empty:
        return _not_run("C2a", subject, f"D({K}, T_max) - D({K}, {early})")
    one = growth.iloc[0]
    verdict = sided([one["low"]], [one["high"]])
    ends = _at_k(estimates, subject, "pass_at_k")
    ends = ends.loc[ends["t"].isin([early, t_max])]
    parts = [f"T_max={t_max}. D at {listed(ends, 't')}", seeds(estimates, subject, K, t_max)]
    if verdict == ledger.INCONCLUSIVE:
        parts.append(power(growth))
    return ledger.row(
        "C2a",
        verdict,
        ". ".join(parts),
        value=one["value"],
        low=one["low"],
        high=one["high"],
        **subject._asdict(),
    )


def _diminishes(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    t_max = largest_budget(estimates, subject)
    gaps = _at_k(estimates, subject, "pass_at_k")
    tight = _tight(gaps, t_max)
    if tight.empty:
        return _not_run("C2b", subject, "difference at tight budgets")
    crosses, crossing = _crosses(estimates, subject, gaps)
    above = tight["band_t_low"].to_numpy() > 0
    last = gaps.iloc[-1]
    advantage = last["band_t_low"] > 0
    if crosses or (advantage and not above.any()):
        verdict = ledger.HOLDS
    elif above.all():
        verdict = ledger.CONTRADICTED
    else:
        verdict = ledger.INCONCLUSIVE
    highest = tight.iloc[int(tight["band_t_high"].to_numpy().argmax())]
    parts = [
        f"T_max={t_max}, bands: {listed(tight, 't', 'band_t_low', 'band_t_high')}",
        crossing,
        seeds(estimates, subject, K, int(highest["t"])),
    ]
    if verdict != ledger.CONTRADICTED and not crosses:
        # a band that is not above 0 may just be wide, so its power belongs beside it
        parts.append(power(tight))
    if not advantage and not crosses:
        ours = span(last["value"], last["band_t_low"], last["band_t_high"])
        parts.append(f"D at T_max is {ours}: no advantage was shown that could diminish")
    return ledger.row(
        "C2b",
        verdict,
        ". ".join(parts),
        value=highest["value"],
        low=highest["band_t_low"],
        high=highest["band_t_high"],
        **subject._asdict(),
    )


def _crosses(estimates: pd.DataFrame, subject: Subject, gaps: pd.DataFrame) -> tuple[bool, str]:
    """Say whether the curves cross for sure: likely by the draws, and behind by the band."""
    share = _at_k(estimates, subject, "crossover_reversal")
    turn = _at_k(estimates, subject, "crossover")
    if share.empty:
        return False, "crossover not estimated"
    probability = float(share["value"].iloc[0])
    if turn.empty:
        return False, f"no crossover: behind at T_max (crosses in {probability:.3f} of draws)"
    first = int(turn["value"].iloc[0])
    behind = bool((gaps.loc[gaps["t"] < first, "band_t_high"] < 0).any())
    text = f"T*={first}, crosses in {probability:.3f} of draws, " + (
        "behind before it by the band" if behind else "nowhere behind by the band"
    )
    return probability > LIKELY and behind, text


def _headroom(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    t_max = largest_budget(estimates, subject)
    tight = _tight(_at_k(estimates, subject, "headroom", None), t_max)
    if tight.empty:
        return _not_run("C2c", subject, "structural bound")
    verdict = sided(list(tight["low"]), list(tight["high"]), HEADROOM)
    least = tight.iloc[int(tight["low"].to_numpy().argmin())]
    parts = [f"T_max={t_max}. Bound minus {subject.policy} at {listed(tight, 't')}"]
    if verdict == ledger.INCONCLUSIVE:
        parts.append(power(tight))
    return ledger.row(
        "C2c",
        verdict,
        ". ".join(parts),
        value=least["value"],
        low=least["low"],
        high=least["high"],
        **subject._asdict(),
    )
