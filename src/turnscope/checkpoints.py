"""Checkpoints that a killed job can trust."""

import json
import shutil
from pathlib import Path

from turnscope import atomic

COMPLETE = "complete"
"""File that is written into a checkpoint last; a checkpoint without it was cut short."""


def finish(folder: Path) -> None:
    """Mark a checkpoint as complete once all of it is on the disk."""
    atomic.settle(folder)
    (folder / COMPLETE).touch()


def last(scratch: Path, name: str) -> Path | None:
    """Return the last complete checkpoint of this very run, and remove all others.

    Args:
        scratch: Folder of the checkpoints.
        name: What the checkpoints must belong to.
    """
    label = scratch / "run.json"
    scratch.mkdir(parents=True, exist_ok=True)
    if not label.exists() or label.read_text() != json.dumps(name):
        for path in scratch.glob("checkpoint-*"):
            shutil.rmtree(path)
    atomic.write_text(json.dumps(name), label)
    found = sorted(scratch.glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[-1]))
    complete = [path for path in found if (path / COMPLETE).exists()]
    for path in found:
        if path not in complete:
            shutil.rmtree(path)
    return complete[-1] if complete else None
