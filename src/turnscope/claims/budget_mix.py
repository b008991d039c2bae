"""Section 5.4: is BudgetMix better under small budgets, and no worse under the largest (C7a, C7b)?

Tests are over training seeds, paired by their number: would training both arms anew show it again?
C7a is also judged by the mean over environments, which count alike, at equal parts of T_max. Seeds
of equal number are one value there, as if the whole study were trained anew.

Source:
    Rules: `turnscope.claims._ledger`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope import budgets, intervals
from turnscope.arms import seeded
from turnscope.claims import _ledger as ledger
from turnscope.claims._evidence import (
    LEVEL,
    K,
    Subject,
    at_k,
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
    subjects,
    whole,
)
from turnscope.claims._ledger import EVERYWHERE
from turnscope.claims._seeds import each_seed
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

    def mixed(one: Subject) -> bool:
        return arms[one.policy].algorithm == ALGORITHM

    rows = judged(estimates, arms, {"C7a": _small_budgets, "C7b": _parity}, mixed)
    several: dict[Subject, list[Subject]] = {}
    for one in filter(mixed, subjects(estimates)):
        if not arms[one.policy].told:
            several.setdefault(one._replace(env=EVERYWHERE), []).append(one)
    return rows + [
        _on_average(estimates, single, mean) for mean, single in several.items() if len(single) > 1
    ]


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
    verdict = _verdict(side[small])
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


def _verdict(side: npt.NDArray[np.int64]) -> str:
    """Judge `above 0 at all small budgets` by the sides on which their differences are."""
    if (side < 0).any():
        return ledger.CONTRADICTED
    return ledger.HOLDS if (side > 0).all() else ledger.INCONCLUSIVE


def _on_average(
    estimates: pd.DataFrame, single: Sequence[Subject], mean: Subject
) -> dict[str, Any]:
    """Judge C7a by the mean over environments.

    Args:
        estimates: Rows of table `estimates`.
        single: The arm in each of them.
        mean: The arm in all of them together.
    """
    family = _means(estimates, single)
    names = ", ".join(one.env for one in single)
    if not judgeable(family):
        detail = (
            f"{names}: fewer than two training seeds that are in all of them and in the reference "
            "arm, or seeds that do not differ"
        )
        return not_run("C7a", mean, detail)
    family["p_value"] = intervals.holm(family["p_value"].to_numpy(float))
    side, _ = by_holm(family, family)
    gaps = family.loc[family["share"] < 1]
    verdict = _verdict(side[: len(gaps)])
    least = gaps.iloc[int(gaps["value"].to_numpy().argmin())]
    said = [
        f"{share:.0%} of T_max: {span(*cell)}, p={p:.4f}"
        for share, *cell, p in family[["share", "value", "low", "high", "p_value"]].to_numpy()
    ]
    parts = [
        f"Mean over {names}. Over {least['seeds']} seeds: {'; '.join(said)} (Holm)",
        *(f"{one.env}: {_shares(estimates, one)}" for one in single),
    ]
    if verdict == ledger.INCONCLUSIVE:
        parts.append(_power(gaps, LEVEL / 2 / len(family), "difference", 0.0))
    return row("C7a", mean, verdict, parts, least)


def _means(estimates: pd.DataFrame, single: Sequence[Subject]) -> pd.DataFrame:
    """Average over environments what each training seed shows at the quarters of T_max.

    Returns:
        One row for each quarter, columns `share`, `t` (null), `value`, `low`, `high`, `p_value` and
        `seeds`; none if no seed is paired in all of the environments.
    """
    pairs = [_by_seed(estimates, one) for one in single]
    seeds = sorted(set.intersection(*(set(table) for table in pairs)))
    values_SQ = np.array([np.mean([table[seed] for table in pairs], axis=0) for seed in seeds])
    return pd.DataFrame(
        {
            "share": share,
            "t": None,
            "value": values_S.mean(),
            **intervals.student(values_S)._asdict(),
            "seeds": len(seeds),
        }
        for share, values_S in zip(budgets.QUARTERS, values_SQ.T, strict=False)
    )


def _by_seed(estimates: pd.DataFrame, subject: Subject) -> dict[int, list[float]]:
    """Return the differences to the reference arm at the quarters of T_max, by training seed."""
    turns = budgets.grid(budgets.QUARTERS, largest_budget(estimates, subject))
    rival, found = reference(estimates, subject), {}
    for one in each_seed(estimates, subject):
        seed = seeded(one.policy)
        rows = at_k(estimates, one, "between_arms_pair", f"{rival}-s{seed.seed}" if seed else rival)
        at = dict(zip(rows["t"], rows["value"], strict=True))
        if seed and {*turns} <= {*at}:
            found[seed.seed] = [at[budget] for budget in turns]
    return found


def _shares(estimates: pd.DataFrame, subject: Subject) -> str:
    """List the mean over seeds in one environment, by parts of T_max."""
    turns = budgets.grid(budgets.QUARTERS, largest_budget(estimates, subject))
    rows = _quarters(estimates, subject, "between_arms_seeds")
    at = dict(zip(rows["t"], rows["value"], strict=True))
    pairs = zip(budgets.QUARTERS, turns, strict=True)
    return ", ".join(f"{share:.0%} {at[budget]:+.3f}" for share, budget in pairs if budget in at)


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
