"""Dates of files where the clock was set back.

Snakemake takes a file that is older than what it was made from for stale, and fails a job whose
output comes out older than its input. After the clock was set back, what was made before is dated
in the future: new files look older than it, and what is stale looks fresh.
"""

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

STEP = 1000
"""Nanoseconds between two dates; Snakemake tells no smaller ones apart."""


def heal(paths: Iterable[Path]) -> list[Path]:
    """Date files that are dated in the future to now, in their order.

    Args:
        paths: Files; those that are missing, or whose date cannot be changed, are passed over.

    Returns:
        The files whose date was changed, the earliest first.
    """
    now, ahead = time.time_ns(), []
    for path in paths:
        with contextlib.suppress(OSError):
            date = path.stat().st_mtime_ns
            if date > now:
                ahead.append((date, path))
    healed = []
    for place, (_, path) in enumerate(sorted(ahead)):
        date = now - (len(ahead) - place) * STEP
        with contextlib.suppress(OSError):
            os.utime(path, ns=(date, date))
            healed.append(path)
    return healed
