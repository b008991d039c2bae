"""Turns of InterCode-SQL in this process, against the bare `sqlite3` module on the same queries.

Both run the gold queries of Spider: the environment resets, runs the statement within its limits,
compares the rows with those that are asked for and writes the reply; the bare module executes and
fetches. First with nothing known of a query, then again. The file of questions is named by
TURNSCOPE_SPIDER, see `docs/sql.md`; without it nothing is measured.
"""

import itertools
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.rows import Row, Time, alternate, clock, compare, main
from turnscope.environments import intercode_sql
from turnscope.environments.intercode_sql import spider
from turnscope.provenance import file_sha256
from turnscope.types import Task

FILE = "TURNSCOPE_SPIDER"
ROUNDS = 5
LEAST = 5000
"""Turns in a second of a core."""


def measure() -> list[Row]:
    """Play every gold query once, with and without what is kept of results."""
    path = Path(os.environ.get(FILE, ""))
    if not path.is_file():
        return [Row(f"gold queries of Spider: {FILE} names no file", "turns/s", None)]
    sha256 = file_sha256(path)
    options: dict[str, Any] = {"source": "spider", "path": str(path), "sha256": sha256}
    number = len(spider.problems(path, sha256))
    tasks = intercode_sql.tasks(0, train=0, test=number, exclude_trivial=False, **options)
    bare = _bare(tasks)
    # With another comment in it, it is another statement, of which no result is known.
    numbers = itertools.count()
    rows = []
    for what, ours in (
        ("each for the first time", lambda: _play(tasks, numbers)),
        ("again", lambda: _play(tasks, itertools.repeat(0))),
    ):
        row = compare(
            f"turns on {number} gold queries, {what}",
            *alternate([ours, bare], ROUNDS),
            amount=(number, number),
            unit="turns/s",
        )
        rate = number / row.details["median_seconds"]["processor"][0]
        rows.append(_with_bar(row, rate))
    return rows


def _with_bar(row: Row, rate: float) -> Row:
    return Row(
        *(f"{row.what}, a core", row.unit, rate, None, row.ratio, row.processor_ratio),
        bar=f">= {LEAST}/s",
        met=rate >= LEAST,
        details=row.details,
    )


def _play(tasks: list[Task], numbers: Iterator[int]) -> Time:
    """Play the gold query of each task in one environment; `submit` is not counted as a turn."""
    environment = intercode_sql.Environment()
    solved = 0
    said = []
    for task, number in zip(tasks, numbers, strict=False):
        verb, rest = task.payload["gold"].split(maxsplit=1)
        said.append(f"{verb} /* {number} */ {rest}")
    with clock() as time:
        for task, statement in zip(tasks, said, strict=True):
            environment.reset(task, 0)
            environment.step(statement)
            solved += environment.step("submit").success
    assert solved == len(tasks)
    return time


def _bare(tasks: list[Task]) -> Callable[[], Time]:
    """Load the databases into plain connections."""
    connections = {}
    for name, script in spider.scripts().items():
        connections[name] = sqlite3.connect(":memory:")
        connections[name].executescript(script)

    def run() -> Time:
        with clock() as time:
            for task in tasks:
                cursor = connections[task.payload["database"]].execute(task.payload["gold"])
                str(cursor.fetchall())
        return time

    return run


if __name__ == "__main__":
    main(measure)
