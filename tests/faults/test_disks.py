"""Full disks and read-only file systems."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.study import (
    Study,
    assert_equal,
    assert_nothing_half,
    content,
    copied,
    lose,
    run,
    snakemake,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("mounts")]
SIZE = 16 << 20
"""Bytes of the disk; the results take a quarter."""

REFUSED = "error: results cannot be written: its file system is read-only, or it is another's"


@contextlib.contextmanager
def mounted(folder: Path, *words: str) -> Iterator[None]:
    subprocess.run(["mount", *words, str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk for the results."""
    (tmp_path / "results").mkdir()
    with mounted(tmp_path / "results", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs"):
        yield tmp_path


def fill(folder: Path, room: int) -> Path:
    """Fill the disk of the results but for some bytes; return the file that takes them."""
    ballast = folder / "results" / ".ballast"
    with ballast.open("wb") as file:
        disk = os.statvfs(folder / "results")
        os.posix_fallocate(file.fileno(), 0, disk.f_bavail * disk.f_frsize)
        file.truncate(file.tell() + disk.f_bavail * disk.f_frsize - room)
    return ballast


@pytest.mark.parametrize(
    ("rule", "room"),
    [("tasks", 0), ("train", 0), ("train", 1 << 17), ("gather", 1 << 12), ("figure", 1 << 15)],
)
def test_a_full_disk_is_named_and_costs_nothing_that_was_finished(study, rule, room, disk):
    job = study.jobs[rule]
    copied(study, disk, job)
    before = content(disk)
    ballast = fill(disk, room)
    code, log = run(study, job, disk)
    assert code == 1
    assert log[-1].startswith("error: no space left on the disk of results/")
    assert Path(log[-1].split(";")[0].split()[-1]).parent == job.mark.parent
    assert log[-1].endswith("; make room and give the same command again: what is finished stays")
    ballast.unlink()
    assert_nothing_half(study, job, disk)
    assert before.items() <= content(disk).items()
    assert run(study, job, disk)[0] == 0
    assert_equal(study, disk)


def test_a_log_on_a_full_disk_is_said_aside(study, disk):
    """Logs lie among the results, and may have no room for the line that says so."""
    job = study.jobs["figure"]
    lose(copied(study, disk, study.jobs["report"]), job)
    subprocess.run(["cp", "-a", str(study.repo / ".snakemake"), str(disk)], check=True)
    ballast = fill(disk, 0)
    target = "results/figures/pass_at_k.svg"
    code, said = snakemake(study, disk, target)
    assert code == 1
    lines = said.splitlines()
    assert [
        line for line in lines if line.strip().startswith("error: no space left on the disk of")
    ]
    ballast.unlink()
    assert_nothing_half(study, job, disk)
    code, said = snakemake(study, disk, target, "results/report.html")
    assert code == 0, said
    assert_equal(study, disk)


@pytest.fixture
def frozen(study: Study, tmp_path: Path) -> Iterator[Path]:
    """A copy of the study without a figure, whose results are read-only, also for root."""
    lose(copied(study, tmp_path, study.jobs["train"]), study.jobs["figure"])
    results = tmp_path / "results"
    with mounted(results, "--bind", str(results)):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(results)], check=True)
        yield tmp_path


@pytest.mark.parametrize("rule", ["tasks", "train", "figure"])
def test_a_job_with_read_only_results_says_so_before_its_work(study, rule, frozen):
    before = content(frozen)
    code, log = run(study, study.jobs[rule], frozen)
    assert code == 1
    assert log[-1].startswith("error: results/")
    assert log[-1].endswith(" cannot be written: its file system is read-only")
    assert not [line for line in log if line.endswith(": start")]
    assert content(frozen) == before


def test_a_run_with_read_only_results_says_so_and_a_plan_does_not_mind(study, frozen):
    subprocess.run(["cp", "-a", str(study.repo / ".snakemake"), str(frozen)], check=True)
    before = content(frozen)
    code, said = snakemake(study, frozen, "--dry-run", "results/figures/pass_at_k.svg")
    assert code == 0, said
    assert "Draw pass_at_k" in said
    code, said = snakemake(study, frozen, "results/figures/pass_at_k.svg")
    assert code == 1
    assert [line for line in said.splitlines() if line == REFUSED], said
    assert "Traceback" not in said
    assert content(frozen) == before
