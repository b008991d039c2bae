"""Run Snakemake on a SLURM, in a copy of the repository, and look at its jobs."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.slurm import node

STUDY = ("config/test.yaml", "tests/slurm/small.yaml")
IMPATIENT = str(Path(__file__).with_name("impatient.py"))


STARTED: list[subprocess.Popen] = []
"""All Snakemakes, so that none outlives the tests."""


class Run(NamedTuple):
    """Snakemake at work, and the file with what it says."""

    process: subprocess.Popen
    said: Path


class Job(NamedTuple):
    """A job as squeue shows it, finished ones too."""

    id: str
    state: str
    name: str
    comment: str
    limit: str
    memory: str
    gpus: str
    processors: str


FIELDS = ("JobID", "State", "Name", "Comment", "TimeLimit", "MinMemory", "tres-per-job", "NumCPUs")
"""What squeue calls these."""


def start(repo: Path, *arguments: str) -> Run:
    """Start Snakemake in a copy with the profile for SLURM."""
    return _begin(repo, IMPATIENT, "--profile", "slurm", *arguments)


def begin(repo: Path, *arguments: str) -> Run:
    """Start Snakemake in a copy without SLURM."""
    return _begin(repo, "-m", "snakemake", "--cores", "2", *arguments)


def finish(run: Run) -> tuple[int, str]:
    """Wait for Snakemake; return its exit code and what it said."""
    code = run.process.wait(timeout=3600)
    return code, run.said.read_text()


def stop() -> None:
    """Kill the Snakemakes that a failed test left behind, which would go on sending jobs."""
    for process in STARTED:
        process.kill()
        process.wait()
    STARTED.clear()


def copied(repo: Path, to: Path) -> Path:
    """Copy a repository with its results and Snakemake's records."""
    return shutil.copytree(repo, to, symlinks=True)


def jobs(repo: Path) -> list[Job]:
    """List the jobs of SLURM that were sent off in a copy, in order."""
    asked = ",".join(f"{field}:|" for field in (*FIELDS, "WorkDir"))
    said = node.run("squeue", "--states=all", "--noheader", f"--Format={asked}")
    rows = [line.split("|") for line in said.splitlines()]
    # a separator ends the last field too
    found = [Job(*row[:-2]) for row in rows if row[-2] == str(repo)]
    return sorted(found, key=lambda job: int(job.id))


def at_work(repo: Path, stage: str) -> list[int]:
    """List the processes that run a stage in a copy."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if f"turnscope.stages.{stage}".encode() in words and (entry / "cwd").readlink() == repo:
                found.append(int(entry.name))
        except OSError:  # no process, or none any more
            continue
    return found


def wait_for(repo: Path, stage: str) -> None:
    """Wait until a stage runs in a copy."""
    node.wait(lambda: at_work(repo, stage), f"no job runs {stage}")


def kill(*processes: int) -> None:
    """Kill processes without a chance to say anything."""
    for process in processes:
        os.kill(process, signal.SIGKILL)


def _begin(repo: Path, *command: str) -> Run:
    said = repo / "said.txt"
    with said.open("w") as output:
        process = subprocess.Popen(
            [
                *("setpriv", "--pdeathsig", "KILL"),  # if a test fails, it goes with the tests
                *(sys.executable, *command, "--configfile", *STUDY, "--nocolor"),
            ],
            cwd=repo,
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    STARTED.append(process)
    return Run(process, said)
