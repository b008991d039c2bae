"""A plan as text for a terminal, and as a table for programs."""

import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from turnscope import atomic
from turnscope.plan.forecast import Cost, Line, added, money
from turnscope.plan.spans import NOTHING, Span, exactly


class Prices(NamedTuple):
    """What hours cost, in any currency; None where it is not known."""

    core_hour: float | None
    gpu_hour: float | None


def text(lines: Sequence[Line], prices: Prices, submitted: int) -> list[str]:
    """Print a plan, a line for each rule; columns in which there is nothing are left out.

    Args:
        lines: A result of `turnscope.plan.forecast.plan`.
        prices: Of hours.
        submitted: Jobs that a cluster is given.
    """
    rules = list(dict.fromkeys(line.rule for line in lines))
    groups = [(rule, [line for line in lines if line.rule == rule]) for rule in rules]
    groups.append(("total", list(lines)))
    costs = [added(line.cost for line in group) for _, group in groups]
    long = not costs[-1].cpu.value < 3.0
    paid = [money(cost, *prices) for cost in costs] if any(prices) else [NOTHING] * len(costs)
    columns = [
        ["rule", *(rule for rule, _ in groups)],
        ["jobs", *(f"{sum(line.jobs for line in group):,}" for _, group in groups)],
        *_spans("core h" if long else "core min", [c.cpu * (1 if long else 60) for c in costs]),
        *_spans("GPU h", [cost.gpu for cost in costs]),
        ["tokens", *(scaled(cost.tokens.value, "") for cost in costs)],
        ["disk", *(scaled(cost.disk.value, "B") for cost in costs)],
        *_spans("cost", paid),
        ["from", *("+".join(sorted({line.source for line in group})) for _, group in groups)],
    ]
    kept = [column for column in columns if any(column[1:])]
    table = aligned([list(row) for row in zip(*kept, strict=True)])
    return [*table, "", _load(submitted, costs[-1])]


def comparison(rows: Iterable[tuple[str, int, float, Span]]) -> list[str]:
    """Print what jobs took beside what was planned, a line for each stage."""
    stages, jobs, took, spans = zip(*rows, strict=True)
    ratios = [span.value / one for one, span in zip(took, spans, strict=True)]
    columns = [
        ["stage", *stages],
        ["jobs", *map(str, jobs)],
        ["took s", *(number(one, 0) for one in took)],
        *_spans("planned s", list(spans)),
        ["planned/took", *(number(ratio, 2) for ratio in ratios)],
    ]
    return aligned([list(row) for row in zip(*columns, strict=True)])


def write(lines: Iterable[Line], prices: Prices, path: Path) -> None:
    """Write a plan as CSV: a row for each rule, environment and model; what is unknown is empty."""
    names = [*Cost._fields, "money"]
    ends = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
    with atomic.replacing(path) as draft, draft.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["rule", "env", "model", "jobs", *ends, "source"])
        for line in lines:
            spans = [*line.cost, money(line.cost, *prices)]
            numbers = [
                "" if math.isnan(number) else f"{number:.4g}"
                for span in spans
                for number in (span.value, span.low, span.high)
            ]
            writer.writerow([line.rule, line.env, line.model, line.jobs, *numbers, line.source])


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Set rows in columns, the first to the left and others to the right, with a line below it."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    set_ = [
        "  ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return [set_[0], "  ".join("-" * width for width in widths), *set_[1:]]


def number(value: float, digits: int) -> str:
    """Round to so many digits behind the point; nothing for 0, `?` for what is not known."""
    if math.isnan(value):
        return "?"
    least = 10.0**-digits
    return "" if value == 0 else f"<{least:g}" if value < least / 2 else f"{value:,.{digits}f}"


def scaled(value: float, unit: str) -> str:
    """Write an amount with the letter of its size, such as 31 MB, in two digits or more."""
    if math.isnan(value):
        return "?"
    letters = ["", "k", "M", "G", "T"]
    while value >= 999.5 and len(letters) > 1:
        value /= 1000
        letters.pop(0)
    digits = 1 if value < 9.95 and (letters[0] or value % 1) else 0
    return f"{number(value, digits)} {letters[0]}{unit}".strip() if value else ""


def _load(submitted: int, whole: Cost) -> str:
    """Say how many jobs a cluster is given, and how many of them come on a minute of work."""
    rate = exactly(submitted) / ((whole.cpu + whole.gpu) * 60)
    return f"on a cluster: {submitted:,} jobs, {number(rate.value, 2)} for each minute of work"


def _spans(name: str, spans: Sequence[Span]) -> list[list[str]]:
    """Write two columns: numbers, all rounded alike, and the intervals that they lie in."""
    most = max((span.high for span in spans if span.known), default=0.0)
    digits = 0 if most >= 1000 else 1 if most >= 10 else 2
    return [
        [name, *(number(span.value, digits) for span in spans)],
        ["low-high", *(_between(span, digits) for span in spans)],
    ]


def _between(span: Span, digits: int) -> str:
    """Write an interval; nothing where all of it is rounded away."""
    low, high = number(span.low, digits), number(span.high, digits)
    return "" if high[:1] in ("", "?", "<") else f"{low or 0}-{high}"
