"""Stages that play, with `backend: vllm`: tables as from transformers, and the same every time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from turnscope import likelihood, tables
from turnscope.policies import vllm
from turnscope.stages import matched, probes, sample, tasks

TASKS = {"train": 0, "test": 8, "sizes": [3, 4], "frozen": 0.8, "slip": 0.2, "distance": 2}
SPEC: dict[str, Any] = {
    "env": "frozen_lake",
    "model": "nano",
    "policy": "base",
    "seed": 1,
    "backend": "vllm",
    "options": {"view": "position"},
    "budget": {"turns": 6, "turn_tokens": 4},
    "batch": 32,
    "temperature": 1.0,
    "tasks": None,
    "episodes": 6,
    "turns": [6],
}
KINDS = ("episodes", "turns")


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    """Engines stay until their process ends, and this one starts many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vllm, "CACHE", 64 << 20)
        yield


@pytest.fixture(scope="module")
def files(
    vllm_installed: None, nano_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Episodes that vLLM played, of one policy under two names."""
    folder = tmp_path_factory.mktemp("played")
    made = {"tasks": folder / "tasks.parquet", "policy": nano_folder / "provenance.json"}
    tasks.run({"env": "frozen_lake", "seed": 1, "tasks": TASKS, "turns": 6}, {}, made)
    for name, policy in (("base", "base"), ("trained", "rl-s0")):
        made[name] = made["policy"]
        made |= {f"{name}_{kind}": folder / f"{name}_{kind}.parquet" for kind in KINDS}
        sample.run(
            SPEC | {"policy": policy}, made, {kind: made[f"{name}_{kind}"] for kind in KINDS}
        )
    return made


@pytest.fixture(scope="module")
def model(nano_folder: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(nano_folder, dtype="float32").eval()


@torch.no_grad()
def check_scores(model: Any, turns: Any) -> int:
    """Compare stored log-probabilities with transformers on whole episodes; count tokens."""
    total = 0
    for _, episode in turns.groupby(["task_id", "sample"]):
        history: list[int] = []
        for turn in episode.sort_values("turn").to_dict("records"):
            start = len(history) + len(turn["context_ids"])
            history += [*map(int, turn["context_ids"]), *map(int, turn["action_ids"])]
            logprobs = torch.log_softmax(model(input_ids=torch.tensor([history])).logits[0], -1)
            wanted = logprobs[list(range(start - 1, len(history) - 1)), history[start:]]
            np.testing.assert_allclose(turn["logprobs"], wanted, atol=1e-4, rtol=0)
            total += len(wanted)
    return total


def test_log_probabilities_in_tables_are_those_of_transformers(files, model):
    assert check_scores(model, tables.read(files["base_turns"], "turns")) > 200


def test_another_temperature_changes_actions_and_not_what_is_stored(files, model, tmp_path):
    outputs = {kind: tmp_path / f"{kind}.parquet" for kind in KINDS}
    sample.run(SPEC | {"temperature": 2.0, "episodes": 2}, files, outputs)
    turns = tables.read(outputs["turns"], "turns")
    assert check_scores(model, turns) > 50
    mean = [np.concatenate([*t["logprobs"]]).mean() for t in (turns, _turns(files))]
    assert mean[0] < mean[1]


def _turns(files: dict[str, Path]) -> Any:
    return tables.read(files["base_turns"], "turns")


def test_a_job_run_again_in_other_batches_plays_the_same(files, tmp_path):
    for batch, folder in ((SPEC["batch"], tmp_path / "same"), (7, tmp_path / "other")):
        outputs = {kind: folder / f"{kind}.parquet" for kind in KINDS}
        folder.mkdir()
        sample.run(SPEC | {"batch": batch}, files, outputs)
        if batch == SPEC["batch"]:
            for kind in KINDS:
                assert outputs[kind].read_bytes() == files[f"base_{kind}"].read_bytes()
        again = tables.read(outputs["turns"], "turns")
        for column in ("context_ids", "action_ids"):
            assert [*map(list, again[column])] == [*map(list, _turns(files)[column])]


def test_likelihoods_agree_with_what_vllm_stored(files, model):
    """They are scored by transformers, whichever backend played."""
    played = {
        actor: likelihood.chosen(
            tables.read(files[f"{actor}_episodes"], "episodes"),
            tables.read(files[f"{actor}_turns"], "turns"),
            4,
        )
        for actor in ("base", "trained")
    }
    rows, _ = likelihood.compare(model, model, played, 2048)
    assert len(rows) > 100
    assert ((rows["logp_sampled"] - rows["logp_base"]).abs() <= 1e-4 * rows["tokens"]).all()


def test_both_policies_act_in_states_that_vllm_reached(files, tmp_path):
    names = ("pool", "actions", "continuations")
    wanted = {"states": 16, "per_task": 4, "actions": 4, "injected": 6, "continuations": 2}
    spec = SPEC | wanted | {"policy": "rl-s0"}
    outputs = {name: tmp_path / f"{name}.parquet" for name in names}
    matched.run(spec, files, outputs)
    pool, actions, continuations = (tables.read(outputs[name], name) for name in names)
    assert pool["injected"].sum() == 6
    assert len(actions) == len(pool) * 2 * 4
    said = [actions.loc[actions["actor"] == one, "action"].tolist() for one in ("base", "trained")]
    assert said[0] != said[1]
    assert len(continuations) > 0
    assert continuations["success"].notna().all()


def test_probed_states_are_found_by_playing(files, tmp_path):
    progress = {"seed": 1, "tasks": 4, "episodes": 3, "states": 4, "actions": 5}
    outputs = {"states": tmp_path / "states.parquet"}
    probes.run(SPEC | {"progress": progress}, files, outputs)
    assert len(tables.read(outputs["states"], "states")) > 0
