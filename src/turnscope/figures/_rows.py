"""The rows that a figure draws, which are also its table: their columns and their order."""

from collections.abc import Mapping, Sequence

import pandas as pd

from turnscope.arms import arm_of, trained
from turnscope.types import Arm

PLACED = ["place", "algorithm", "trained"]
"""Columns that say which arm a row is of."""
WHO = ["env", "model", "policy", *PLACED]
SIZES = ["tasks", "samples", "seeds"]
"""Columns that say how much data stands behind a row."""
ORDER = ["env", "model", "place", "policy"]
"""Columns by which rows are sorted before their own."""


def placed(rows: pd.DataFrame, arms: Mapping[str, Arm]) -> pd.DataFrame:
    """Add columns `PLACED`, by which arms are ordered and told apart in every figure.

    Args:
        rows: Rows with a column `policy`.
        arms: The arms of the study by name, in the order of its config.

    Returns:
        The rows with `place`: 0 for `base` and `bound`, from 1 for the arms and their seeds; an
        arm that is not of the study comes after those that are. `algorithm` is that of the arm,
        and `trained` is `told` or `blind`; both are null for what was not trained.
    """
    found = rows["policy"].map(arm_of)
    others = sorted(set(found) - {*arms, "base", "bound"})
    places = {arm: place for place, arm in enumerate([*arms, *others], 1)}
    algorithms = {arm.name: arm.algorithm for arm in arms.values()}
    return rows.assign(
        place=found.map(places).fillna(0).astype(int),
        algorithm=found.map(algorithms).astype(object),
        trained=trained(found, arms),
    )


def table(
    rows: pd.DataFrame, arms: Mapping[str, Arm], columns: Sequence[str], keys: Sequence[str]
) -> pd.DataFrame:
    """Lay out what a figure draws.

    Args:
        rows: Rows with a column `policy`.
        arms: The arms of the study by name, in the order of its config.
        columns: What the figure shows, of `rows` and of `PLACED`.
        keys: Columns to sort by.
    """
    return placed(rows, arms)[[*columns]].sort_values([*keys], ignore_index=True)
