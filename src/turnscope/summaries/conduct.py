"""How did policies conduct themselves? Invalid actions, failures, truncation, length."""

from collections.abc import Mapping

import pandas as pd

from turnscope.arms import played_blind, trained
from turnscope.types import Arm

SOURCES = ("endings",)
TITLE = "Conduct of the policies"
CAPTION = (
    "How the blind episodes of each policy went under the largest turn budget, mean over test "
    "tasks and training seeds. Infrastructure: the environment failed; such episodes enter no "
    "other number. Out of turns and out of tokens: cut by the budget, which counts as failure. "
    "Turns, invalid turns (which the environment could not parse) and tokens are numbers in an "
    "episode. Brackets: 95% intervals over tasks."
)
MEASURES = {
    "share_error": "infrastructure",
    "share_budget": "out_of_turns",
    "share_tokens": "out_of_tokens",
    "turns": "turns",
    "invalid": "invalid_turns",
    "tokens": "tokens",
}
"""Metrics of `endings`, and the columns of the table."""
KEYS = ["env", "model", "policy"]


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Gather how episodes ended, how long they were, and how many turns were invalid.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Not used.
        arms: The arms of the study by name, in order.

    Returns:
        One row for each environment, model and policy: the columns of `MEASURES`, each with its
        interval; null where nothing was measured.

    Raises:
        ValueError: There is no episode to tell of.
    """
    names = ["base", *arms]
    rows = estimates.loc[estimates["policy"].isin(names) & estimates["metric"].isin(MEASURES)]
    if rows.empty:
        raise ValueError("conduct: no estimate of how episodes ended to show")
    table = rows.loc[:, [*KEYS, "seeds"]].drop_duplicates(KEYS)
    for metric, name in MEASURES.items():
        columns = {"value": name, "low": f"{name}_low", "high": f"{name}_high"}
        part = rows.loc[rows["metric"] == metric, [*KEYS, *columns]].rename(columns=columns)
        table = table.merge(part, on=KEYS, how="left", validate="one_to_one")
    table["place"] = table["policy"].map(names.index)
    table = table.sort_values(["env", "model", "place"], ignore_index=True)
    seeds = table.pop("seeds")
    table.insert(len(KEYS), "trained", trained(table["policy"], arms))
    return table.drop(columns="place").assign(seeds=seeds)


def caption(frame: pd.DataFrame) -> str:
    """Describe the table to a reader who sees nothing else of the study.

    Args:
        frame: Result of `data`.
    """
    return CAPTION + played_blind(frame.loc[frame["trained"] == "told", "policy"])
