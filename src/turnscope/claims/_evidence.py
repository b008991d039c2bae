"""What the evaluators of claims share: whom to judge, which rows speak, and how to say it.

Evaluators estimate nothing: every number is a row of table `estimates`, or a mean of rows over
environments. Where not said otherwise, an arm is judged by the mean over its training seeds with
intervals over tasks, so a verdict is about these seeds: it is conditional on them, and says what
training anew would give only as far as they agree.

What `pass_at_k` and the differences between arms hold is blind play. An arm that was trained seeing
the turns left was not trained for it, and is not judged by it.

Source:
    The verdicts are those of `turnscope.claims._ledger`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.typing import ArrayLike

from turnscope import budgets, intervals
from turnscope.arms import arm_of, seeded
from turnscope.claims import _ledger as ledger
from turnscope.claims._ledger import CONTRADICTED, HOLDS, INCONCLUSIVE
from turnscope.types import Arm

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
BASE = "base"
REFERENCE = "grpo"
"""Arm that others are compared with, where no other is named."""
LEVEL = 0.05
K = 8
"""Episodes per task at which the paper studies depth."""


class Subject(NamedTuple):
    """One arm, judged by its mean over training seeds."""

    env: str
    model: str
    policy: str


Rule = Callable[[pd.DataFrame, Subject], dict[str, Any]]
"""Judges one claim for one arm by the estimates; gives a record of table `claims`."""


def subjects(estimates: pd.DataFrame) -> list[Subject]:
    """List the arms that were compared with base, sorted."""
    compared = (estimates["metric"] == "pass_at_k") & (estimates["against"] == BASE)
    trained = estimates.loc[compared & (estimates["seeds"] > 0), ["env", "model", "policy"]]
    found = {Subject(*one) for one in trained.itertuples(index=False)}
    return sorted(one for one in found if not seeded(one.policy))


def judged(
    estimates: pd.DataFrame,
    arms: Mapping[str, Arm],
    rules: Mapping[str, Rule],
    where: Callable[[Subject], bool] = lambda _: True,
) -> list[dict[str, Any]]:
    """Judge claims on blind play for the arms that were trained for it.

    Args:
        estimates: Rows of table `estimates`.
        arms: The arms of the study, by name.
        rules: What judges an arm, by claim.
        where: Says which arms the claims are about.

    Returns:
        Records of table `claims`: arm by arm, and after them as not run those of the arms that were
        trained seeing the turns left. A rule sees the rows of its arm, of base and of the bound.
    """
    found = list(filter(where, subjects(estimates)))
    arm = estimates["policy"].map(arm_of)
    shared = arm.isin([BASE, "bound"]) | (estimates["metric"] == "between_arms")
    blind = [one for one in found if not arms[one.policy].told]
    own = {one: estimates.loc[shared | (arm == one.policy)] for one in blind}
    rows = [rule(own[one], one) for one in blind for rule in rules.values()]
    return rows + [
        not_run(
            claim,
            one,
            f"{one.policy} was trained seeing the turns left, and this claim is judged by episodes "
            "that do not show them; metric `told` says what it achieves",
        )
        for one in found
        if arms[one.policy].told
        for claim in rules
    ]


def row(
    claim: str,
    subject: Subject,
    verdict: str,
    parts: Iterable[str],
    one: Mapping[Any, Any] | pd.Series,
    low: str = "low",
    high: str = "high",
    **columns: Any,
) -> dict[str, Any]:
    """Write the row of a claim that was judged.

    Args:
        claim: A key of `ledger.BY_NAME`.
        subject: Whom it was judged for.
        verdict: Holds, contradicted or inconclusive.
        parts: The numbers behind it, in sentences without their stops.
        one: Row of table `estimates`, the number that stands for the claim.
        low: Column of its lower end.
        high: Column of its upper end.
        columns: Others of `ledger.OPEN`.
    """
    shown = {"value": one["value"], "low": one[low], "high": one[high]} | columns
    return ledger.row(claim, verdict, ". ".join(parts), **shown, **subject._asdict())


def not_run(claim: str, subject: Subject, why: str) -> dict[str, Any]:
    """Write the row of a claim that could not be judged."""
    return ledger.row(claim, ledger.NOT_RUN, why, **subject._asdict())


def reference(estimates: pd.DataFrame, subject: Subject) -> str:
    """Return the arm that the others of its environment and model were compared with."""
    here = (estimates["env"] == subject.env) & (estimates["model"] == subject.model)
    found = estimates.loc[here & (estimates["metric"] == "between_arms"), "against"]
    return REFERENCE if found.empty else str(found.iloc[0])


def largest_budget(estimates: pd.DataFrame, subject: Subject) -> int:
    """Return T_max of the comparison, turns."""
    here = (estimates["env"] == subject.env) & (estimates["model"] == subject.model)
    return int(estimates.loc[here & (estimates["metric"] == "pass_at_k"), "t"].to_numpy().max())


def select(
    estimates: pd.DataFrame,
    subject: Subject,
    metric: str,
    against: str | None = BASE,
    part: str | None = None,
) -> pd.DataFrame:
    """Select the rows of one metric and part that have a value, ordered by k and t."""
    chosen = estimates.loc[
        (estimates["metric"] == metric)
        & (estimates["env"] == subject.env)
        & (estimates["model"] == subject.model)
        & (estimates["policy"] == subject.policy)
        & (estimates["against"].isna() if against is None else estimates["against"] == against)
        & (estimates["part"].isna() if part is None else estimates["part"] == part)
        & estimates["value"].notna()
    ]
    return chosen.sort_values(by=["k", "t"]) if len(chosen) > 1 else chosen


def at_k(
    estimates: pd.DataFrame, subject: Subject, metric: str, against: str | None = BASE
) -> pd.DataFrame:
    """Select the rows of one metric at k = 8."""
    rows = select(estimates, subject, metric, against)
    return rows.loc[rows["k"] == K]


def at_quarters(
    estimates: pd.DataFrame, subject: Subject, metric: str, against: str | None = BASE
) -> pd.DataFrame:
    """Select the rows of one metric at k = 8 and the quarters of T_max."""
    quarters = budgets.grid(budgets.QUARTERS, largest_budget(estimates, subject))
    rows = at_k(estimates, subject, metric, against)
    return rows.loc[rows["t"].isin(quarters)]


def whole(t_max: int, *families: pd.DataFrame) -> bool:
    """Say whether tables hold every quarter of T_max and no other budget."""
    quarters = set(budgets.grid(budgets.QUARTERS, t_max))
    return all(set(rows["t"]) == quarters for rows in families)


def judgeable(rows: pd.DataFrame, low: str = "low", high: str = "high") -> bool:
    """Say whether there are rows and all have an interval or band, as a verdict needs."""
    return not rows.empty and bool(rows.loc[:, [low, high]].notna().to_numpy().all())


def above(ends: ArrayLike, threshold: float = 0.0) -> Bools:
    """Say which ends lie above a threshold; equal shares may differ by rounding, which is not."""
    return np.asarray(ends, float) > threshold + intervals.NOISE


def below(ends: ArrayLike, threshold: float = 0.0) -> Bools:
    """Say which ends lie below a threshold, by more than rounding."""
    return np.asarray(ends, float) < threshold - intervals.NOISE


def sided(rows: pd.DataFrame, threshold: float = 0.0) -> str:
    """Judge `all intervals are above the threshold`: holds, its mirror image, or neither."""
    if above(rows["low"], threshold).all():
        return HOLDS
    return CONTRADICTED if below(rows["high"], threshold).all() else INCONCLUSIVE


def by_holm(rows: pd.DataFrame, adjusted: pd.DataFrame) -> tuple[Ints, str]:
    """Judge a family of differences at 5%.

    Args:
        rows: Rows of table `estimates`, one for each T.
        adjusted: Their p-values after Holm, as rows of the same T in the same order.

    Returns:
        1 above 0, -1 below it and 0 neither, for each row; and the adjusted p-values in words.
    """
    p_T = adjusted["p_value"].to_numpy(float)
    side = np.sign(rows["value"].to_numpy(float)) * (p_T < LEVEL)
    pairs = zip(rows["t"], p_T, strict=True)
    return side.astype(np.int64), "; ".join(f"T={t}: p={p:.4f}" for t, p in pairs)


def span(value: float, low: float, high: float) -> str:
    """Write an estimate with its interval, if it has one."""
    known = not np.isnan([low, high]).any()
    return f"{value:+.3f} [{low:+.3f}, {high:+.3f}]" if known else f"{value:+.3f}, no interval"


def listed(rows: pd.DataFrame, by: str, low: str = "low", high: str = "high") -> str:
    """Write the estimates of some rows, one after the other.

    Args:
        rows: Rows of table `estimates`.
        by: `k` or `t`, whose value names each.
        low: Column of the lower end.
        high: Column of the upper end.
    """
    name = {"k": "k", "t": "T"}[by]
    return "; ".join(
        f"{name}={label}: {span(*cell)}"
        for label, *cell in rows[[by, "value", low, high]].itertuples(index=False)
    )


def power(
    rows: pd.DataFrame,
    what: str,
    low: str = "low",
    high: str = "high",
    threshold: float = 0.0,
) -> str:
    """Say which true value a test would have found, at the cell where that is hardest.

    Args:
        rows: Rows of table `estimates`, each tested by itself.
        what: Name of the value.
        low: Column of the lower end that must lie above the threshold; may be that of a band.
        high: Column of the upper end.
        threshold: What is tested against.
    """
    tested = zip(rows[low], rows[high], rows["low"], rows["high"], strict=True)
    least = threshold + max(
        intervals.detectable(first, last, intervals.standard_error(*pointwise))
        for first, last, *pointwise in tested
    )
    alone = ", each by itself" if len(rows) > 1 else ""
    return f"a true {what} of at least {least:.3f} would be found with 80% power{alone}"
