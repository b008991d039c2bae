"""Files that appear under their names when they are complete, or not at all.

What is written goes to a draft beside its place, to the disk, and only then under its name. So
neither a killed job nor a machine that stops leaves half a file, or an empty one, where a whole
one is expected. Drafts are hidden; those of killed jobs are removed by `sweep`.
"""

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

UNABLE = (errno.EINVAL, errno.ENOTSUP)
"""What file systems answer that cannot be asked to write to the disk at once."""
LAST = ".safetensors"
"""End of the names of files that appear after all others of their folder: a model is there when
its weights are."""


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` at the end, at once or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = _draft(path)
    try:
        yield draft
        settle(draft)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def filling(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder whose files move to `folder` at the end, once all are written.

    What else is in the folder stays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    draft = _draft(folder / "folder")
    draft.mkdir()
    try:
        yield draft
        settle(draft)
        found = [path for path in draft.rglob("*") if path.is_file()]
        for path in sorted(found, key=lambda path: (path.name.endswith(LAST), path)):
            place = folder / path.relative_to(draft)
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, place)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_text(text: str, path: Path) -> None:
    """Write a text in UTF-8, with its line ends as they are; at once or not at all."""
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="")


def settle(path: Path) -> None:
    """Wait until a file, or all files of a folder, are on the disk.

    Without it, a machine that stops may keep the new name of a file and lose what was in it.
    """
    for one in [path] if path.is_file() else path.rglob("*"):
        if one.is_file():
            with one.open("rb") as file:
                _sync(file.fileno())


def sweep(path: Path) -> None:
    """Remove drafts of a file that killed jobs left."""
    for draft in path.parent.glob(f".{path.name}.*.tmp"):
        draft.unlink(missing_ok=True)


def _draft(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def _sync(file: int) -> None:
    try:
        os.fsync(file)
    except OSError as failure:
        if failure.errno not in UNABLE:
            raise
