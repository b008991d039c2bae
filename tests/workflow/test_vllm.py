"""A study in which vLLM plays everything, from its configuration to tables."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.workflow.running import clone, snakemake
from turnscope import tables

FOLDER = "results/{kind}/frozen_lake/nano"
POLICIES = FOLDER.format(kind="policies")
EPISODES = FOLDER.format(kind="episodes")
MATCHED = FOLDER.format(kind="matched") + "/grpo-s0"
BASE = f"{EPISODES}/base/blind"


def overlay() -> dict[str, Any]:
    """The smallest study that samples, trains and compares."""
    study = yaml.safe_load((Path(__file__).parents[2] / "config/test.yaml").read_text())
    study["models"]["nano"] |= {"backend": "vllm", "tuning": {"sampler": "vllm"}}
    study["environments"]["frozen_lake"]["tasks"]["test"] = 12
    study["training"] |= {"steps": 2, "progress": None}
    study["study"] = {"metrics": ["pass_at_kt", "step_quality"]}
    study["matched"] |= {"states": 16, "injected": 4}
    return study | {"figures": ["pass_at_k"], "summaries": []}


@pytest.fixture(scope="module")
def played(vllm_installed: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A copy in which base and a policy that vLLM trained have played; and its study."""
    repo = clone(tmp_path_factory.mktemp("repo"))
    study = repo / "vllm.yaml"
    study.write_text(yaml.safe_dump(overlay()))
    done = snakemake(repo, f"{MATCHED}/actions.parquet", study=str(study))
    assert done.returncode == 0, done.stdout
    return repo, str(study)


@pytest.mark.slow
def test_vllm_played_what_was_trained(played):
    repo, _ = played
    curves = tables.read(repo / POLICIES / "grpo-s0/training.parquet", "training")
    gap = curves.loc[curves["name"] == "sampler_gap_max", "value"]
    assert len(gap) == 2
    assert gap.between(0, 1e-4, inclusive="neither").all()


@pytest.mark.slow
def test_tables_of_a_study_hold_what_both_policies_did(played):
    repo, _ = played
    for policy in ("base", "grpo-s0"):
        folder = repo / EPISODES / policy / "blind"
        episodes = tables.read(folder / "episodes.parquet", "episodes")
        turns = tables.read(folder / "turns.parquet", "turns")
        assert len(episodes) == 12 * 8
        assert episodes["success"].notna().all()
        assert turns["logprobs"].map(max).max() <= 0
        assert (turns["logprobs"].map(len) == turns["action_ids"].map(len)).all()
    actions = tables.read(repo / MATCHED / "actions.parquet", "actions")
    assert (actions["actor"].value_counts() > 50).all()
    assert set(actions["actor"]) == {"base", "trained"}


@pytest.mark.slow
def test_a_job_run_again_gives_the_same_bytes(played):
    repo, study = played
    before = {path: path.read_bytes() for path in (repo / BASE).glob("*.parquet")}
    assert len(before) == 2
    done = snakemake(repo, "--forcerun", "sample", "--", f"{BASE}/turns.parquet", study=study)
    assert done.returncode == 0, done.stdout
    assert "1 of 1 steps (100%) done" in done.stdout
    for path, content in before.items():
        assert path.read_bytes() == content, path
