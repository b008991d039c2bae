"""Figures as the reader sees them, under headings."""

import base64
import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from turnscope.report._files import download
from turnscope.report._words import short

GROUPS = {
    "Breadth and depth": (
        "pass_at_k",
        "pass_at_t",
        "pass_surface",
        "budget_auc",
        "crossover",
    ),
    "Training": (
        "training_curves",
        "training_health",
        "process_supervision",
        "budget_mix",
        "budget_calibration",
    ),
    "Step by step": ("step_quality", "depth", "continuation", "handover"),
    "Likelihood": ("nll", "llr", "entropy_matched"),
    "Planning and reliability": ("iso_token", "survival", "reliability"),
    "Robustness": ("robustness",),
}
"""Figures under each heading; those of no heading come after them all."""
OTHERS = "Other figures"
ENLARGED = 1.4
"""A figure on the screen against its size on paper."""
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


def grouped(pictures: Sequence[Picture]) -> list[dict[str, Any]]:
    """Lay figures out for the template, in the order of `GROUPS` and within them as given."""
    headings = {name: heading for heading, names in GROUPS.items() for name in names}
    groups: dict[str, list[dict[str, Any]]] = {heading: [] for heading in [*GROUPS, OTHERS]}
    for picture in pictures:
        groups[headings.get(picture.name, OTHERS)].append(_shown(picture))
    return [
        {"heading": heading, "anchor": heading.lower().replace(" ", "-"), "pictures": found}
        for heading, found in groups.items()
        if found
    ]


def _shown(picture: Picture) -> dict[str, Any]:
    size = re.search(r'<svg[^>]*\bwidth="([0-9.]+)pt"', picture.svg)
    inches = float(size[1]) / 72 if size else 6.9
    heads, *rows = list(csv.reader(io.StringIO(picture.csv)))
    return {
        "name": picture.name,
        "title": picture.title,
        "caption": picture.caption,
        "alt": f"{picture.title}. {picture.caption.split('. ')[0]}. All numbers are in the table.",
        "svg": base64.b64encode(picture.svg.encode()).decode(),
        "file": download(f"{picture.name}.csv", picture.csv),
        "width": round(inches * 96 * ENLARGED),
        "wide": inches > 4,
        "heads": heads,
        "rows": [[short(cell) for cell in row] for row in rows[:PREVIEW]],
        "count": len(rows),
    }
