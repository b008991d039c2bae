"""Tables that are drawn up elsewhere, as the reader sees them."""

import csv
import io
import re
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from turnscope.report._files import download
from turnscope.report._words import MISSING, NOISE, number


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


LONG = 30
"""Letters of a text beyond which it may break into lines."""
Cell = tuple[str, str, str]
"""Text, interval, and its kind: `number`, `long` or neither."""


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
        for name, part in groupby(
            records, lambda row: " · ".join(filter(None, map(row.get, where)))
        )
    ]
    return {
        "name": sheet.name,
        "title": sheet.title,
        "caption": sheet.caption,
        "file": download(f"{sheet.name}.csv", sheet.csv),
        "heads": [(name.replace("_", " "), name in numeric) for name in columns],
        "parts": parts,
        "count": len(rows),
    }


def _cell(row: dict[str, str], name: str, numeric: set[str]) -> Cell:
    if name not in numeric:
        return row[name] or MISSING, "", "long" if len(row[name]) > LONG else ""
    ends = [_written(row.get(f"{name}_{end}", "")) for end in ("low", "high")]
    interval = f"[{ends[0]}, {ends[1]}]" if ends != [MISSING, MISSING] else ""
    return _written(row[name]), interval, "number"


def _numeric(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?|", text) is not None


def _written(text: str) -> str:
    """Write a number with three decimals, unless it has fewer or would read as 0."""
    if not text:
        return MISSING
    if re.fullmatch(r"-?\d+(\.\d{1,2})?", text):
        return text.replace("-", "−")
    value = float(text)
    return f"{value:.1e}".replace("-", "−") if NOISE < abs(value) < 0.0005 else number(value)
