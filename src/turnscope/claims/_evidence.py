"""What the evaluators of claims share: whom to judge, which rows speak, and how to say it.

Evaluators compute no statistics: every number is a row of table `estimates`.

Source:
    The verdicts are those of `turnscope.claims.ledger`.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from turnscope import intervals
from turnscope.claims.ledger import CONTRADICTED, HOLDS, INCONCLUSIVE

BASE = "base"


class Subject(NamedTuple):
    """One arm, judged by its mean over training seeds."""

    env: str
    model: str
    policy: str


def subjects(estimates: pd.DataFrame) -> list[Subject]:
    """List the arms that were compared with base, sorted."""
    compared = (estimates["metric"] == "pass_at_k") & (estimates["against"] == BASE)
    trained = estimates.loc[compared & (estimates["seeds"] > 0), ["env", "model", "policy"]]
    found = {Subject(*one) for one in trained.itertuples(index=False)}
    return sorted(one for one in found if not re.fullmatch(r".+-s\d+", one.policy))


def largest_budget(estimates: pd.DataFrame, subject: Subject) -> int:
    """Return T_max of the comparison, turns."""
    here = (estimates["env"] == subject.env) & (estimates["model"] == subject.model)
    return int(estimates.loc[here & (estimates["metric"] == "pass_at_k"), "t"].to_numpy().max())


def select(
    estimates: pd.DataFrame, subject: Subject, metric: str, against: str | None = BASE
) -> pd.DataFrame:
    """Select the rows of one metric that have a value, ordered by k and t."""
    chosen = estimates.loc[
        (estimates["metric"] == metric)
        & (estimates["env"] == subject.env)
        & (estimates["model"] == subject.model)
        & (estimates["policy"] == subject.policy)
        & (estimates["against"].isna() if against is None else estimates["against"] == against)
        & estimates["value"].notna()
    ]
    return chosen.sort_values(by=["k", "t"])


def sided(lows: Sequence[float], highs: Sequence[float], threshold: float = 0.0) -> str:
    """Judge `all are above the threshold`: holds, its mirror image, or neither."""
    if all(low > threshold for low in lows):
        return HOLDS
    return CONTRADICTED if all(high < threshold for high in highs) else INCONCLUSIVE


def span(value: float, low: float, high: float) -> str:
    """Write an estimate with its interval."""
    return f"{value:+.3f} [{low:+.3f}, {high:+.3f}]"


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


def power(rows: pd.DataFrame) -> str:
    """Say which true difference would have been found, from the widest pointwise interval."""
    least = max(
        intervals.detectable(low, high)
        for low, high in rows[["low", "high"]].itertuples(index=False)
    )
    return f"a true difference of {least:.3f} would be found with 80% power"


def seeds(estimates: pd.DataFrame, subject: Subject, k: int, t: int) -> str:
    """Say what the training seeds alone show at one k and T."""
    found = select(estimates, subject, "over_seeds")
    found = found.loc[(found["k"] == k) & (found["t"] == t)]
    if found.empty:
        return "over seeds: not estimated"
    one = found.iloc[0]
    if one["seeds"] < 2:
        return "one training seed: conditional on one checkpoint"
    if pd.isna(one["low"]):
        return f"over {one['seeds']} seeds: {one['value']:+.3f}, no spread"
    interval = span(one["value"], one["low"], one["high"])
    return f"over {one['seeds']} seeds at k={k}, T={t}: {interval} (t, {one['seeds'] - 1} df)"
