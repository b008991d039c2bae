"""The clock is set back by an hour, so that what was made before it is dated in the future."""

import os
import re
import shutil
import time
from pathlib import Path

import pytest
import yaml

from tests.faults.study import Study, assert_equal, lose, run, snakemake

pytestmark = pytest.mark.slow
HOUR = 3600 * 10**9
FIGURE = "results/figures/pass_at_k.svg"
ESTIMATES = "results/estimates/frozen_lake/nano/pass_at_kt.parquet"
SAID = "files were dated in the future, for the clock was set back; now they are not"


@pytest.fixture
def earlier(study: Study, tmp_path: Path) -> Path:
    """A copy of the study that was made in the hour that comes."""
    for name in (".snakemake", "results"):
        shutil.copytree(study.repo / name, tmp_path / name)
    paths = [path for path in (tmp_path / "results").rglob("*") if path.is_file()]
    shift = time.time_ns() + HOUR - max(path.stat().st_mtime_ns for path in paths)
    for path in paths:
        date = path.stat().st_mtime_ns + shift
        os.utime(path, ns=(date, date))
    assert min(path.stat().st_mtime_ns for path in paths) > time.time_ns()
    return tmp_path


def planned(study: Study, folder: Path, *words: str) -> list[str]:
    """List the jobs of a dry run, by their messages."""
    code, said = snakemake(study, folder, "--dry-run", *words)
    assert code == 0, said
    jobs = re.findall(r"^ *Job \d+: (.*)$", said, re.MULTILINE)
    assert bool(jobs) != ("Nothing to be done" in said), said
    return jobs


def test_nothing_is_made_again_that_was_dated_in_the_future(study, earlier):
    assert planned(study, earlier, "all") == []
    # One input alone, with the same content.
    os.utime(earlier / ESTIMATES, ns=(time.time_ns() + HOUR, time.time_ns() + HOUR))
    assert planned(study, earlier, "all") == []


def test_a_job_whose_inputs_are_dated_in_the_future_is_no_failure(study, earlier):
    lose(earlier, study.jobs["figure"])
    code, said = snakemake(study, earlier, FIGURE, "results/report.html")
    assert code == 0, said
    assert SAID in said
    assert_equal(study, earlier)


def test_a_clock_that_is_set_back_during_a_run_costs_no_job(study, earlier):
    """Snakemake has started before that, so the job itself sees dates in the future."""
    job = study.jobs["figure"]
    lose(earlier, job)
    code, log = run(study, job, earlier)
    assert code == 0
    assert [line for line in log if f"{ESTIMATES} was dated in the future" in line]
    newest = max((earlier / path).stat().st_mtime_ns for path in job.outputs)
    assert (earlier / ESTIMATES).stat().st_mtime_ns < newest < time.time_ns()
    assert_equal(study, earlier)


def test_what_was_made_after_the_clock_was_set_back_is_newer_than_what_was_made_before(
    study, earlier
):
    """The run ends between an estimate that changed and the figure that shows it."""
    config = yaml.safe_load(Path(study.config).read_text())
    config["metrics"]["draws"] = 200
    changed = earlier / "changed.yaml"
    changed.write_text(yaml.safe_dump(config))
    other = study._replace(config=str(changed))
    code, said = snakemake(other, earlier, ESTIMATES)
    assert code == 0, said
    assert "Draw pass_at_k" in planned(other, earlier, FIGURE)
