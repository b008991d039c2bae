"""The headline claims: the paper's value, ours, what no effect and a naive protocol would give."""

from collections.abc import Mapping

import pandas as pd

from turnscope.types import Arm

SOURCES = ("claims",)
TITLE = "Headline claims"
CAPTION = (
    "Every claim for each arm it was judged for. Ours: the statistic that the ledger names, with "
    "its interval. Null: what it would be without any effect; naive: what a protocol would have "
    "given that an artefact fakes; both only where that can happen. Figure: where it is drawn."
)
COLUMNS = {
    "env": "env",
    "model": "model",
    "claim": "claim",
    "text": "text",
    "policy": "policy",
    "paper": "paper",
    "value": "ours",
    "low": "ours_low",
    "high": "ours_high",
    "null_value": "null",
    "naive_value": "naive",
    "verdict": "verdict",
    "figure": "figure",
}
"""Columns of table `claims`, and what they are called here."""


def data(
    estimates: pd.DataFrame,
    training: pd.DataFrame,
    *,
    k: int,
    arms: Mapping[str, Arm],
    claims: pd.DataFrame,
) -> pd.DataFrame:
    """Lay the ledger out in short.

    Args:
        estimates: Not used.
        training: Not used.
        k: Not used.
        arms: Not used.
        claims: Rows of `claims`.

    Returns:
        Columns named by `COLUMNS`, in the order of the ledger within each environment and model;
        claims that were run nowhere come last.

    Raises:
        ValueError: There are no claims.
    """
    if claims.empty:
        raise ValueError("claims: no claim to show")
    table = claims.loc[:, [*COLUMNS]].rename(columns=COLUMNS)
    return table.sort_values(["env", "model"], kind="stable", ignore_index=True)


def caption(frame: pd.DataFrame) -> str:
    """Describe the table to a reader who sees nothing else of the study."""
    return CAPTION
