"""What an archive is made of, and which names its members may have."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from turnscope import provenance
from turnscope.records import HOME, diary

FOLDER = "study"
"""Holds all of an archive."""
MANIFEST = "MANIFEST.sha256"
"""The first member: a checksum for each file but itself."""
NOTE = "archive.json"
"""Says which commit the code is of, how it differs from it, and which links it holds."""
STUDY = "study.json"
"""The config, as it was merged and checked."""
CRATE = "ro-crate-metadata.json"
SCHEMA = 1
"""Version of the layout."""


class File(NamedTuple):
    """One file of an archive."""

    name: str
    """Below `FOLDER`, with slashes."""
    source: Path | bytes
    """Where its content is, or the content."""
    runs: bool = False
    """May be executed."""

    @property
    def size(self) -> int:
        """Bytes of content."""
        return len(self.source) if isinstance(self.source, bytes) else self.source.stat().st_size


def safe(name: str) -> str:
    """Return the name of a file of an archive, if it stays inside and `sha256sum` reads it.

    Raises:
        ValueError: It does not.
    """
    parts = name.split("/")
    if not name.isprintable() or "\\" in name or {"", ".", ".."} & set(parts):
        raise ValueError(f"the name {name!r} is not legal in an archive")
    return name


def is_result(name: str) -> bool:
    """Tell artifacts and their records from code."""
    return name.startswith(f"{HOME}/")


def inside(link: str, target: str) -> bool:
    """Tell whether a link of the code leads to where the code is."""
    depth = 0
    for part in [*PurePosixPath(link).parent.parts, *target.split("/")]:
        depth += {"": 0, ".": 0, "..": -1}.get(part, 1)
        if depth < 0:
            return False
    return not target.startswith("/")


def manifest(checksums: Mapping[str, str]) -> bytes:
    """Write the SHA-256 of each file as `sha256sum` does, sorted by name."""
    return "".join(f"{checksums[name]}  {name}\n" for name in sorted(checksums)).encode()


def checksums(content: bytes) -> dict[str, str]:
    """Read a manifest: the SHA-256 of each file.

    Raises:
        ValueError: It is none.
    """
    found: dict[str, str] = {}
    for line in content.decode(errors="replace").splitlines():
        match = re.fullmatch(r"([0-9a-f]{64})  (.+)", line)
        if match is None or match[2] in found:
            raise ValueError(f"{MANIFEST} holds {line[:100]!r}, which is no checksum of a new file")
        found[safe(match[2])] = match[1]
    return found


def text(value: Any) -> bytes:
    """Write a record for people and programs."""
    return (json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n").encode()


def artifacts(marks: Iterable[Path]) -> list[File]:
    """List what jobs made, by their records, and the records.

    Raises:
        ValueError: A job wrote outside of the folder of results.
    """
    found: dict[str, File] = {}
    for mark in marks:
        record = json.loads(mark.read_text())
        wrote = [Path(entry["path"]) for entry in record["outputs"]]
        for path in [*wrote, mark, *(one for one in [diary(mark)] if one.is_file())]:
            name = safe(path.as_posix())
            if not is_result(name):
                raise ValueError(f"{mark} says that its job wrote {name}, not under {HOME}/")
            found[name] = File(name, path)
    return list(found.values())


def sha256(file: File) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    if isinstance(file.source, bytes):
        return hashlib.sha256(file.source).hexdigest()
    return provenance.file_sha256(file.source)
