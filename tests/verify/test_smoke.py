"""A real language model goes through the whole study; the run is completed here if need be."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch
import yaml
from safetensors.torch import load_file
from transformers import AutoTokenizer

from turnscope import smollm2, tables

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = ["deepcoder", "frozen_lake"]
POLICIES = ["base", "grpo-s0"]

pytestmark = pytest.mark.verify


@pytest.fixture(scope="module")
def results():
    folder = ROOT / "results" / "smoke"
    smollm2.convert(folder / "models" / "smollm2", 0.3)
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--directory", str(folder)]
    command += ["--quiet", "all", "--configfile", "config/smoke.yaml", "--", "all"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "results"


@pytest.fixture(scope="module")
def turns(results):
    files = [
        results / "episodes" / env / "smollm2" / policy / "blind" / "turns.parquet"
        for env in ENVIRONMENTS
        for policy in POLICIES
    ]
    return pd.concat([tables.read(path, "turns") for path in files])


def test_every_artifact_is_there(results):
    study = yaml.safe_load((ROOT / "config" / "smoke.yaml").read_text())
    for figure in study["figures"]:
        assert (results / "figures" / f"{figure}.png").stat().st_size > 1000
    for summary in study["summaries"]:
        assert (results / "summaries" / f"{summary}.csv").is_file()
    assert "smollm2" in (results / "report.html").read_text()
    assert len(tables.read(results / "claims" / "claims.parquet", "claims")) > 10


def test_both_policies_speak_in_both_environments_and_end_their_turns(results, turns):
    words = AutoTokenizer.from_pretrained(results / "policies/deepcoder/smollm2/base")
    ended = turns["action_ids"].map(lambda ids: ids[-1] == words.eos_token_id)
    shares = ended.groupby([turns["env"], turns["policy"]]).mean()
    assert len(shares) == len(ENVIRONMENTS) * len(POLICIES)
    assert (shares["frozen_lake"] > 0.2).all()


def test_programs_are_read_and_run(turns):
    programs = turns.loc[turns["env"] == "deepcoder"]
    assert programs["action"].str.contains("def f").mean() > 0.2
    assert programs["valid"].mean() > 0.1


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_training_wrote_weights_of_the_same_model(results, env):
    base, trained = (
        load_file(results / "policies" / env / "smollm2" / policy / "model.safetensors")
        for policy in POLICIES
    )
    assert base.keys() == trained.keys()
    for name, weights in trained.items():
        assert weights.shape == base[name].shape
        assert torch.isfinite(weights).all()
