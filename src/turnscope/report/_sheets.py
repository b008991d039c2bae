"""Tables that are drawn up elsewhere, as the reader sees them."""

import base64
import csv
import io
import re
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from turnscope.report._words import MISSING, number


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table of the report."""

    name: str
    """Name of the module that draws it up; the anchor of the table in the page."""
    title: str
    caption: str
    csv: str
    """Text of the CSV file. Columns NAME, NAME_low and NAME_high are shown as one; rows are grouped
    by the columns env and model, if there are such."""


Cell = tuple[str, str, bool]
"""Text, interval, and whether it is a number."""


def shown(sheet: Sheet) -> dict[str, Any]:
    """Lay a table out for the template."""
    heads, *rows = list(csv.reader(io.StringIO(sheet.csv)))
    records = [dict(zip(heads, row, strict=True)) for row in rows]
    where = [name for name in ("env", "model") if name in heads]
    ends = {f"{name}_{end}" for name in heads for end in ("low", "high")}
    columns = [name for name in heads if name not in ends and name not in where]
    numeric = {name for name in columns if all(_numeric(row[name]) for row in records)}
    parts = [
        (name, [[_cell(row, column, numeric) for column in columns] for row in part])
        for name, part in groupby(records, lambda row: " · ".join(row[name] for name in where))
    ]
    return {
        "name": sheet.name,
        "title": sheet.title,
        "caption": sheet.caption,
        "csv": base64.b64encode(sheet.csv.encode()).decode(),
        "heads": [(name.replace("_", " "), name in numeric) for name in columns],
        "parts": parts,
        "count": len(rows),
    }


def _cell(row: dict[str, str], name: str, numeric: set[str]) -> Cell:
    ends = [_written(row.get(f"{name}_{end}", "")) for end in ("low", "high")]
    interval = f"[{ends[0]}, {ends[1]}]" if ends != [MISSING, MISSING] else ""
    return _written(row[name]), interval, name in numeric


def _numeric(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?|", text) is not None


def _written(text: str) -> str:
    """Write a number with three decimals, unless it has fewer or would read as 0."""
    if not text:
        return MISSING
    if not _numeric(text) or re.fullmatch(r"-?\d+(\.\d{1,2})?", text):
        return text.replace("-", "−") if _numeric(text) else text
    value = float(text)
    return f"{value:.1e}".replace("-", "−") if 0 < abs(value) < 0.0005 else number(value)
