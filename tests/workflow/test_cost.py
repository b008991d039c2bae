"""What `snakemake plan` says before anything is run."""

import csv
import json

import pytest

from tests.workflow.running import added, clone, planned, snakemake

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def repo(tmp_path_factory):
    return clone(tmp_path_factory.mktemp("cost"))


def test_every_job_of_the_merged_config_is_planned_and_none_is_run(repo):
    done = snakemake(repo, "plan")
    assert done.returncode == 0, done.stdout
    with (repo / "results/plan/plan.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["jobs"]) for row in rows) == len(planned(repo, "all"))
    assert json.loads((repo / "results/plan/config.json").read_text())["training"]["steps"] == 4
    assert all(float(row["cpu"]) > 0 for row in rows)
    assert "core min" in done.stdout
    made = {path.name for path in (repo / "results").iterdir()}
    assert made - {"README.md"} == {"logs", "plan"}


def test_prices_come_from_the_config_and_the_table_is_made_whenever_asked_for(repo):
    overlay = repo / "prices.yaml"
    overlay.write_text("plan: {core_hour: 3600}\n")
    done = snakemake(repo, "plan", "--configfile", "config/test.yaml", str(overlay))
    assert done.returncode == 0, done.stdout
    with (repo / "results/plan/plan.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            assert float(row["money"]) == pytest.approx(3600 * float(row["cpu"]), rel=1e-2)


DIES = """
import os

SEEN = []


def dies(record):
    SEEN.append(getattr(record, "rule_msg", None))
    if sum(map(bool, SEEN)) > 5:
        os._exit(9)
    return True


logger.addFilter(dies)
"""
"""What ends a dry run once it has printed five jobs; the run that plans prints one alone."""


def test_a_dry_run_that_dies_midway_is_no_plan(repo):
    with added(repo / "workflow/rules/reasons.smk", DIES):
        done = snakemake(repo, "plan")
    assert done.returncode == 1
    assert "Error in rule" in done.stdout
