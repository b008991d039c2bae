"""A folder of results as auditors see it: records, the files they speak for, and what is amiss."""

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from turnscope import provenance, tables
from turnscope.dry_run import Planned
from turnscope.schemas import TABLES
from turnscope.types import Task

HOME = "results"
"""Folder in which every record says that it is, wherever it was moved to."""
MARK = "provenance.json"
"""End of the name of a record."""


class Finding(NamedTuple):
    """One thing that is not as it should be; a line of table `audits`."""

    check: str
    """What was looked at, in a word."""
    artifact: str
    """The file, as records name it."""
    detail: str
    """What is wrong with it, one line."""


class Outcome(NamedTuple):
    """What an audit found."""

    checked: int
    what: str
    """What was counted, in the plural."""
    findings: list[Finding]


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is looked at."""

    seed: int = 0
    """Names the choice of what is played again or made again."""
    episodes: int | None = 20
    """Episodes of each artifact that are played again, and states of each pool; None is all."""
    remake: int = 0
    """Artifacts chosen at random that are made again."""
    chosen: tuple[str, ...] = ()
    """More of them, by the path of a record or of an output."""
    planned: tuple[Planned, ...] | None = None
    """Jobs that would make the study today; None is not known."""
    part: bool = False
    """Whether only some of what lies there is looked at, so that other files are no strangers."""


class File(NamedTuple):
    """A file that a job read or wrote."""

    name: str
    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Record:
    """What `provenance.json` says, see `turnscope.provenance`."""

    mark: str
    """Its own path."""
    content: Mapping[str, Any]
    """All of it."""
    inputs: tuple[File, ...]
    outputs: tuple[File, ...]

    @property
    def stage(self) -> str:
        """Module in `turnscope.stages` that did the job."""
        return self.content["stage"]

    @property
    def spec(self) -> dict[str, Any]:
        """What it was told."""
        return self.content["spec"]

    @property
    def modules(self) -> dict[str, str]:
        """Its code: digest or version by the name of each module."""
        return self.content["modules"]

    @property
    def starts(self) -> tuple[str, ...]:
        """Name its modules as starting points; what they import is among them, or new."""
        ours = [name.partition(".")[2] for name in self.modules]
        return tuple(name for name in ours if name)

    def output(self, name: str) -> str | None:
        """Return the path of an output; None if it has none of that name."""
        return next((file.path for file in self.outputs if file.name == name), None)

    def input(self, name: str) -> str | None:
        """Return the path of an input; None if it has none of that name."""
        return next((file.path for file in self.inputs if file.name == name), None)


@dataclass(frozen=True)
class Results:
    """A folder and its records.

    Args:
        folder: Where the results lie; records call it `results`, whatever it is called now.
    """

    folder: Path
    records: list[Record] = field(default_factory=list)
    unreadable: list[Finding] = field(default_factory=list)
    """Records that could not be read."""

    def place(self, path: str) -> Path:
        """Return where a file lies that a record names."""
        first, *rest = PurePosixPath(path).parts or ("",)
        return self.folder.joinpath(*rest) if first == HOME else self.folder.parent / path

    @functools.cached_property
    def _digests(self) -> dict[str, str | None]:
        return {}

    def sha256(self, path: str) -> str | None:
        """Return the checksum of a file; None if there is no readable file."""
        if path not in self._digests:
            try:
                self._digests[path] = provenance.file_sha256(self.place(path))
            except OSError:
                self._digests[path] = None
        return self._digests[path]

    def table(self, path: str, name: str, columns: list[str] | None = None) -> pd.DataFrame:
        """Read a table that a record names, see `tables.read`."""
        return tables.read(self.place(path), name, columns)

    def arrow(self, path: str, name: str, columns: list[str] | None = None) -> pa.Table:
        """Read a table without making an object of each value.

        Raises:
            ValueError: It is not a readable table of that name.
        """
        try:
            with pq.ParquetFile(self.place(path)) as file:
                fits = file.schema_arrow.remove_metadata().equals(TABLES[name])
                content = file.read(columns=columns) if fits else None
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{path}: not readable: {error}") from error
        if content is None:
            raise ValueError(f"{path}: not a table of {name}")
        return content

    def known(self, path: str) -> dict[str, Task]:
        """Read the test tasks of a table, by name."""
        if path not in self._tasks:
            frame = self.table(path, "tasks")
            test = frame[frame["split"] == "test"]
            self._tasks[path] = {task.task_id: task for task in tables.to_tasks(test)}
        return self._tasks[path]

    @functools.cached_property
    def _tasks(self) -> dict[str, dict[str, Task]]:
        return {}

    def tables(self, name: str) -> Iterator[tuple[Record, str]]:
        """Yield each record that has a table of some kind among its outputs, and its path."""
        for record in self.records:
            path = record.output(name)
            if path is not None and path.endswith(".parquet"):
                yield record, path

    def upstream(self, record: Record) -> Iterator[Record]:
        """Yield a record, the producers of what it read, those of what they read, and so on."""
        makers = {file.path: one for one in self.records for file in one.outputs}
        makers |= {one.mark: one for one in self.records}
        waiting, seen = [record], {record.mark}
        for one in waiting:  # it grows
            yield one
            for maker in (makers[file.path] for file in one.inputs if file.path in makers):
                if maker.mark not in seen:
                    seen.add(maker.mark)
                    waiting.append(maker)

    def loads(self, record: Record) -> bool:
        """Tell whether an artifact rests on a model that is loaded, not built in this study."""
        return any(
            one.stage == "base" and "build" not in one.spec.get("settings", {})
            for one in self.upstream(record)
        )

    def only(self, marks: set[str]) -> "Results":
        """Leave out all records but some."""
        return Results(
            self.folder,
            [record for record in self.records if record.mark in marks],
            [one for one in self.unreadable if one.artifact in marks],
        )


def read(folder: Path) -> Results:
    """Read all records of a folder; a study of another working directory inside is passed over."""
    results = Results(folder)
    for path in files(folder):
        if path.name == MARK or path.name.endswith(f".{MARK}"):
            mark = f"{HOME}/{path.relative_to(folder).as_posix()}"
            try:
                results.records.append(_record(mark, json.loads(path.read_bytes())))
            except Exception as error:  # noqa: BLE001 - whatever makes it unreadable
                results.unreadable.append(Finding("record", mark, f"unreadable: {_line(error)}"))
    return results


def files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder in order, without hidden ones and those of studies inside."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if not path.is_dir() or path.is_symlink():
            yield path
        elif not (path / HOME).is_dir():
            yield from files(path)


def _record(mark: str, content: dict[str, Any]) -> Record:
    """Check the shape of a record.

    Raises:
        ValueError: It is not one, or it speaks for files that are not beside it.
    """
    kinds = {"schema": int, "stage": str, "key": str, "spec": dict, "code": str, "modules": dict}
    for name, kind in kinds.items():
        if not isinstance(content[name], kind):
            raise ValueError(f"{name} is {content[name]!r}")
    record = Record(
        mark,
        content,
        *(
            tuple(File(str(one["name"]), str(one["path"]), str(one["sha256"])) for one in some)
            for some in (content["inputs"], content["outputs"])
        ),
    )
    here = PurePosixPath(mark).parent
    for file in record.outputs:
        path = PurePosixPath(file.path)
        if ".." in path.parts or not path.is_relative_to(here):
            raise ValueError(f"it speaks for {file.path}, which does not lie beside it")
    return record


def each(items: Iterable[Any], look: Callable[[Any], Iterable[Finding]]) -> list[Finding]:
    """Look at one artifact after the other; one that cannot be looked at is a finding itself.

    Args:
        items: Records, or tuples that begin with one.
        look: Yields what is wrong with one of them.
    """
    found: list[Finding] = []
    for item in items:
        record = item if isinstance(item, Record) else item[0]
        try:
            found += look(item)
        except Exception as error:  # noqa: BLE001 - an audit reports, whatever it meets
            found.append(Finding("unreadable", record.mark, _line(error)))
    return found


def _line(error: Exception) -> str:
    """Say in one line what was raised."""
    kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
    return " ".join(f"{kind}{error}".split())[:500]
