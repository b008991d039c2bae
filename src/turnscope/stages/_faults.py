"""What the last line of a log says of a job that failed."""

import contextlib
import errno
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ASIDE = "TURNSCOPE_ASIDE"
"""Names a variable with the number of an open file that is said what the log cannot hold."""
FULL = (errno.ENOSPC, errno.EDQUOT)
TEXTS = re.compile(r"No space left on device|Disk quota exceeded|\(os error 28\)")
"""How libraries spell a full disk that pass on no number of the error."""
LITTLE = 1 << 16
"""Bytes; a disk with less room is full."""


def line(error: Exception, outputs: Iterable[Path]) -> str:
    """Say in one line what went wrong.

    Args:
        error: What was raised.
        outputs: Files of the job.
    """
    named = sorted(outputs, key=lambda path: path.exists())[:1]
    faults = [*_chain(error)]
    numbers = {fault.errno for fault in faults if isinstance(fault, OSError)}
    usual = isinstance(error, ValueError)
    for path in named:
        if numbers & {*FULL} or _spelled(faults) or (not usual and _full(path)):
            return (
                f"no space left on the disk of {path}; make room and give the same command "
                "again: what is finished stays"
            )
        if errno.EROFS in numbers:
            return f"{path} cannot be written: its file system is read-only"
    kind = "" if usual else f"{type(error).__name__}: "
    return " ".join(f"{kind}{error}".split())


def say(line: str) -> None:
    """Write the last line of the log, or aside where the log is on a full disk."""
    try:
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - that is where the log is
    except OSError:
        with contextlib.suppress(OSError, ValueError):
            os.write(int(os.environ.get(ASIDE, "")), f"{line}\n".encode())


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those that led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _spelled(faults: Iterable[BaseException]) -> bool:
    return any(TEXTS.search(str(fault)) for fault in faults)


def _full(path: Path) -> bool:
    """Say whether a disk is full, as far as can be told."""
    with contextlib.suppress(OSError):
        disk = os.statvfs(path.parent)
        return disk.f_blocks > 0 and disk.f_bavail * disk.f_frsize < LITTLE
    return False
