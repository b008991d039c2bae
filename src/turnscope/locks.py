"""One process at a time, without clocks and without locks that outlive who held them."""

import contextlib
import fcntl
import logging
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

log = logging.getLogger(__name__)


@contextlib.contextmanager
def holding(path: Path, what: str) -> Iterator[bool]:
    """Hold a lock, waiting for it if another process has it; it is free once that process ends.

    Some network file systems cannot lock. There, nobody waits.

    Args:
        path: File that is locked; removed at the end.
        what: What it is about, for the log.

    Yields:
        Whether another process had it.
    """
    with contextlib.ExitStack() as stack:
        waited = False
        while True:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                file = stack.enter_context(path.open("a+b"))
            except FileNotFoundError:  # who had it has just removed the folder
                continue
            waited |= _lock(file, what)
            if _is(path, file):
                break
        with contextlib.suppress(OSError):  # on a full disk, nobody says who has it
            os.ftruncate(file.fileno(), 0)
            os.write(file.fileno(), f"process {os.getpid()} on {platform.node()}".encode())
        try:
            yield waited
        finally:
            if _is(path, file):
                path.unlink()


def _lock(file: BinaryIO, what: str) -> bool:
    """Lock a file, and say whether that took waiting.

    The lock is that of the process and not of the open file, which children would inherit.
    """
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except (BlockingIOError, PermissionError):
        file.seek(0)
        holder = file.read().decode(errors="replace") or "another process"
        log.warning("%s is being made by %s; waiting for it", what, holder)
    except OSError:
        return False
    fcntl.lockf(file, fcntl.LOCK_EX)
    return True


def _is(path: Path, file: BinaryIO) -> bool:
    """Tell whether an open file is still the one of that name: while waiting, it may be gone."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
