"""The front page of a study: one HTML file with verdicts, numbers and figures.

It loads nothing from anywhere, and equal inputs give equal bytes.
"""

import base64
import csv
import io
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from turnscope.arms import is_seed
from turnscope.report import _page, _sheets, _studies
from turnscope.report._sheets import Sheet
from turnscope.report._words import interval, short, span
from turnscope.types import Arm

__all__ = ["MARKS", "Picture", "Sheet", "render"]

MARKS = {
    "reproduced": "✓",
    "holds": "✓",
    "contradicted": "✗",
    "inconclusive": "?",
    "not run": "–",
}
"""Verdicts in the order of the tally, each with a sign, so that colour is not all that tells."""
ENLARGED = 1.4
"""A figure on the screen against its size on paper."""
MANY = 4
"""Rows of one claim beyond which their verdicts are counted and the rows fold away."""
PREVIEW = 12
"""Rows of a figure's table that are shown; the file to download holds all."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One figure of the report."""

    name: str
    """Name of the figure's module; the anchor of the figure in the page."""
    title: str
    caption: str
    svg: str
    """Text of the SVG file."""
    csv: str
    """Text of the CSV file."""


def render(
    pictures: Sequence[Picture],
    claims: pd.DataFrame,
    estimates: pd.DataFrame,
    *,
    k: int,
    margin: float,
    arms: Mapping[str, Arm],
    sheets: Sequence[Sheet],
    facts: Mapping[str, Mapping[str, Any]],
) -> str:
    """Write the report.

    Args:
        pictures: The figures in the order of the page.
        claims: Rows of `claims`.
        estimates: Rows of `estimates`, for the tables of numbers.
        k: The K at which depth is studied.
        margin: Largest difference that does not matter, of the self-test.
        arms: The arms of the study by name, in order.
        sheets: Tables in the order of the page.
        facts: What else there is to know of the setup, by heading and name.

    Returns:
        A whole HTML document without a reference to any other file.

    Raises:
        ValueError: A claim has a verdict that does not exist.
    """
    if unknown := sorted(set(claims["verdict"]) - set(MARKS)):
        raise ValueError(f"verdict {unknown[0]!r}; known: {', '.join(MARKS)}")
    trained = estimates.loc[~is_seed(estimates["policy"]) & (estimates["seeds"] > 0)]
    rows = [_claim(record) for record in claims.to_dict("records")]
    return _page.fill(
        marks=MARKS,
        tally=_tally(rows),
        judged=_judged(rows),
        not_run=[row for row in rows if row["verdict"] == "not run"],
        seeds=span(sorted(set(trained["seeds"].astype(int)))),
        studies=_studies.studies(estimates, k, arms),
        sheets=[_sheets.shown(sheet) for sheet in sheets],
        margin=margin,
        endings=[*_studies.ENDINGS.values(), *_studies.LENGTHS.values(), "tasks never played"],
        pictures=[_picture(picture) for picture in pictures],
        setup=[(title, list(values.items())) for title, values in facts.items()],
    )


def _tally(rows: list[dict[str, Any]]) -> list[tuple[str, int]]:
    verdicts = [row["verdict"] for row in rows]
    return [(verdict, verdicts.count(verdict)) for verdict in MARKS if verdict in verdicts]


def _judged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Gather the rows of each claim that was judged."""
    judged = (row for row in rows if row["verdict"] != "not run")
    claims = [list(group) for _, group in itertools.groupby(judged, key=lambda row: row["claim"])]
    return [{"rows": one, "many": len(one) > MANY, "tally": _tally(one)} for one in claims]


def _claim(record: dict[Any, Any]) -> dict[str, Any]:
    row = {str(name): None if pd.isna(value) else value for name, value in record.items()}
    where = " · ".join(str(row[name]) for name in ("env", "model", "policy") if row[name])
    return row | {"interval": interval(row["low"], row["high"]), "where": where}


def _picture(picture: Picture) -> dict[str, Any]:
    size = re.search(r'<svg[^>]*\bwidth="([0-9.]+)pt"', picture.svg)
    inches = float(size[1]) / 72 if size else 6.9
    heads, *rows = list(csv.reader(io.StringIO(picture.csv)))
    return {
        "name": picture.name,
        "title": picture.title,
        "caption": picture.caption,
        "alt": f"{picture.title}. {picture.caption.split('. ')[0]}. All numbers are in the table.",
        "svg": base64.b64encode(picture.svg.encode()).decode(),
        "csv": base64.b64encode(picture.csv.encode()).decode(),
        "width": round(inches * 96 * ENLARGED),
        "wide": inches > 4,
        "heads": heads,
        "rows": [[short(cell) for cell in row] for row in rows[:PREVIEW]],
        "count": len(rows),
    }
