"""Two runs, or two jobs, that make the same thing at the same time."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.faults.study import (
    Job,
    Study,
    assert_equal,
    assert_nothing_half,
    begin,
    copied,
    kill,
    lose,
    start,
)
from turnscope import checkpoints

pytestmark = pytest.mark.slow
WAITS = "is being made by process {} on "
LOG = "results/logs/train/frozen_lake/nano/grpo-s0.log"
TOOK = "another process made it meanwhile"


def wait_for(text: str, log: Path, process: subprocess.Popen[bytes]) -> None:
    def said() -> str:  # Snakemake removes the log before a job begins
        return log.read_text(errors="replace") if log.exists() else ""

    while text not in said():
        assert process.poll() is None, said()
        time.sleep(0.01)


@pytest.mark.parametrize("rule", ["train", "gather", "figure"])
def test_of_two_equal_jobs_one_works_and_the_other_takes_what_it_made(study, rule, tmp_path):
    job = study.jobs[rule]
    copied(study, tmp_path, job)
    first = begin(study, job, tmp_path, "first")
    wait_for(f"{job.stage}: start", tmp_path / "first", first)
    second = behind(study, job, tmp_path, first)
    os.kill(first.pid, signal.SIGCONT)
    assert (first.wait(), second.wait()) == (0, 0)
    assert TOOK in (tmp_path / "second").read_text()
    assert_equal(study, tmp_path)


def test_a_job_whose_ghost_dies_goes_on_from_what_it_left(study, tmp_path):
    """As when a job is submitted again while the first one, which nobody sees, still lives."""
    job = study.jobs["train"]
    copied(study, tmp_path, job)
    ghost = begin(study, job, tmp_path, "first")
    wait_for_checkpoint(study, tmp_path, ghost)
    heir = behind(study, job, tmp_path, ghost)
    assert kill(ghost)
    assert heir.wait() == 0
    said = (tmp_path / "second").read_text()
    assert "going on from checkpoint-" in said
    assert TOOK not in said
    assert_equal(study, tmp_path)


def test_what_another_job_made_otherwise_is_not_taken(study, tmp_path):
    job = study.jobs["figure"]
    copied(study, tmp_path, job)
    other = job._replace(words=[word.replace('"k":4', '"k":2') for word in job.words])
    assert other != job
    first = begin(study, other, tmp_path, "first")
    wait_for("figure: start", tmp_path / "first", first)
    second = behind(study, job, tmp_path, first)
    os.kill(first.pid, signal.SIGCONT)
    assert (first.wait(), second.wait()) == (0, 0)
    assert TOOK not in (tmp_path / "second").read_text()
    assert_equal(study, tmp_path)


def behind(
    study: Study, job: Job, folder: Path, first: subprocess.Popen[bytes]
) -> subprocess.Popen[bytes]:
    """Stop a job at its work, and start another one that waits for it."""
    os.kill(first.pid, signal.SIGSTOP)
    second = begin(study, job, folder, "second")
    wait_for(WAITS.format(first.pid), folder / "second", second)
    return second


def wait_for_checkpoint(study: Study, folder: Path, process: subprocess.Popen[bytes]) -> None:
    scratch = folder / study.jobs["train"].mark.parent / ".scratch"
    while not [*scratch.glob(f"checkpoint-*/{checkpoints.COMPLETE}")]:
        assert process.poll() is None
        time.sleep(0.005)


def at_work(study: Study, folder: Path, log: str) -> tuple[subprocess.Popen[bytes], str]:
    """Train in a folder; return Snakemake once a checkpoint is complete, and the target."""
    job = study.jobs["train"]
    target = (job.mark.parent / "model.safetensors").as_posix()
    running = start(study, folder, log, target)
    wait_for_checkpoint(study, folder, running)
    return running, target


def prepared(study: Study, folder: Path) -> None:
    """Copy the study with what Snakemake knows of it, but for the training."""
    subprocess.run(
        ["cp", "-a", str(study.repo / ".snakemake"), str(study.repo / "results"), str(folder)],
        check=True,
    )
    lose(folder, study.jobs["train"])


def test_of_two_runs_in_one_folder_the_second_is_refused_and_harms_nothing(study, tmp_path):
    prepared(study, tmp_path)
    first, target = at_work(study, tmp_path, "first")
    (stage,) = trainings(first.pid)
    os.kill(stage, signal.SIGSTOP)
    second = start(study, tmp_path, "second", target)
    assert second.wait() == 1
    os.kill(stage, signal.SIGCONT)
    said = (tmp_path / "second").read_text()
    assert "Directory cannot be locked." in said
    assert "It can be removed with the --unlock argument." in said
    assert first.wait() == 0, (tmp_path / "first").read_text()
    assert_equal(study, tmp_path)


def test_a_run_that_is_killed_with_its_job_goes_on_from_the_checkpoint(study, tmp_path):
    prepared(study, tmp_path)
    running, target = at_work(study, tmp_path, "killed")
    assert kill(running)
    assert_nothing_half(study, study.jobs["train"], tmp_path)
    again = start(study, tmp_path, "locked", target)
    assert again.wait() == 1
    assert "removed with the --unlock argument" in (tmp_path / "locked").read_text()
    assert start(study, tmp_path, "unlocked", "--unlock").wait() == 0
    again = start(study, tmp_path, "again", target)
    assert again.wait() == 0, (tmp_path / "again").read_text()
    assert_trained_once_more(study, tmp_path)


def test_a_run_that_is_killed_without_its_job_takes_what_the_job_makes(study, tmp_path):
    prepared(study, tmp_path)
    running, target = at_work(study, tmp_path, "killed")
    (stage,) = trainings(running.pid)
    os.kill(stage, signal.SIGSTOP)
    os.kill(running.pid, signal.SIGKILL)  # the job goes on, as one of SLURM does
    running.wait()
    assert start(study, tmp_path, "unlocked", "--unlock").wait() == 0
    again = start(study, tmp_path, "again", target)
    wait_for(WAITS.format(stage), tmp_path / LOG, again)
    os.kill(stage, signal.SIGCONT)
    assert again.wait() == 0, (tmp_path / "again").read_text()
    assert TOOK in (tmp_path / LOG).read_text(errors="replace")
    assert_equal(study, tmp_path)


def test_a_run_whose_job_is_killed_says_so_and_goes_on_when_it_is_given_again(study, tmp_path):
    prepared(study, tmp_path)
    running, target = at_work(study, tmp_path, "first")
    (stage,) = trainings(running.pid)
    os.kill(stage, signal.SIGKILL)
    assert running.wait() == 1
    assert "Error in rule train:" in (tmp_path / "first").read_text()
    assert_nothing_half(study, study.jobs["train"], tmp_path)
    again = start(study, tmp_path, "again", target)
    assert again.wait() == 0, (tmp_path / "again").read_text()
    assert_trained_once_more(study, tmp_path)


def trainings(group: int) -> list[int]:
    """Find the processes of a session that train."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
            if os.getsid(int(path.name)) == group and b"turnscope.stages.train" in words:
                found.append(int(path.name))
        except (OSError, ProcessLookupError):
            continue
    return found


def assert_trained_once_more(study: Study, folder: Path) -> None:
    assert "going on from checkpoint-" in (folder / LOG).read_text()
    assert_equal(study, folder)
