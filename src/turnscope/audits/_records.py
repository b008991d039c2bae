"""What `provenance.json` says, read with distrust: whoever wrote it may want to mislead its reader.

Nothing that a record names is opened here. A record that is too long, says something twice, or
names files that are none of its business is refused as a whole.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from turnscope.records import HOME, is_part

LONGEST = 1 << 24
"""Bytes of a record at most; those of the largest study have a hundredth of it."""


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

    @property
    def is_part(self) -> bool:
        """Whether it speaks for a part of a set of episodes, which may go once it is gathered."""
        return "part" in self.spec

    def gathered(self) -> Iterator[File]:
        """Return the tables of parts that it was put together from, and that may be gone."""
        return (one for one in self.inputs if is_part(self.stage, one.name, one.path))

    def output(self, name: str) -> str | None:
        """Return the path of an output; None if it has none of that name."""
        return next((file.path for file in self.outputs if file.name == name), None)

    def input(self, name: str) -> str | None:
        """Return the path of an input; None if it has none of that name."""
        return next((file.path for file in self.inputs if file.name == name), None)


def read(mark: str, place: Path) -> Record:
    """Read a record.

    Args:
        mark: What it is called, below `HOME`.
        place: Where it lies.

    Raises:
        ValueError: It is not one, or it speaks for files that are not beside it.
        OSError: It cannot be read.
    """
    return _checked(mark, loads(place))


def loads(place: Path) -> dict[str, Any]:
    """Read JSON that has each key once and no number that is none.

    Raises:
        ValueError: It is not that, or too long.
        OSError: It cannot be read.
    """
    if place.is_symlink() or not place.is_file():
        raise ValueError("it is a link, or no file")
    if (size := place.stat().st_size) > LONGEST:
        raise ValueError(f"it has {size} bytes; legal is at most {LONGEST}")
    try:
        return json.loads(place.read_bytes(), object_pairs_hook=_once, parse_constant=_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is there twice, of which other readers may see the other value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {twice!r} is there twice")
    return found


def _number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _checked(mark: str, content: dict[str, Any]) -> Record:
    """Check the shape of a record.

    Raises:
        ValueError: It is not one, or it speaks for files that are not beside it.
    """
    kinds = {"schema": int, "stage": str, "key": str, "spec": dict, "code": str, "modules": dict}
    for name, kind in kinds.items():
        if not isinstance(content[name], kind):
            raise ValueError(f"{name} is {content[name]!r}")
    if not re.fullmatch("[a-z][a-z_]*", content["stage"]):
        raise ValueError(f"stage is {content['stage']!r}, which is no name")
    for name in ("env", "model", "policy", "metric"):
        if not isinstance(content["spec"].get(name, ""), str):
            raise ValueError(f"spec.{name} is {content['spec'][name]!r}, which is no name")
    inputs, outputs = (tuple(_file(one) for one in content[some]) for some in ("inputs", "outputs"))
    here = PurePosixPath(mark).parent
    for file in outputs:
        if not PurePosixPath(file.path).is_relative_to(here):
            raise ValueError(f"it speaks for {file.path}, which does not lie beside it")
    return Record(mark, content, inputs, outputs)


def _file(entry: dict[str, Any]) -> File:
    """Check what is said of a file.

    Raises:
        ValueError: No file of a study can have this name, or this checksum.
    """
    name, path, sha256 = (entry[key] for key in ("name", "path", "sha256"))
    if not all(isinstance(one, str) and one.isprintable() and one for one in (name, path)):
        raise ValueError(f"a file is called {name!r}: {path!r}")
    parts = PurePosixPath(path).parts
    ours = parts[0] == HOME
    if "\\" in path or (ours and (".." in parts or PurePosixPath(path).as_posix() != path)):
        raise ValueError(f"it names {path}, which leads elsewhere")
    if not isinstance(sha256, str) or not re.fullmatch("[0-9a-f]{64}", sha256):
        raise ValueError(f"{path} has checksum {sha256!r}, which is none")
    return File(name, path, sha256)
