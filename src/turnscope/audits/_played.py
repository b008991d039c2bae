"""What auditors of episodes need: who played them, at which tasks, and what should have begun."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from turnscope import registry, sampling, shards
from turnscope.audits._results import Record, Results
from turnscope.types import Budget, Task

NEEDED = ("env", "model", "policy", "seed", "options", "budget")
"""What the specification of a job says that played."""


class Played(NamedTuple):
    """Episodes and turns of one artifact, and how they were played."""

    record: Record
    """Speaks for both tables."""
    spec: dict[str, Any]
    """Of the job that played; where one only gathered, of the first whose episodes it has."""
    tasks: dict[str, Task]
    """Test tasks by name."""
    heads: pd.DataFrame
    """Table `episodes`."""
    turns: pa.Table
    """Table `turns`, those of an episode next to each other, in the order of `heads`."""

    @property
    def path(self) -> str:
        """Name the table `episodes`."""
        return str(self.record.output("episodes"))


def named(head: Mapping[str, Any]) -> str:
    """Name an episode by its row of table `episodes`."""
    return f"task {head['task_id']}, sample {head['sample']}, budget {head['budget']}"


def artifacts(results: Results) -> Iterator[tuple[Record, str]]:
    """Yield each record that has both tables, and the path of `episodes`."""
    for record, path in results.tables("episodes"):
        if record.output("turns"):
            yield record, path


def source(results: Results, record: Record) -> Record:
    """Find the job that played what an artifact holds: its own, or one that it gathered.

    Raises:
        ValueError: No such job has a record.
    """
    for one in results.upstream(record):
        if all(name in one.spec for name in NEEDED) and one.input("tasks"):
            return one
    raise ValueError("no record says how it was played")


def load(results: Results, record: Record) -> Played:
    """Read what was played.

    Raises:
        ValueError: Something cannot be read.
    """
    job = source(results, record)
    return Played(
        record,
        job.spec,
        results.known(str(job.input("tasks"))),
        results.table(str(record.output("episodes")), "episodes"),
        results.arrow(str(record.output("turns")), "turns"),
    )


def plans(played: Played) -> list[sampling.Plan]:
    """Say which episodes the specification asks for: plans for each budget, or those of a part."""
    spec, world = played.spec, registry.load("environments", played.spec["env"])
    chosen = sampling.subset([*played.tasks.values()], spec["tasks"])
    asked = [(turns, chosen) for turns in spec["turns"]]
    if "part" in spec:
        pieces = shards.pieces(len(chosen), spec["episodes"], spec["batch"])
        asked = [(turns, chosen[piece]) for turns in spec["turns"] for piece in pieces]
        asked = shards.share(asked, spec["part"], spec["parts"])
    return [
        sampling.Plan(
            environment=lambda: world.Environment(**spec["options"]),
            tasks=tasks,
            budget=Budget(**{**spec["budget"], "turns": turns}),
            episodes=spec["episodes"],
            batch=spec["batch"],
            seed=spec["seed"],
            temperature=spec["temperature"] or 1.0,
            who={name: spec[name] for name in ("env", "model", "policy")},
        )
        for turns, tasks in asked
    ]


def begun(played: Played) -> pd.DataFrame:
    """List the episodes that there should be: `task_id`, `sample`, `budget`, `told`, `seed`."""
    rows = [
        (start.task.task_id, start.sample, plan.budget.turns, plan.budget.told, start.seed)
        for plan in plans(played)
        for start in sampling.starts(plan)
    ]
    frame = pd.DataFrame(rows, columns=["task_id", "sample", "budget", "told", "seed"])
    return frame.astype({"seed": np.uint64})
