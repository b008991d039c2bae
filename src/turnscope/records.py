"""The records beside artifacts: what they are called, where they are, and reading them.

Each artifact has two, see `turnscope.provenance`. They lie in its folder, or bear its name where
artifacts share one: `pass_at_k.provenance.json`. They may be lost or damaged.
"""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, TypeVar

HOME = "results"
"""Folder in which every record says that it is, wherever it was moved to."""
MARK = "provenance.json"
"""End of the name of a record; all of it where it speaks for its folder."""
DIARY = "run.json"
"""The same of the record of circumstances."""
MAPPINGS, LISTS = ("spec", "modules"), ("inputs", "outputs")
Job = TypeVar("Job")


def diary(mark: Path) -> Path:
    """Return the path of the record of circumstances beside a record."""
    return mark.with_name(mark.name.removesuffix(MARK) + DIARY)


def files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder in order, without hidden ones and those of studies inside.

    Links are files: nobody follows them. What goes meanwhile is passed over.
    """
    waiting = [folder]
    while waiting:
        path = waiting.pop()
        if path != folder and (path.is_symlink() or not path.is_dir()):
            yield path
        elif path == folder or not (path / HOME).is_dir():
            with contextlib.suppress(FileNotFoundError):
                found = sorted(path.iterdir(), reverse=True)
                waiting += [one for one in found if not one.name.startswith(".")]


def marks(folder: Path) -> Iterator[Path]:
    """Yield the records among the files of a folder."""
    for path in files(folder):
        if path.name == MARK or path.name.endswith(f".{MARK}"):
            yield path


def is_part(stage: str, name: str, path: str) -> bool:
    """Tell whether an input is a table of a part, which may be deleted once it is gathered.

    Args:
        stage: What reads it.
        name: Of the input.
        path: As records name it.
    """
    named = name.startswith(("episodes.", "turns."))
    return stage == "gather" and named and path.startswith(f"{HOME}/shards/")


def in_order(
    jobs: Sequence[Job],
    reads: Callable[[Job], Iterable[str]],
    writes: Callable[[Job], Iterable[str]],
) -> list[Job]:
    """Sort jobs such that each follows those that it waits for.

    Args:
        jobs: In any order.
        reads: Names the files that a job reads.
        writes: Names those that it writes.
    """
    made = {path: number for number, job in enumerate(jobs) for path in writes(job)}
    order = TopologicalSorter[int]()
    for number, job in enumerate(jobs):
        order.add(number, *(made[path] for path in reads(job) if path in made))
    return [jobs[number] for number in order.static_order()]


def read(mark: Path) -> dict[str, Any] | None:
    """Read the record of an artifact, see `turnscope.provenance.record`.

    Args:
        mark: `provenance.json`, or `NAME.provenance.json`.

    Returns:
        The record; None if there is none, or if it is damaged.
    """
    try:
        found = json.loads(mark.read_text())
    except (OSError, ValueError):
        return None
    return found if _whole(found) else None


def _whole(found: Any) -> bool:
    """Tell whether all is there that is read of a record."""
    return (
        isinstance(found, dict)
        and isinstance(found.get("stage"), str)
        and all(isinstance(found.get(name), dict) for name in MAPPINGS)
        and all(isinstance(found.get(name), list) for name in LISTS)
        and all(
            isinstance(entry, dict)
            and isinstance(entry.get("path"), str)
            and isinstance(entry.get("sha256"), str)
            for name in LISTS
            for entry in found[name]
        )
    )
