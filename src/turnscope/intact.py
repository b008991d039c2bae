"""Whether files are still what the jobs that wrote them recorded: damage must not become a number.

A table of Parquet may be read without complaint after a bit of it has flipped. So a job compares
what it reads with the record beside it before it computes. Files without a record pass: they are
somebody's own.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from turnscope.provenance import file_sha256
from turnscope.records import MARK

OURS = {"stage", "spec", "modules"}
"""Keys by which a record is known."""


def sums(inputs: Mapping[str, Path]) -> dict[str, str]:
    """Compute the checksums of files, and compare them with the records beside them.

    Args:
        inputs: By name. The record of a folder stands for all files in it.

    Returns:
        SHA-256 of each file, by its name among the inputs.

    Raises:
        ValueError: A file is not what its job recorded; says what to do.
    """
    records: dict[Path, dict[Path, str]] = {}
    found = {}
    for name, path in inputs.items():
        found[name] = file_sha256(path)
        for mark in _marks(path):
            if mark not in records:
                records[mark] = _recorded(mark, path)
            if path == mark:
                for one, right in records[mark].items():
                    digest = file_sha256(one) if one.is_file() else None
                    _compare(one, right, digest, mark, path)
            elif path in records[mark]:
                _compare(path, records[mark][path], found[name], mark, path)
    return found


def _recorded(mark: Path, wanted: Path) -> dict[Path, str]:
    """Return the checksums in a record, of files where they would lie if they were moved with it.

    Raises:
        ValueError: It is no record.
    """
    try:
        record: Any = json.loads(mark.read_text("utf-8"))
        # A record of ours names what was written; one bit may have flipped in that name.
        entries = record["outputs"] if OURS & record.keys() else record.get("outputs", [])
        if OURS & record.keys() and not entries:
            raise ValueError("it speaks for no file")
        return {mark.parent / _within(entry): entry["sha256"] for entry in entries}
    except (ValueError, AttributeError, KeyError, TypeError):
        raise ValueError(f"{mark} is damaged: it is no record of a job; {_cure(wanted)}") from None


def _marks(path: Path) -> Iterator[Path]:
    """Yield the records that may speak for a file."""
    if path.name == MARK:
        yield path
        return
    for mark in (path.with_name(f"{path.stem}.{MARK}"), path.with_name(MARK)):
        if mark.is_file():
            yield mark


def _within(entry: Mapping[str, str]) -> str:
    """Return the path of a file within the folder of its record.

    Files that were not declared are named by it; those that were lie beside the record.
    """
    name, path = entry["name"], entry["path"]
    return name if f"/{path}".endswith(f"/{name}") else path.rpartition("/")[2]


def _compare(path: Path, right: str, digest: str | None, mark: Path, wanted: Path) -> None:
    if digest is None:
        raise ValueError(f"{path} is missing, and {mark} says it was written; {_cure(wanted)}")
    if digest != right:
        raise ValueError(
            f"{path} is damaged: its content is not what {mark} says was written; {_cure(wanted)}"
        )


def _cure(wanted: Path) -> str:
    """Name what the workflow misses when it is gone: the input itself, and not its record."""
    return f"remove {wanted}, and its job makes it anew"
