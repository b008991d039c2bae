"""The default study holds what the README says: run by `make verify`, from scratch, twice.

The first run is the one under `results/`, completed here; the second goes to a fresh folder.
"""

import itertools
import math
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from turnscope import tables

ROOT = Path(__file__).parents[2]
HERE = Path("frozen_lake/nano")
SEEDS = ["grpo-s0", "grpo-s1", "grpo-s2"]

pytestmark = pytest.mark.verify


def run(folder):
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--directory", str(folder)]
    command += ["--quiet", "all", "--", "all"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="module")
def results():
    run(ROOT)
    return ROOT / "results"


@pytest.fixture(scope="module")
def estimates(results):
    folder = results / "estimates" / HERE
    return pd.concat([tables.read(path, "estimates") for path in sorted(folder.glob("*.parquet"))])


def gain(estimates, metric, policy, k, t=20):
    rows = estimates.query("metric == @metric and policy == @policy and against == 'base'")
    (row,) = rows.query("k == @k and t == @t").itertuples()
    return row


def test_the_base_policy_can_be_improved(estimates):
    rows = estimates.query("metric == 'pass_at_k' and policy == 'base' and k == 1 and t == 20")
    assert 0.25 <= rows["value"].item() <= 0.5


@pytest.mark.parametrize("policy", SEEDS)
def test_every_training_seed_gains_at_one_episode(estimates, policy):
    assert gain(estimates, "pass_at_k", policy, 1).low > 0


def test_the_gain_holds_over_training_seeds(estimates):
    row = gain(estimates, "over_seeds", "grpo", 1)
    assert row.seeds == 3
    assert row.low > 0


def test_eight_episodes_are_reported(estimates):
    row = gain(estimates, "pass_at_k", "grpo", 8)
    assert math.isfinite(row.low)
    assert math.isfinite(row.high)
    assert row.tasks == 500


def test_truncation_agrees_with_sampling_anew(estimates):
    rows = estimates.query("metric == 'truncation_equivalence'")
    compared = set(rows[["policy", "k", "t"]].itertuples(index=False, name=None))
    assert compared == set(itertools.product(["base", SEEDS[0]], [1, 8], [6, 12]))
    assert (rows["p_value"] < 0.05).all()


def test_likelihoods_pass_their_sanity_checks(estimates):
    passed = estimates[estimates["metric"].str.fullmatch("sanity_.*_passed")]
    assert set(passed["policy"]) == {"grpo", *SEEDS}
    assert (passed["value"] == 1).all()


def test_every_claim_that_frozen_lake_allows_is_judged(results):
    claims = tables.read(results / "claims/claims.parquet", "claims")
    assert set(claims.loc[claims["verdict"] == "not run", "claim"]) == {"C6b", "CA"}


def test_a_second_run_from_scratch_gives_the_same_bytes(results, tmp_path):
    run(tmp_path)
    again = tmp_path / "results"
    kinds = ["*.parquet", "*.safetensors", "*.csv", "*.svg", "*.png", "*.pdf", "*provenance.json"]
    made = [path for kind in kinds for path in sorted(again.rglob(kind))]
    assert len(made) > 40
    different = [
        path.relative_to(again).as_posix()
        for path in made
        if path.read_bytes() != (results / path.relative_to(again)).read_bytes()
    ]
    assert different == []
    assert (again / "report.html").read_bytes() == (results / "report.html").read_bytes()
    drawn = {path.stem for path in (again / "figures").glob("*.svg")}
    assert drawn == set(yaml.safe_load((ROOT / "config.yaml").read_text())["figures"])
