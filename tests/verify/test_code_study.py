"""The study of programs holds what the README says: `make code`, completed here if need be."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from turnscope import tables

ROOT = Path(__file__).parents[2]
HERE = Path("deepcoder/nano")
SEEDS = ["grpo-s0", "grpo-s1", "grpo-s2"]
T_MAX = 6

pytestmark = pytest.mark.verify


@pytest.fixture(scope="module")
def results():
    folder = ROOT / "results" / "code"
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--directory", str(folder)]
    command += ["--quiet", "all", "--configfile", "config/code.yaml", "--", "all"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "results"


@pytest.fixture(scope="module")
def estimates(results):
    folder = results / "estimates" / HERE
    return pd.concat([tables.read(path, "estimates") for path in sorted(folder.glob("*.parquet"))])


def rows_of(estimates, metric, policy, against, k=1, t=T_MAX):
    rows = estimates[estimates["metric"].eq(metric) & estimates["policy"].eq(policy)]
    rows = rows[rows["against"].isna() if against is None else rows["against"].eq(against)]
    return rows[rows["k"].eq(k) & rows["t"].eq(t)]


def test_the_base_policy_can_be_improved(estimates):
    assert 0.15 <= rows_of(estimates, "pass_at_k", "base", None)["value"].item() <= 0.5


@pytest.mark.parametrize("policy", ["grpo", *SEEDS])
def test_training_gains_at_one_episode(estimates, policy):
    assert rows_of(estimates, "pass_at_k", policy, "base")["low"].item() > 0


def test_the_gain_holds_over_training_seeds(estimates):
    (row,) = rows_of(estimates, "over_seeds", "grpo", "base").itertuples()
    assert row.seeds == 3
    assert row.low > 0


def test_four_arms_are_compared(estimates):
    compared = estimates.loc[estimates["against"].eq("base") & estimates["metric"].eq("pass_at_k")]
    assert {"grpo", "gigpo", "oracle_process", "budget_mix"} <= set(compared["policy"])


def test_claims_of_this_environment_are_judged(results):
    claims = tables.read(results / "claims/claims.parquet", "claims")
    left = set(claims.loc[claims["verdict"] == "not run", "claim"])
    # Those about FrozenLake, BFCL and Terminal-Bench.
    assert left == {"C6a", "C6b", "CA"}


def test_every_job_that_ran_programs_says_under_which_isolation(results):
    found = [*(results / "episodes" / HERE).rglob("run.json")]
    assert len(found) > 13
    for path in found:
        record = json.loads(path.read_text())
        (line,) = record["sandbox"]
        assert line.startswith(("bubblewrap", "apptainer", "landlock"))
        assert record["verdicts"]["runs"] > 0
