"""The folder of a cache: entries come in whole, and go out checked."""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from turnscope import atomic, provenance, records
from turnscope.records import DIARY, MARK

DRAFT = ".draft-"
"""Begins the names of folders that are no entries, or no longer."""
ABANDONED = 86400.0
"""Seconds after which nobody is at work on a draft any more."""
LINKED = 1 << 20
"""Bytes from which on a file is linked, where that is allowed, and not copied."""
CHUNK = 1 << 20
"""Bytes that are read at a time."""


class Entry(NamedTuple):
    """A finished job in a cache."""

    folder: Path
    record: dict[str, Any]
    """Its `provenance.json`."""

    def file(self, sha256: str) -> Path:
        """Return where a file with some content lies; names of artifacts do not matter here."""
        return self.folder / sha256


class Found(NamedTuple):
    """An entry as it lies on the shelf."""

    folder: Path
    size: int
    """Bytes."""
    used: float
    """When it was last used, in seconds since 1970."""


def put(cache: Path, mark: Path, read: set[str]) -> bool:
    """Keep a finished job; return whether it is new.

    Args:
        cache: The folder; made if it is not there.
        mark: Its `provenance.json`.
        read: Paths of files that jobs read. They are copied; others may be linked.

    Raises:
        ValueError: An artifact is not what its record says.
    """
    made = json.loads(mark.read_text())
    shas = {one["name"]: one["sha256"] for one in made["inputs"]}
    key = provenance.key(made["stage"], made["spec"], made["code"], shas)
    if key != made["key"]:
        raise ValueError(f"{mark}: its key is not that of what it was made from")
    place = _place(cache, key)
    if place.is_dir():
        return False
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=DRAFT, dir=cache))
    try:
        for one in made["outputs"]:
            path, sha256 = Path(one["path"]), one["sha256"]
            if not (draft / sha256).exists():
                bring(path, draft / sha256, sha256, one["path"] not in read)
        for name, path in ((MARK, mark), (DIARY, records.diary(mark))):
            shutil.copyfile(path, draft / name)
        for path in draft.iterdir():
            path.chmod(0o444)
        draft.chmod(place.parent.stat().st_mode & 0o7777)
        draft.rename(place)
    except OSError:
        if place.is_dir():  # somebody else was first
            return False
        raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return True


def get(cache: Path, key: str) -> Entry | None:
    """Find an entry, without a look at its files; None where there is none."""
    folder = _place(cache, key)
    return Entry(folder, record(folder / MARK)) if folder.is_dir() else None


def record(mark: Path) -> dict[str, Any]:
    """Read a record of provenance; what is none, or damaged, has nothing in it."""
    return records.read(mark) or {}


def bring(source: Path, to: Path, sha256: str, linked: bool) -> None:
    """Bring a file to a path that is new, at once and with the content that it must have.

    Args:
        source: The file.
        to: The path.
        sha256: Of its content.
        linked: Whether a large one may be linked, if it is our own; a copy has dates of its own.

    Raises:
        ValueError: Its content is another.
    """
    with atomic.replacing(to) as draft:
        if not (linked and _link(source, draft)):
            found = _copy(source, draft)
        else:
            found = provenance.file_sha256(draft)
        if found != sha256:
            raise ValueError(f"{source} is not what its record says")


def use(entry: Entry) -> None:
    """Note that an entry was used; only those who may write to it can."""
    with contextlib.suppress(OSError):
        os.utime(entry.folder)


def discard(folder: Path) -> None:
    """Take an entry away, if we may; whoever is reading it finds it gone."""
    with contextlib.suppress(OSError):
        away = folder.parent.parent / f"{DRAFT}{folder.name}-{os.getpid()}"
        folder.rename(away)
        shutil.rmtree(away, ignore_errors=True)


def entries(cache: Path) -> list[Found]:
    """List all entries, the longest unused first."""
    found = []
    for folder in cache.glob("[0-9a-f][0-9a-f]/*"):
        with contextlib.suppress(FileNotFoundError):  # taken away meanwhile
            size = sum(path.stat().st_size for path in folder.iterdir())
            found.append(Found(folder, size, folder.stat().st_mtime))
    return sorted(found, key=lambda one: (one.used, one.folder.name))


def prune(cache: Path, most: int) -> Iterator[Found]:
    """Take away what was longest unused until the rest fits, and drafts that nobody finishes.

    Args:
        cache: The folder.
        most: Bytes that may remain.

    Yields:
        What was taken away.
    """
    for draft in cache.glob(f"{DRAFT}*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - draft.stat().st_mtime > ABANDONED:
                shutil.rmtree(draft, ignore_errors=True)
    found = entries(cache)
    size = sum(one.size for one in found)
    for one in found:
        if size <= most:
            return
        discard(one.folder)
        if not one.folder.exists():
            size -= one.size
            yield one


def _place(cache: Path, key: str) -> Path:
    return cache / key[:2] / key


def _link(source: Path, to: Path) -> bool:
    """Link a large file of our own; another's could be neither touched nor relied upon."""
    stat = source.stat()
    if stat.st_size < LINKED or stat.st_uid != os.geteuid():
        return False
    try:
        to.hardlink_to(source)
    except OSError:  # another file system, or one without links
        return False
    return True


def _copy(source: Path, to: Path) -> str:
    """Copy a file; return the SHA-256 of what was copied."""
    found = hashlib.sha256()
    with source.open("rb") as old, to.open("wb") as new:
        while chunk := old.read(CHUNK):
            found.update(chunk)
            new.write(chunk)
    return found.hexdigest()
