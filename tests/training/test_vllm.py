"""Training whose episodes vLLM plays: weights follow each update, and runs end the same."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.training.test_trainer import RECIPE, Spy, log_probabilities, study
from turnscope import progress, training
from turnscope.crew import ALONE
from turnscope.environments import frozen_lake
from turnscope.policies import vllm
from turnscope.progress import Exam
from turnscope.training import _sampler, _weights
from turnscope.tuning import Tuning
from turnscope.types import Task

ROOT = Path(__file__).parents[2]
PLAYED = Tuning(sampler="vllm")
LONG = replace(RECIPE, steps=4, checkpoint_steps=2)


@pytest.fixture(scope="module", autouse=True)
def small(vllm_installed: None) -> Any:
    """Engines stay until their process ends, and this one starts several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vllm, "CACHE", 64 << 20)
        yield


class Steps(Spy):
    """Also keeps the weights that each batch was played with."""

    def __init__(self, *arguments: Any):
        self.weights: list[dict[str, torch.Tensor]] = []
        super().__init__(*arguments)

    def _compute_loss(self, model: Any, inputs: Any) -> Any:
        kept = self.accelerator.unwrap_model(model).state_dict()
        self.weights.append({name: weight.clone() for name, weight in kept.items()})
        return super()._compute_loss(model, inputs)


@pytest.fixture(scope="module")
def watched(nano_folder: Path, lakes: list[Task], tmp_path_factory: Any) -> Steps:
    """Three steps that move the weights far."""
    what, recipe = study(lakes), replace(RECIPE, steps=3, learning_rate=1e-2)
    settings = training.config(recipe, what, tmp_path_factory.mktemp("spy"), PLAYED)
    words = AutoTokenizer.from_pretrained(nano_folder)
    model = AutoModelForCausalLM.from_pretrained(nano_folder, dtype=torch.float32)
    trainer = Steps(what, recipe, nano_folder, model, words, settings)
    trainer.train()
    return trainer


def gaps(model: Any, inputs: dict[str, torch.Tensor]) -> np.ndarray:
    """Compare what vLLM said of its tokens with what transformers says of them."""
    found = []
    for row, scores in enumerate(log_probabilities(model, inputs)):
        said = inputs["tool_mask"][row][: len(scores)].bool()
        sampled = inputs["sampling_per_token_logps"][row][: len(scores)]
        found.append((scores[said] - sampled[said]).abs())
    return torch.cat(found).numpy()


@torch.no_grad()
def test_vllm_plays_each_batch_with_the_weights_of_its_step(watched, nano_folder):
    base = AutoModelForCausalLM.from_pretrained(nano_folder, dtype=torch.float32)
    model = AutoModelForCausalLM.from_pretrained(nano_folder, dtype=torch.float32)
    for step, (inputs, weights) in enumerate(zip(watched.inputs, watched.weights, strict=True)):
        model.load_state_dict(weights)
        found = gaps(model, inputs)
        assert len(found) > 50
        assert found.max() < 1e-4
        if step:  # weights of another step would be seen
            assert gaps(base, inputs).max() > 0.05


def test_the_gap_between_trainer_and_sampler_is_logged(watched):
    for name, most in (("gap_mean", 1e-5), ("gap_max", 1e-4)):
        found = [e[f"ours/sampler_{name}"] for e in watched.state.log_history if "loss" in e]
        assert len(found) == 3
        assert all(0 < value < most for value in found)
    cut = [e["ours/sampler_cut_share"] for e in watched.state.log_history if "loss" in e]
    assert cut == [0, 0, 0]


def test_the_loss_weighs_tokens_by_how_likely_they_were_to_vllm(watched):
    """Each by itself, and none by more than the largest weight."""
    inputs = watched.inputs[0]
    mask = (inputs["completion_mask"] * inputs["tool_mask"]).bool()
    assert (inputs["importance_sampling_ratio"][mask] - 1).abs().max() < 1e-4
    slopes = []
    for factor in (1.0, 2.0):
        changed = inputs | {"importance_sampling_ratio": torch.full_like(mask.float(), factor)}
        watched.scores.clear()
        watched._compute_loss(watched.model, changed).backward()
        slopes.append(watched.scores[-1].grad)
        watched.model.zero_grad()
    assert slopes[0][mask].any()
    torch.testing.assert_close(slopes[1], 2 * slopes[0])


