"""Episodes played anew under a smaller budget, beside those of the largest one cut there."""

import pandas as pd

from turnscope.metrics._outcomes import Outcomes


def evened(episodes: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Keep, at each policy and task, no more of the episodes that count than others count.

    The first ones are kept. With equally many on both sides, Pass@k of the same policy has the
    same law on both, so that differences are symmetric about 0 and the sign-flip test is exact.
    """
    key = ["policy", "task_id"]
    limit = others.loc[others["success"].notna()].value_counts(key).to_frame("limit")
    ordered = episodes.sort_values([*key, "sample"])
    counts = ordered["success"].notna()
    place = counts.groupby([ordered[name] for name in key]).cumsum()
    most = ordered.join(limit, on=key)["limit"].fillna(0)
    return ordered.loc[~counts | (place <= most)]


def within(outcomes: dict[str, Outcomes], budget: int) -> dict[str, Outcomes]:
    """Select the solves within one budget, shape (N, 1)."""
    return {
        policy: Outcomes(n_N, c_NT[:, budget - 1 : budget])
        for policy, (n_N, c_NT) in outcomes.items()
    }
