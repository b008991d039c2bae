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
FAST = (
    *("--latency-wait", "10"),  # for files under load, not for a file system
    *("--slurm-init-seconds-before-status-checks", "3"),
)


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


def start(repo: Path, *arguments: str) -> Run:
    """Start Snakemake in a copy with the profile for SLURM."""
    return begin(repo, "--profile", "slurm", *FAST, *arguments)


def begin(repo: Path, *arguments: str) -> Run:
    """Start Snakemake in a copy."""
    said = repo / "said.txt"
    with said.open("w") as output:
        process = subprocess.Popen(
            [
                *("setpriv", "--pdeathsig", "KILL"),  # if a test fails, it goes with the tests
                *(sys.executable, "-m", "snakemake", "--configfile", *STUDY),
                *("--nocolor", "--cores", "2", *arguments),
            ],
            cwd=repo,
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    return Run(process, said)


def finish(run: Run) -> tuple[int, str]:
    """Wait for Snakemake; return its exit code and what it said."""
    code = run.process.wait(timeout=900)
    return code, run.said.read_text()


def copied(repo: Path, to: Path) -> Path:
    """Copy a repository with its results and Snakemake's records."""
    return shutil.copytree(repo, to, symlinks=True)


def jobs(repo: Path) -> list[Job]:
    """List the jobs of SLURM that were sent off in a copy, in order."""
    fields = "JobID:|,State:|,Name:|,Comment:|,TimeLimit:|,MinMemory:|,tres-per-job:|,WorkDir:|"
    said = node.run("squeue", "--states=all", "--noheader", f"--Format={fields}")
    rows = [line.split("|") for line in said.splitlines()]
    found = [Job(*row[:7]) for row in rows if row[7] == str(repo)]
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
    node.wait(lambda: at_work(repo, stage), f"no job runs {stage}", seconds=300)


def kill(*processes: int) -> None:
    """Kill processes without a chance to say anything."""
    for process in processes:
        os.kill(process, signal.SIGKILL)
