"""The studies of one environment hold what the README says; they are completed here if need be."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

from turnscope import tables

ROOT = Path(__file__).parents[2]
SEEDS = ["grpo-s0", "grpo-s1", "grpo-s2"]

pytestmark = pytest.mark.verify


class Case(NamedTuple):
    """A study and what it must show."""

    name: str
    """Of its config and of its target in the Makefile."""
    env: str
    t_max: int
    arms: set[str]
    left: set[str]
    """Claims that it cannot judge: those about other environments."""


CASES = [
    Case("code", "deepcoder", 6, {"gigpo", "oracle_process", "budget_mix"}, {"C6a", "C6b", "CA"}),
    Case("sql", "intercode_sql", 8, {"gigpo", "budget_mix"}, {"C6a", "C6b", "CA"}),
    Case("calls", "bfcl", 10, {"gigpo", "budget_mix", "ppo"}, {"C6a", "CA"}),
]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


@pytest.fixture(scope="module")
def results(case):
    folder = ROOT / "results" / case.name
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--directory", str(folder)]
    command += ["--quiet", "all", "--configfile", f"config/{case.name}.yaml", "--", "all"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "results"


@pytest.fixture(scope="module")
def estimates(case, results):
    folder = results / "estimates" / case.env / "nano"
    return pd.concat([tables.read(path, "estimates") for path in sorted(folder.glob("*.parquet"))])


def rows_of(estimates, metric, policy, against, t, k=1):
    rows = estimates[estimates["metric"].eq(metric) & estimates["policy"].eq(policy)]
    rows = rows[rows["against"].isna() if against is None else rows["against"].eq(against)]
    return rows[rows["k"].eq(k) & rows["t"].eq(t)]


def test_the_base_policy_can_be_improved(case, estimates):
    level = rows_of(estimates, "pass_at_k", "base", None, case.t_max)["value"].item()
    assert 0.15 <= level <= 0.5


@pytest.mark.parametrize("policy", ["grpo", *SEEDS])
def test_training_gains_at_one_episode(case, estimates, policy):
    assert rows_of(estimates, "pass_at_k", policy, "base", case.t_max)["low"].item() > 0


def test_the_gain_holds_over_training_seeds(case, estimates):
    (row,) = rows_of(estimates, "over_seeds", "grpo", "base", case.t_max).itertuples()
    assert row.seeds == 3
    assert row.low > 0


def test_all_arms_are_compared(case, estimates):
    compared = estimates.loc[estimates["against"].eq("base") & estimates["metric"].eq("pass_at_k")]
    assert {"grpo"} | case.arms <= set(compared["policy"])


def test_claims_of_this_environment_are_judged(case, results):
    claims = tables.read(results / "claims/claims.parquet", "claims")
    assert set(claims.loc[claims["verdict"] == "not run", "claim"]) == case.left


def test_every_job_that_ran_programs_says_under_which_isolation(case, results):
    found = [*(results / "episodes" / case.env / "nano").rglob("run.json")]
    assert len(found) > 13
    for path in found if case.env != "intercode_sql" else ():
        record = json.loads(path.read_text())
        (line,) = record["sandbox"]
        assert line.startswith(("bubblewrap", "apptainer", "landlock"))
        assert case.env != "deepcoder" or record["verdicts"]["runs"] > 0
