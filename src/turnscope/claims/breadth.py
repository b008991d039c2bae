"""Section 3.1: does RL beat base at every sampling breadth, and does the gap last (C1, C1b)?

Source:
    Rules: `turnscope.claims.ledger`. Verdicts are over the arm's mean, with intervals over tasks.
"""

from typing import Any

import pandas as pd

from turnscope.claims import ledger
from turnscope.claims._evidence import (
    Subject,
    largest_budget,
    listed,
    power,
    seeds,
    select,
    sided,
    subjects,
)


def judge(estimates: pd.DataFrame) -> list[dict[str, Any]]:
    """Judge C1 and C1b for every arm.

    Args:
        estimates: Rows of table `estimates`.

    Returns:
        Records of table `claims`.
    """
    return [
        judged(estimates, one) for one in subjects(estimates) for judged in (_every_k, _closing)
    ]


def _every_k(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    gaps = select(estimates, subject, "pass_at_k")
    t_max = largest_budget(estimates, subject)
    gaps = gaps.loc[gaps["t"] == t_max]
    if gaps.empty:
        return ledger.row("C1", ledger.NOT_RUN, "no difference at T_max", **subject._asdict())
    verdict = sided(list(gaps["band_k_low"]), list(gaps["band_k_high"]))
    lowest = gaps.to_dict("records")[int(gaps["band_k_low"].to_numpy().argmin())]
    parts = [
        f"T_max={t_max}, bands: {listed(gaps, 'k', 'band_k_low', 'band_k_high')}",
        seeds(estimates, subject, int(lowest["k"]), t_max),
    ]
    if verdict == ledger.INCONCLUSIVE:
        parts.append(power(gaps))
    return ledger.row(
        "C1",
        verdict,
        ". ".join(parts),
        value=lowest["value"],
        low=lowest["band_k_low"],
        high=lowest["band_k_high"],
        **subject._asdict(),
    )


def _closing(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    growth = select(estimates, subject, "gap_growth_k")
    if growth.empty:
        return ledger.row("C1b", ledger.NOT_RUN, "only one k has a value", **subject._asdict())
    last = growth.loc[[growth["k"].astype(int).idxmax()]]
    one = last.iloc[0]
    verdict = ledger.CONTRADICTED if one["high"] < 0 else ledger.HOLDS
    parts = [f"k_max={one['k']}, T_max={one['t']}", f"D(k) - D(1) at {listed(growth, 'k')}"]
    if verdict == ledger.HOLDS:
        # not being significant is what the rule asks for, so its power belongs beside it
        parts.append(power(last))
    return ledger.row(
        "C1b",
        verdict,
        ". ".join(parts),
        value=one["value"],
        low=one["low"],
        high=one["high"],
        **subject._asdict(),
    )
