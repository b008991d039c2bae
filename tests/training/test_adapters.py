"""Models that count as loaded: adapters, and gradients that are added up over passes."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from turnscope import training
from turnscope.algorithms import grpo, ppo
from turnscope.environments import frozen_lake
from turnscope.practice import Recipe, Study
from turnscope.training import _weights
from turnscope.tuning import Tuning
from turnscope.types import Budget, Task

LORA = Tuning(method="lora", rank=4, alpha=8)
RECIPE = Recipe(steps=4, tasks=4, group=4, learning_rate=1e-2, checkpoint_steps=2, kl=0.01, micro=4)
ALGORITHMS = {"grpo": grpo.make(), "ppo": ppo.make(warmup=1)}


def run(
    lakes: list[Task], base: Path, to: Path, arm: str = "grpo", tuning: Tuning | None = LORA
) -> list[dict[str, Any]]:
    study = Study(frozen_lake.Environment, lakes, Budget(6, 4), ALGORITHMS[arm], 0)
    found = training.train(
        study, RECIPE, base, to / "policy", to / "scratch", "name", tuning=tuning
    )
    return found.curves


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module", params=ALGORITHMS)
def done(request, nano_folder, lakes, tmp_path_factory) -> tuple[str, Path, list[dict]]:
    folder = tmp_path_factory.mktemp("lora")
    return request.param, folder, run(lakes, nano_folder, folder, request.param)


def test_the_result_is_an_ordinary_folder_with_the_adapter_in_its_weights(done, nano_folder):
    _, folder, _ = done
    assert content(folder / "policy").keys() == content(nano_folder).keys()
    before, after = (load_file(at / "model.safetensors") for at in (nano_folder, folder / "policy"))
    assert {name: one.dtype for name, one in before.items()} == {
        name: one.dtype for name, one in after.items()
    }
    last = folder / "scratch" / "checkpoint-4"
    adapted = PeftModel.from_pretrained(
        AutoModelForCausalLM.from_pretrained(nano_folder, dtype="auto"), str(last)
    )
    merged = AutoModelForCausalLM.from_pretrained(folder / "policy", dtype="auto")
    ids = torch.arange(2, 40)[None]
    with torch.no_grad():
        base = AutoModelForCausalLM.from_pretrained(nano_folder)(ids).logits
        own, put = adapted(ids).logits, merged(ids).logits
    torch.testing.assert_close(own, put, atol=1e-4, rtol=0)
    assert float((own - base).abs().max()) > 0.1
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert moved == {name for name in before if "_proj" in name}


def test_checkpoints_hold_what_learns_alone(done):
    arm, folder, _ = done
    last = folder / "scratch" / "checkpoint-4"
    assert not (last / "model.safetensors").exists()
    assert all("lora_" in name for name in load_file(last / "adapter_model.safetensors"))
    assert (last / "critic.pt").exists() == (arm == "ppo")
    if arm == "ppo":
        network = torch.load(last / "critic.pt", weights_only=True)["network"]
        assert all("lora_" in name or name.startswith("head.") for name in network)


def test_a_run_that_goes_on_ends_the_same_and_base_is_the_policy_without_adapter(
    done, nano_folder, lakes, tmp_path
):
    arm, folder, curves = done
    shutil.copytree(folder / "scratch", tmp_path / "scratch")
    shutil.rmtree(tmp_path / "scratch" / "checkpoint-4")
    shutil.copytree(nano_folder, tmp_path / "elsewhere")
    again = run(lakes, tmp_path / "elsewhere", tmp_path, arm)
    assert content(tmp_path / "policy") == content(folder / "policy")
    assert repr(again) == repr(curves)
    # only its end was lost
    shutil.rmtree(tmp_path / "policy")
    run(lakes, tmp_path / "elsewhere", tmp_path, arm)
    assert content(tmp_path / "policy") == content(folder / "policy")
    found = [row["value"] for row in curves if row["name"] == "kl"]
    assert found[0] == pytest.approx(0, abs=1e-8)
    assert found[-1] > 1e-4


def test_weights_go_back_to_the_format_they_came_in_and_rounding_is_told(
    nano_folder, lakes, tmp_path, caplog
):
    base = tmp_path / "base"
    AutoTokenizer.from_pretrained(nano_folder).save_pretrained(base)
    AutoModelForCausalLM.from_pretrained(nano_folder, dtype=torch.bfloat16).save_pretrained(base)
    with caplog.at_level("INFO"):
        run(lakes, base, tmp_path)
    weights = load_file(tmp_path / "policy" / "model.safetensors")
    assert {one.dtype for one in weights.values()} == {torch.bfloat16}
    (told,) = [one.getMessage() for one in caplog.records if "rounding" in one.getMessage()]
    assert 1 < float(told.split("takes ")[1].split("%")[0]) < 100


def test_what_rounding_takes_from_an_adapter():
    """Next to 1, numbers in bf16 are 1/128 apart: of 1/256 + 1/64 only the latter is kept."""
    layer: Any = torch.nn.Sequential(torch.nn.Linear(2, 1, bias=False)).to(torch.bfloat16)
    torch.nn.init.ones_(layer[0].weight)
    model: Any = get_peft_model(layer, LoraConfig(r=1, lora_alpha=1, target_modules=["0"]))
    assert _weights._lost(model) == 0
    adapted = model.base_model.model[0]
    torch.nn.init.ones_(adapted.lora_B["default"].weight)
    with torch.no_grad():
        adapted.lora_A["default"].weight.copy_(torch.tensor([[1 / 1024, 1 / 64]]))
    lost, moved = 1 / 1024, ((1 / 1024) ** 2 + (1 / 64) ** 2) ** 0.5
    assert _weights._lost(model) == pytest.approx(lost / moved)


def test_gradients_over_passes_are_those_of_one_pass(nano_folder, lakes, tmp_path):
    """Of the same weights, in passes of four episodes that are padded otherwise."""
    curves = [
        run(lakes, nano_folder, tmp_path / name, tuning=tuning)
        for name, tuning in (("one", None), ("four", Tuning()))
    ]
    first = [{row["name"]: row["value"] for row in rows if row["step"] == 1} for rows in curves]
    assert first[0].keys() == first[1].keys()
    for name, value in first[0].items():
        if value is None:
            assert first[1][name] is None, name
            continue
        assert first[1][name] == pytest.approx(value, rel=1e-4, abs=1e-6, nan_ok=True), name
    steps = training.config(
        RECIPE, Study(frozen_lake.Environment, lakes, Budget(6, 4), grpo.make(), 0), tmp_path, LORA
    )
    assert (steps.per_device_train_batch_size, steps.gradient_accumulation_steps) == (4, 4)


@pytest.mark.parametrize(
    ("loss", "known"), [("bnpo", "dapo"), ("grpo", "grpo"), ("dr_grpo", "dr_grpo")]
)
def test_the_loss_is_averaged_over_all_passes(lakes, tmp_path, loss, known):
    study = Study(frozen_lake.Environment, lakes, Budget(6, 4), grpo.make(), 0)
    recipe = replace(RECIPE, loss=loss)
    assert training.config(recipe, study, tmp_path, Tuning()).loss_type == known
    assert training.config(recipe, study, tmp_path).loss_type == loss


def test_groups_that_cannot_be_shared_are_refused(lakes, nano_folder, tmp_path):
    study = Study(frozen_lake.Environment, lakes, Budget(6, 4), grpo.make(), 0)
    with pytest.raises(ValueError, match=r"tuning\.processes = 3: must divide training\.tasks = 4"):
        training.config(RECIPE, study, tmp_path, Tuning(processes=3))
    with pytest.raises(ValueError, match=r"1 processes train one policy; legal is .* = 2"):
        run(lakes, nano_folder, tmp_path, tuning=Tuning(processes=2))
