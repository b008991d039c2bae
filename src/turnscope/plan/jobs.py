"""The jobs of a study, as a dry run of the workflow prints their commands."""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

STAGE = "turnscope.stages."
"""Precedes the name of a stage in a command."""
APART = "calibrate"
"""Rule of a target of its own; it is planned with a report if its result is there already."""


class Job(NamedTuple):
    """One job."""

    rule: str
    """What a reader calls it."""
    stage: str
    """Module in `turnscope.stages`."""
    spec: Mapping[str, Any]
    """What it was told."""
    gpus: int
    """How many it asks for."""

    @property
    def env(self) -> str:
        """Its environment; `*` where it has none."""
        return self.spec.get("env", "*")


class Study(NamedTuple):
    """What the specification of one job does not say of the study that it is part of."""

    tests: Mapping[str, int]
    """Test tasks of each environment."""
    budgets: Mapping[str, Mapping[str, Any]]
    """Budget of each environment."""
    models: Mapping[tuple[str, str], Mapping[str, Any]]
    """Settings of each model in each environment."""


def read(lines: Iterable[str]) -> list[Job]:
    """Read the commands of a study's jobs; other lines are passed over.

    Args:
        lines: Of a dry run that prints commands.

    Raises:
        ValueError: No command is among them.
    """
    found = [_job(shlex.split(line)) for line in lines if f" -m {STAGE}" in line]
    jobs = [job for job in found if job.rule != APART]
    if not jobs:
        raise ValueError("no job is planned; give the output of a dry run that prints commands")
    return jobs


def study_of(jobs: Iterable[Job]) -> Study:
    """Gather what jobs need to know of each other."""
    tests: dict[str, int] = {}
    budgets: dict[str, Mapping[str, Any]] = {}
    models: dict[tuple[str, str], Mapping[str, Any]] = {}
    for job in jobs:
        if job.stage == "tasks":
            tests[job.env] = job.spec["tasks"]["test"]
        elif job.stage == "base":
            models[job.env, job.spec["model"]] = job.spec["settings"]
            budgets[job.env] = job.spec["budget"]
    return Study(tests, budgets, models)


def _job(words: list[str]) -> Job:
    """Read one command: GPUs, stage, specification, and the log, which bears the rule's name."""
    stage = next(word for word in words if word.startswith(STAGE)).removeprefix(STAGE)
    spec = json.loads(words[words.index("--spec") + 1])
    gpus = int(words[words.index("test") + 1]) if "test" in words else 0
    return Job(next(_logged(words), stage), stage, spec, gpus)


def _logged(words: list[str]) -> Iterator[str]:
    """Yield the rule by the path of the log: `results/logs/RULE.log`, or a file below RULE."""
    if ">" in words:
        parts = PurePosixPath(words[words.index(">") + 1]).with_suffix("").parts
        if "logs" in parts[:-1]:
            yield parts[parts.index("logs") + 1]
