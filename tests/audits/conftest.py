"""A finished study to tamper with, and the jobs that would make it."""

import os
import subprocess
import sys

import pytest

from tests.audits import forging
from turnscope import dry_run


@pytest.fixture(scope="session")
def planned(finished):
    """The jobs that would make the study."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "snakemake", "--configfile", "config/test.yaml", "--cores"),
            *("2", "all", "--forceall", "--dry-run", "--printshellcmds"),
        ],
        cwd=finished,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=True,
    )
    return dry_run.read(done.stdout.splitlines())


@pytest.fixture
def copied(finished, tmp_path):
    return forging.copy(finished / "results", tmp_path)
