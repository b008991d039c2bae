import os
import time
from pathlib import Path

from turnscope import dates

HOUR = 3600 * 10**9


def dated(path: Path, date: int) -> Path:
    path.write_text(path.name)
    os.utime(path, ns=(date, date))
    return path


def test_what_is_dated_in_the_future_is_dated_now_in_its_order(tmp_path):
    now = time.time_ns()
    late, past, early = (
        dated(tmp_path / name, now + shift)
        for name, shift in (("late", 2 * HOUR), ("past", -HOUR), ("early", HOUR))
    )
    assert dates.heal([late, past, early, tmp_path / "none"]) == [early, late]
    assert past.stat().st_mtime_ns == now - HOUR
    # As floats, which is how Snakemake compares them.
    assert past.stat().st_mtime < early.stat().st_mtime < late.stat().st_mtime <= time.time()
    assert late.read_text() == "late"
    assert dates.heal([late, past, early]) == []
