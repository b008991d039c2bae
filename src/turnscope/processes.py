"""What this process and those that it started took."""

import contextlib
import os
import resource
import sys
from pathlib import Path


def cpu_seconds() -> float:
    """Return the processor time of this process and of all that it started, ended or not.

    Those that still run, such as workers that wait for a next task until this process ends, are
    known on Linux only; those that left it for good are not known.
    """
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages) + _running()


def peak_bytes() -> int:
    """Return the most memory that this process alone had at a time."""
    scale = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


def _running() -> float:
    """Return the processor time of the processes below this one that still run, seconds."""
    known = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            # Behind the name, which may hold anything: state, parent, ...
            words = path.read_text(errors="replace").rpartition(")")[2].split()
            # Its own time, and that of its children that it waited for; of users and the kernel.
            known[int(path.parent.name)] = int(words[1]), sum(map(int, words[11:15]))
    own, ticks = {os.getpid()}, 0
    while own:
        found = {number: used for number, (parent, used) in known.items() if parent in own}
        own, ticks = set(found), ticks + sum(found.values())
    return ticks / os.sysconf("SC_CLK_TCK")
