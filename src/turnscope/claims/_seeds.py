"""What single training seeds show, of which tests and intervals over tasks know nothing."""

from collections.abc import Iterable, Sequence

import pandas as pd

from turnscope.arms import seeded
from turnscope.claims._evidence import Subject, above, below, select, span


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
        return f"over {one['seeds']} seeds: {one['value']:+.3f}, no interval"
    interval = span(one["value"], one["low"], one["high"])
    return f"over {one['seeds']} seeds at k={k}, T={t}: {interval} (t)"


def each_seed(estimates: pd.DataFrame, subject: Subject) -> list[Subject]:
    """List the training seeds of an arm that have estimates, by number."""
    numbers = {
        one.seed: policy
        for policy in estimates["policy"].unique()
        if (one := seeded(policy)) and one.arm == subject.policy
    }
    return [subject._replace(policy=policy) for _, policy in sorted(numbers.items())]


def agreement(values: Sequence[float]) -> str:
    """Write the values of single training seeds, and how many of them are above and below 0."""
    if not len(values):
        return "not estimated"
    up, down = int(above(values).sum()), int(below(values).sum())
    listed = ", ".join(f"{value:+.3f}" for value in values)
    return f"{listed} ({up} above 0 and {down} below of {len(values)})"


def firsts(found: Iterable[pd.DataFrame], null: float = 0.0) -> list[float]:
    """Return the first value of each table that has one, minus `null`."""
    return [float(rows["value"].iloc[0]) - null for rows in found if not rows.empty]


def at_budgets(found: Iterable[pd.DataFrame], name: str) -> str:
    """Write the values of single training seeds at each T.

    Args:
        found: Rows of table `estimates` of each seed.
        name: What they are, with which the text begins.
    """
    some = [rows for rows in found if not rows.empty]
    if not some:
        return "By training seed: not estimated"
    by_t = pd.concat(some).groupby("t")
    return f"{name} at {'; '.join(f'T={t}: {agreement([*part.value])}' for t, part in by_t)}"
