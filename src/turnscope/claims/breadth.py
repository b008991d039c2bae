"""Section 3.1: does RL beat base at every sampling breadth, and does the gap last (C1, C1b)?

Verdicts are over the arm's mean, with intervals over tasks: conditional on its training seeds.

Source:
    Rules: `turnscope.claims._ledger`.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from turnscope.claims import _ledger as ledger
from turnscope.claims._evidence import (
    Subject,
    above,
    below,
    judgeable,
    judged,
    largest_budget,
    listed,
    not_run,
    power,
    row,
    select,
    span,
)
from turnscope.claims._seeds import seeds
from turnscope.types import Arm

CLOSING = 0.02
"""Largest closing of the gap that does not matter."""
BAND = "band_k_low", "band_k_high"


def judge(estimates: pd.DataFrame, arms: Mapping[str, Arm]) -> list[dict[str, Any]]:
    """Judge C1 and C1b for every arm that was trained blind.

    Args:
        estimates: Rows of table `estimates`.
        arms: The arms of the study, by name.

    Returns:
        Records of table `claims`.
    """
    return judged(estimates, arms, {"C1": _every_k, "C1b": _closing})


def _every_k(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    gaps = select(estimates, subject, "pass_at_k")
    t_max = largest_budget(estimates, subject)
    gaps = gaps.loc[gaps["t"] == t_max]
    if not judgeable(gaps, *BAND):
        return not_run("C1", subject, "no difference at T_max, or one without a band")
    if below(gaps["band_k_high"]).any():
        verdict = ledger.CONTRADICTED
    else:
        verdict = ledger.HOLDS if above(gaps["band_k_low"]).all() else ledger.INCONCLUSIVE
    lowest = gaps.to_dict("records")[int(gaps["band_k_low"].to_numpy().argmin())]
    parts = [
        f"T_max={t_max}, bands: {listed(gaps, 'k', *BAND)}",
        seeds(estimates, subject, int(lowest["k"]), t_max),
    ]
    if verdict == ledger.INCONCLUSIVE:
        parts.append(power(gaps, "difference", *BAND))
    return row("C1", subject, verdict, parts, lowest, *BAND)


def _closing(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    t_max = largest_budget(estimates, subject)
    growth = select(estimates, subject, "gap_growth_k")
    last = growth.loc[growth["k"] == growth["k"].max()]
    first = select(estimates, subject, "pass_at_k")
    first = first.loc[(first["k"] == 1) & (first["t"] == t_max)]
    if not (judgeable(last) and judgeable(first)):
        return not_run("C1b", subject, "only one k has a value, or one has no interval")
    one, start = last.iloc[0], first.iloc[0]
    advantage, stays = above(start["low"]), above(one["low"], -CLOSING)
    if below(one["high"]):
        verdict = ledger.CONTRADICTED
    else:
        verdict = ledger.HOLDS if advantage and stays else ledger.INCONCLUSIVE
    parts = [
        f"k_max={one['k']}, T_max={t_max}",
        f"D(1) is {span(start['value'], start['low'], start['high'])}"
        + ("" if advantage else ": no advantage was shown that could last"),
        f"D(k) - D(1) at {listed(growth, 'k')}",
    ]
    if verdict == ledger.INCONCLUSIVE and not advantage:
        parts.append(power(first, "D(1)"))
    if verdict == ledger.INCONCLUSIVE and not stays:
        parts.append(power(last, "D(k_max) - D(1)", threshold=-CLOSING))
    return row("C1b", subject, verdict, parts, one)
