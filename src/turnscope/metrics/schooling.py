"""What training cost and was spent on, from the curves of every step.

Metrics, by policy and arm (k is null):

- `waste` (t is null): share of groups whose episodes all got the same return, so that credit
  relative to the group taught nothing; the mean over steps.
- `budget_share`: share of groups that were played under t turns; the mean over steps. A budget that
  did not occur in a step has no row there and counts as 0. Of budgets that never occurred there is
  no row here either.
- `tokens_trained` (t is null): tokens that the policy had sampled by its last step.

An arm is the mean over its training seeds, with the t interval of S - 1 degrees of freedom; a
single seed has none. Curves know nothing of single tasks: columns `tasks` and `samples` are 0.

Source:
    t interval on means of seeds: Agarwal et al. 2021, arXiv:2108.13264.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from turnscope import intervals, schemas
from turnscope.metrics import Settings
from turnscope.metrics._outcomes import only
from turnscope.metrics._rows import joined
from turnscope.metrics._series import arms

SOURCE = "training"

BUDGET = r"budget_T(\d+)"
Found = dict[tuple[str, int | None], float]
"""Value of one policy by metric and t."""


def estimate(tasks: pd.DataFrame, training: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Estimate what the training of every policy and arm was spent on.

    Args:
        tasks: Not used.
        training: Rows of table `training`, all policies of one environment and model.
        settings: Not used.

    Returns:
        Rows of table `estimates`; none if nothing was trained.

    Raises:
        ValueError: The rows are of several environments or models.
    """
    if training.empty:
        return joined([])
    who = {"env": only(training, "env"), "model": only(training, "model")}
    single = {str(name): _measured(curves) for name, curves in training.groupby("policy")}
    groups = {name: [name] for name in single} | arms(list(single))
    records = [
        {**who, "policy": policy, **record}
        for policy, members in groups.items()
        for record in _mean([single[name] for name in members])
    ]
    frame = pd.DataFrame(records, columns=schemas.ESTIMATES.names)
    return frame.astype({"k": "Int32", "t": "Int32"})


def _measured(curves: pd.DataFrame) -> Found:
    """Measure one policy; what its curves do not hold is left out."""
    found: Found = {}
    known = curves.loc[curves["value"].notna()].sort_values("step")
    equal, total = (
        known.loc[known["name"] == name, "value"].to_numpy(float)
        for name in ("zero_variance_groups", "tokens_total")
    )
    if len(equal):
        found["waste", None] = float(equal.mean())
    turns = known["name"].str.extract(f"^{BUDGET}$", expand=False)
    budgets = known.assign(turns=turns).loc[turns.notna()]
    steps = budgets["step"].nunique()
    for budget, shares in budgets.groupby(budgets["turns"].astype(int)):
        found["budget_share", int(str(budget))] = float(shares["value"].sum()) / steps
    if len(total):
        found["tokens_trained", None] = float(total[-1])
    return found


def _mean(members: list[Found]) -> Iterator[dict[str, Any]]:
    """Average some policies, as far as all of them have a value."""
    cells = {cell for one in members for cell in one}
    for metric, t in sorted(cells, key=lambda cell: (cell[0], cell[1] or 0)):
        never = 0.0 if metric == "budget_share" else np.nan
        values_S = np.array([one.get((metric, t), never) for one in members])
        low, high, _ = intervals.student(values_S)
        yield {
            "metric": metric,
            "t": t,
            "value": values_S.mean(),
            "low": low,
            "high": high,
            "tasks": 0,
            "samples": 0,
            "seeds": len(members),
        }
