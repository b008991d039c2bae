"""What a benchmark reports: rows of one table, and how they are timed, printed and stored."""

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

HEAD = ["what", "unit", "ours", "other", "ratio", "(processor)", "bar", "met"]


@dataclass(slots=True)
class Time:
    """How long something took, seconds; `wall` also counts waiting for the machine."""

    wall: float = 0.0
    processor: float = 0.0


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement."""

    what: str
    unit: str
    ours: float | None
    other: float | None = None
    """Of what ours is compared with."""
    ratio: float | None = None
    """How many times better ours is, by wall time."""
    processor_ratio: float | None = None
    """The same by processor time, which other jobs of the machine disturb less."""
    bar: str = ""
    met: bool | None = None
    """Whether the bar is reached, by both ratios; None without a bar."""
    details: dict[str, Any] = field(default_factory=dict)
    """Everything else: single repetitions, counts, settings."""


@contextmanager
def clock() -> Iterator[Time]:
    """Time a block."""
    time_ = Time()
    wall, processor = time.perf_counter(), time.process_time()
    yield time_
    time_.wall, time_.processor = time.perf_counter() - wall, time.process_time() - processor


def alternate(sides: Sequence[Callable[[], Any]], rounds: int) -> list[list[Any]]:
    """Call A B A B ..., so that a machine that slows down slows both; first once to warm up.

    Returns:
        For each side, what its calls returned, the first call left out.
    """
    found = [[side() for side in sides] for _ in range(rounds + 1)]
    return [list(results) for results in zip(*found[1:], strict=True)]


def compare(
    what: str,
    ours: Sequence[Time],
    other: Sequence[Time],
    *,
    amount: tuple[float, float] | None = None,
    unit: str = "s",
    least: float | None = None,
    details: dict[str, Any] | None = None,
) -> Row:
    """Compare two ways by the medians of their times.

    Args:
        what: Name of the row.
        ours: Times of our way.
        other: Times of the other one.
        amount: How much each of the two did in that time; rates are reported then.
        unit: Unit of what is reported.
        least: Ratio to be reached.
        details: Goes into the row, beside the times.
    """
    medians = {
        kind: [statistics.median(getattr(t, kind) for t in side) for side in (ours, other)]
        for kind in ("wall", "processor")
    }
    first, second = amount or (1.0, 1.0)
    ratios = [(b / second) / (a / first) for a, b in medians.values()]
    a, b = medians["wall"]
    times = {"ours": [asdict(t) for t in ours], "other": [asdict(t) for t in other]}
    return Row(
        what,
        unit,
        first / a if amount else a,
        second / b if amount else b,
        *ratios,
        bar="" if least is None else f">= {least:g}x",
        met=None if least is None else min(ratios) >= least,
        details={"seconds": times, "median_seconds": medians} | (details or {}),
    )


def table(rows: Sequence[Row]) -> str:
    """Lay rows out as a Markdown table."""
    lines = [HEAD, ["---"] * len(HEAD)]
    for row in rows:
        met = {None: "", True: "yes", False: "NO"}[row.met]
        numbers = [_number(row.ours), _number(row.other)]
        ratios = [_number(row.ratio, "x"), _number(row.processor_ratio, "x")]
        lines.append([row.what, row.unit, *numbers, *ratios, row.bar, met])
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    return "\n".join(
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) + " |"
        for line in lines
    )


def _number(value: float | None, unit: str = "") -> str:
    return "" if value is None else f"{value:.4g}{unit}"


def machine() -> dict[str, Any]:
    """Describe the machine and the versions."""
    info = Path("/proc/cpuinfo")
    models = [
        line.split(":", 1)[1].strip()
        for line in (info.read_text().splitlines() if info.exists() else [])
        if line.startswith("model name")
    ]
    return {
        "processor": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "threads_of_a_benchmark": os.environ.get("OMP_NUM_THREADS"),
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "transformers", "trl", "numpy", "snakemake")},
    }


def main(measure: Callable[[], list[Row]]) -> None:
    """Run one benchmark: print its rows, and store them in the file that is named, if one is."""
    rows = measure()
    print(table(rows))
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps([asdict(row) for row in rows]))
