"""The jobs behind artifacts, read from the two records of each."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from turnscope.archive.members import is_result
from turnscope.records import diary, in_order, is_part


class Job(NamedTuple):
    """A finished job, as its two records describe it."""

    mark: str
    """Path of `provenance.json`."""
    record: Mapping[str, Any]
    run: Mapping[str, Any]
    packed: frozenset[str] = frozenset()
    """Names of the files of the archive."""

    @property
    def name(self) -> str:
        """Names it within a crate."""
        return f"#job/{quote(self.mark)}"

    @property
    def tool(self) -> str:
        """File of its stage."""
        return f"src/turnscope/stages/{self.record['stage']}.py"

    @property
    def reads(self) -> list[str]:
        """Paths of its inputs."""
        return [entry["path"] for entry in self.record["inputs"]]

    @property
    def needs(self) -> list[str]:
        """Paths of the artifacts that it read, without parts, which may be deleted afterwards."""
        stage = self.record["stage"]
        return [
            entry["path"]
            for entry in self.record["inputs"]
            if is_result(entry["path"]) and not is_part(stage, entry["name"], entry["path"])
        ]

    @property
    def objects(self) -> list[str]:
        """Name its inputs within a crate."""
        return [f"{'' if path in self.packed else '#absent/'}{quote(path)}" for path in self.reads]

    @property
    def writes(self) -> list[str]:
        """Paths of its outputs, records included."""
        own = [self.mark, diary(Path(self.mark)).as_posix()]
        return [*(entry["path"] for entry in self.record["outputs"]), *own]


def read(marks: Iterable[Path]) -> list[Job]:
    """Read the records of jobs, and sort them such that each follows those that it waited for.

    Args:
        marks: Their `provenance.json`; the order does not matter.

    Raises:
        ValueError: A `run.json` is lost or damaged.
    """
    return in_order(
        [_job(mark) for mark in sorted(marks)], lambda job: job.reads, lambda job: job.writes
    )


def _job(mark: Path) -> Job:
    try:
        run = json.loads(diary(mark).read_text())
    except (OSError, ValueError):
        lost = f"{diary(mark)}: not a readable record; remove {mark.name} beside it"
        raise ValueError(f"{lost}, and the study makes the artifact again") from None
    return Job(mark.as_posix(), json.loads(mark.read_text()), run)