def run(lakes: list[Task], base: Path, to: Path) -> training.Outcome:
    """Train a little, with an exam at each checkpoint."""
    exam = Exam(lakes[:5], 2, 0, [], 1)
    parts = (to / "policy", to / "scratch", "name")
    what = study(lakes[5:], quality=frozen_lake.step_quality)
    return training.train(what, LONG, base, *parts, exam=exam, tuning=PLAYED)


def main(base: str, to: str) -> None:
    """Train in a process that can be killed."""
    vllm.CACHE = 64 << 20
    torch.set_num_threads(1)
    run(frozen_lake.tasks(3, train=40, test=0, sizes=[3, 4]), Path(base), Path(to))


@pytest.fixture(scope="module")
def whole(nano_folder: Path, lakes: list[Task], tmp_path_factory: Any) -> Any:
    folder = tmp_path_factory.mktemp("whole")
    return folder, run(lakes, nano_folder, folder)


def test_exams_are_played_with_the_weights_of_their_step(whole, lakes, nano_folder):
    folder, outcome = whole
    what = study(lakes[5:], quality=frozen_lake.step_quality)
    assert sorted({row["step"] for row in outcome.progress}) == [0, 2, 4]
    for step, weights in ((0, nano_folder), (4, folder / "policy")):
        rows = [row for row in outcome.progress if row["step"] == step]
        policy = vllm.Policy(weights)
        played = progress.examine(what, Exam(lakes[:5], 2, 0, [], 1), policy)
        assert rows == [{"step": step, **row} for row in played]


def test_curves_also_say_how_far_the_sampler_was(whole):
    names = {row["name"] for row in whole[1].curves}
    assert {"sampler_gap_mean", "sampler_gap_max", "sampler_cut_share", "success"} <= names


@torch.no_grad()
def test_an_adapter_is_added_to_the_weights_that_vllm_gets_and_to_no_others(
    nano_folder, lakes, tmp_path
):
    """Adding it to weights in bf16 and taking it off again need not give them back."""
    base, tuning = tmp_path / "base", Tuning(method="lora", rank=4, alpha=8, sampler="vllm")
    words = AutoTokenizer.from_pretrained(nano_folder)
    words.save_pretrained(base)
    AutoModelForCausalLM.from_pretrained(nano_folder, dtype=torch.bfloat16).save_pretrained(base)
    what, recipe = study(lakes), replace(RECIPE, steps=3, learning_rate=1e-2)
    settings = training.config(recipe, what, tmp_path / "scratch", tuning)
    model = _weights.load(base, tuning)
    with torch.enable_grad():
        trainer = Spy(what, recipe, base, model, words, settings, None, None, ALONE, tuning)
        trainer.train()
    before = load_file(base / "model.safetensors")
    plain = trainer.accelerator.unwrap_model(trainer.model)
    frozen = {n: w for n, w in plain.named_parameters() if "lora_" not in n}
    for name, weight in frozen.items():
        name = name.removeprefix("base_model.model.").replace(".base_layer", "")
        assert torch.equal(weight, before[name]), name
    found = [e["ours/sampler_gap_mean"] for e in trainer.state.log_history if "loss" in e]
    assert len(found) == 3
    assert max(found) < 0.05  # rounding to bf16
    sent = {name: weight.clone() for name, weight in _sampler.merged(plain)}
    stored = plain.merge_and_unload().state_dict()
    assert all(torch.equal(weight, stored[name]) for name, weight in sent.items())
    assert not all(torch.equal(weight, before[name]) for name, weight in sent.items())


def comparable(outcome: Any) -> Any:
    return json.loads(json.dumps(outcome))


def test_a_run_that_is_killed_and_resumed_ends_the_same_bit_for_bit(
    whole, lakes, nano_folder, tmp_path
):
    folder, outcome = whole
    command = (
        f"from tests.training import test_vllm as t; t.main({str(nano_folder)!r}, '{tmp_path}')"
    )
    paths = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    process = subprocess.Popen([sys.executable, "-c", command], env=os.environ | paths)
    while not (tmp_path / "scratch/checkpoint-2/complete").exists() and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "policy").exists()
    assert comparable(run(lakes, nano_folder, tmp_path)) == comparable(outcome)
    one, two = (
        {path.name: path.read_bytes() for path in (at / "policy").iterdir()}
        for at in (folder, tmp_path)
    )
    assert one == two
