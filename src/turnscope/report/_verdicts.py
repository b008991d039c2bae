"""The ledger as the reader sees it: verdicts with their signs, counts, and where to look on."""

import itertools
from collections.abc import Collection
from typing import Any

import pandas as pd

from turnscope.report._words import interval

MARKS = {
    "reproduced": "✓",
    "holds": "✓",
    "contradicted": "✗",
    "inconclusive": "?",
    "not run": "–",
}
"""Verdicts in the order of the tally, each with a sign, so that colour is not all that tells."""
MANY = 4
"""Rows of one claim beyond which their verdicts are counted and the rows fold away."""
LINKS = {"figure": "", "summary": "table-", "code": "code-"}
"""Columns that name what stands behind a claim, and how the anchor of each begins."""


def rows(
    claims: pd.DataFrame,
    figures: Collection[str],
    summaries: Collection[str],
    code: Collection[str],
) -> list[dict[str, Any]]:
    """Lay claims out for the template.

    Args:
        claims: Rows of `claims`.
        figures: Those that the page holds; to others it has no link.
        summaries: Those that it holds.
        code: Modules whose text it holds.

    Raises:
        ValueError: A claim has a verdict that does not exist.
    """
    if unknown := sorted(set(claims["verdict"]) - set(MARKS)):
        raise ValueError(f"verdict {unknown[0]!r}; known: {', '.join(MARKS)}")
    held = dict(zip(LINKS, (figures, summaries, code), strict=True))
    return [_row(record, held) for record in claims.to_dict("records")]


def tally(rows: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Count the verdicts."""
    verdicts = [row["verdict"] for row in rows]
    return [(verdict, verdicts.count(verdict)) for verdict in MARKS if verdict in verdicts]


def judged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Gather the rows of each claim that was judged."""
    run = (row for row in rows if row["verdict"] != "not run")
    claims = [list(group) for _, group in itertools.groupby(run, key=lambda row: row["claim"])]
    return [{"rows": one, "many": len(one) > MANY, "tally": tally(one)} for one in claims]


def _row(record: dict[Any, Any], held: dict[str, Collection[str]]) -> dict[str, Any]:
    row = {str(name): None if pd.isna(value) else value for name, value in record.items()}
    where = " · ".join(str(row[name]) for name in ("env", "model", "policy") if row[name])
    links = [
        ("table" if kind == "summary" else kind, row[kind], f"{start}{row[kind]}")
        for kind, start in LINKS.items()
        if row[kind] in held[kind]
    ]
    return row | {"interval": interval(row["low"], row["high"]), "where": where, "links": links}
