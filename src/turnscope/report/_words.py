"""Numbers as a reader sees them."""

import re

import pandas as pd

MISSING = "–"
NOISE = 1e-12
"""What is not larger is 0, but for rounding."""


def number(value: float | None, sign: bool = False) -> str:
    """Write a number for a reader; a dash where there is none."""
    if value is None or pd.isna(value):
        return MISSING
    value = 0.0 if abs(value) < NOISE else value
    digits = 3 if abs(value) < 10 else 1
    return f"{value:{'+' if sign else ''}.{digits}f}".replace("-", "−")


def percent(share: float | None) -> str:
    """Write a share in percent; what is not 0 never reads as 0, nor what is not all as all."""
    if share is None or pd.isna(share):
        return MISSING
    if 0 < share < 0.0005:
        return "< 0.1%"
    return "> 99.9%" if 0.9995 <= share < 1 else f"{share:.1%}"


def interval(low: float | None, high: float | None, sign: bool = False) -> str:
    """Write an interval; empty where it has no end, and a dash for one missing end."""
    ends = [number(end, sign) for end in (low, high)]
    return f"[{ends[0]}, {ends[1]}]" if ends != [MISSING, MISSING] else ""


def length(value: float | None) -> str:
    """Write a mean number of turns or tokens."""
    return MISSING if value is None or pd.isna(value) else f"{value:.1f}"


def span(values: list[int]) -> str:
    """Write a number, or the two ends of several, which are sorted."""
    if not values:
        return "unknown"
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"


def short(cell: str) -> str:
    """Shorten a number of a CSV file; other text stays as it is."""
    return f"{float(cell):.4g}" if re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", cell) else cell
