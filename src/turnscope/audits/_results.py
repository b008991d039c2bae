"""A folder of results as auditors see it: records, the files they speak for, and what is amiss."""

import functools
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

from turnscope import provenance, tables
from turnscope.audits import _records
from turnscope.audits._records import Record
from turnscope.dry_run import Planned
from turnscope.records import HOME, marks
from turnscope.schemas import TABLES
from turnscope.types import Task

OUTSIDE = ("/dev", "/proc", "/sys")
"""Where what looks like a file may never end."""
VALUES = 1 << 28
"""Values of one column in one group of rows at most; they are held at once."""


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
    def spare(self) -> frozenset[str]:
        """Tables of parts that were gathered: they may be gone, but not be others."""
        return frozenset(file.path for record in self.records for file in record.gathered())

    def gone(self, path: str) -> bool:
        """Tell whether a file is one that may be gone, and is."""
        return path in self.spare and not os.path.lexists(self.place(path))

    @functools.cached_property
    def _digests(self) -> dict[str, str | None]:
        return {}

    def opened(self, path: str) -> Path:
        """Return where a file lies that may be opened: a plain one, and for results no link.

        Raises:
            ValueError: It is not there, or may lead elsewhere, or never end.
        """
        place = self.place(path)
        if path.startswith(f"{HOME}/"):
            way = [place, *place.parents]
            if any(one.is_symlink() for one in way[: way.index(self.folder)]):
                raise ValueError(f"{path} is a link, or lies behind one; legal is a file")
        elif any(place.resolve().is_relative_to(one) for one in OUTSIDE):
            raise ValueError(f"{path} is a device; legal is a file")
        if not place.is_file():
            raise ValueError(f"{path} is not there, or no file")
        return place

    def sha256(self, path: str) -> str | None:
        """Return the checksum of a file; None if there is no readable file."""
        if path not in self._digests:
            try:
                self._digests[path] = provenance.file_sha256(self.opened(path))
            except (OSError, ValueError):
                self._digests[path] = None
        return self._digests[path]

    def sound(self, path: str, name: str) -> Path:
        """Return where a table lies whose groups of rows are no larger than those of the study.

        Raises:
            ValueError: It is not a table of that name, or may not fit into memory.
        """
        if path not in self._sound:
            place = self.opened(path)
            with tables.opened(place, name) as file:
                _demand_bounded(path, file.metadata)
            self._sound[path] = place
        return self._sound[path]

    @functools.cached_property
    def _sound(self) -> dict[str, Path]:
        return {}

    def table(self, path: str, name: str, columns: list[str] | None = None) -> pd.DataFrame:
        """Read a table that a record names, see `tables.read`."""
        return tables.read(self.sound(path, name), name, columns)

    def arrow(self, path: str, name: str) -> pa.Table:
        """Read a table without making an object of each value.

        Raises:
            ValueError: It is not a readable table of that name.
        """
        groups = [*tables.groups(self.sound(path, name), name)]
        return pa.concat_tables(groups) if groups else TABLES[name].empty_table()

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
            path, gone = record.output(name), any(self.gone(file.path) for file in record.outputs)
            if path is not None and path.endswith(".parquet") and not gone:
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
    for path in marks(folder):
        mark = f"{HOME}/{path.relative_to(folder).as_posix()}"
        try:
            results.records.append(_records.read(mark, path))
        except Exception as error:  # noqa: BLE001 - whatever makes it unreadable
            results.unreadable.append(Finding("record", mark, f"unreadable: {line(error)}"))
    return results


def _demand_bounded(path: str, about: Any) -> None:
    """Refuse groups of rows that the study does not write, before any is read.

    Raises:
        ValueError: There is one.
    """
    for number in range(about.num_row_groups):
        group = about.row_group(number)
        if not 0 <= group.num_rows <= tables.ROWS_PER_GROUP:
            most = tables.ROWS_PER_GROUP
            raise ValueError(f"{path}: a group of {group.num_rows} rows; legal is at most {most}")
        most = max((group.column(at).num_values for at in range(group.num_columns)), default=0)
        if most > VALUES:
            raise ValueError(f"{path}: a column of {most} values; legal is at most {VALUES}")


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
            found.append(Finding("unreadable", record.mark, line(error)))
    return found


def line(error: Exception) -> str:
    """Say in one line what was raised."""
    kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
    return " ".join(f"{kind}{error}".split())[:500]
