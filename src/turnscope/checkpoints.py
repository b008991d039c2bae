"""Checkpoints that a killed job can trust.

The mark of a checkpoint is written last, once all of it is on the disk, and holds the checksum of
every file. What does not agree with its mark is never gone on from: a run takes the checkpoint
before it. Their order is that of their steps; no clock has a say in it.
"""

import json
import logging
import shutil
from pathlib import Path

from turnscope import atomic
from turnscope.provenance import file_sha256, write_json

log = logging.getLogger(__name__)

COMPLETE = "complete"
"""The mark of a checkpoint."""
KEPT = 2
"""Complete checkpoints that a run keeps: the last one, and one to fall back on."""


def finish(folder: Path) -> None:
    """Mark a checkpoint as complete once all of it is on the disk, and remove the oldest ones."""
    atomic.settle(folder)
    write_json(
        {path.relative_to(folder).as_posix(): file_sha256(path) for path in _files(folder)},
        folder / COMPLETE,
    )
    for old in _found(folder.parent)[:-KEPT]:
        shutil.rmtree(old)


def last(scratch: Path, name: str) -> Path | None:
    """Return the last good checkpoint of this very run, and remove what must not be used.

    Args:
        scratch: Folder of the checkpoints.
        name: What the checkpoints must belong to.
    """
    label = scratch / "run.json"
    scratch.mkdir(parents=True, exist_ok=True)
    found = _found(scratch)
    if not label.exists() or label.read_text(errors="replace") != json.dumps(name):
        if found:
            log.warning("%s: no checkpoint is used, for they are another run's", scratch)
        for path in found:
            shutil.rmtree(path)
        atomic.write_text(json.dumps(name), label)
        return None
    while found:
        if (why := damage(found[-1])) is None:
            return found[-1]
        log.warning("%s is not used: %s", found[-1], why)
        shutil.rmtree(found.pop())
    return None


def damage(folder: Path) -> str | None:
    """Say what is wrong with a checkpoint; None is nothing."""
    mark = folder / COMPLETE
    if not mark.is_file():
        return "it was cut short"
    try:
        sums = json.loads(mark.read_bytes())
    except ValueError:
        return f"its {COMPLETE} is damaged"
    if not isinstance(sums, dict) or not sums:
        return f"its {COMPLETE} is damaged"
    for name, sha256 in sums.items():
        path = folder / name
        if not path.is_file():
            return f"its {name} is missing"
        if file_sha256(path) != sha256:
            return f"its {name} is damaged"
    return None


def _files(folder: Path) -> list[Path]:
    """List the files of a checkpoint but for its mark."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != COMPLETE]


def _found(scratch: Path) -> list[Path]:
    """List checkpoints in order of their steps."""
    named = (path for path in scratch.glob("checkpoint-*") if path.name[11:].isdecimal())
    return sorted(named, key=lambda path: int(path.name[11:]))
