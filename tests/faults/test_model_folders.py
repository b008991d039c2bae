"""Folders of models that are missing something, or hold rubbish: one line, before any work."""

import shutil
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file

from tests import qwen
from tests.faults.study import assert_equal, copied, run
from tests.workflow.running import ROOT, snakemake
from turnscope.policies.transformers import Policy
from turnscope.training import _weights
from turnscope.tuning import Tuning


@pytest.fixture(scope="module")
def stock(tmp_path_factory) -> Path:
    return qwen.folder(tmp_path_factory.mktemp("stock"))


def damaged(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "missing":
        path.unlink()
    elif how == "rubbish":
        path.write_bytes(b"rubbish")
    elif how == "cut":
        path.write_bytes(data[: len(data) // 2])
    else:  # one bit, in the middle
        middle = len(data) // 2
        path.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("how", ["missing", "rubbish", "cut", "one bit"])
def test_a_policy_that_is_not_what_its_job_wrote_is_not_played(study, name, how, tmp_path):
    job = study.jobs["sample"]
    copied(study, tmp_path, job)
    base = Path("results/policies/frozen_lake/nano/base")
    before = (tmp_path / base / name).read_bytes()
    damaged(tmp_path / base / name, how)
    code, log = run(study, job, tmp_path)
    assert code == 1
    mark = base / "provenance.json"
    what = f"is damaged: its content is not what {mark} says was written"
    if how == "missing":
        what = f"is missing, and {mark} says it was written"
    cure = f"remove {mark}, and its job makes it anew"
    assert log[-1] == f"error: {base / name} {what}; {cure}"
    assert not [line for line in log if line.endswith(": start")]
    (tmp_path / base / name).write_bytes(before)
    if how == "one bit":
        assert run(study, job, tmp_path)[0] == 0
        assert_equal(study, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "how", "why"),
    [
        ("config.json", "missing", "config.json is missing"),
        ("config.json", "cut", "config.json is no JSON object"),
        ("model-00002-of-00002.safetensors", "missing", "model-00002-of-00002.safetensors is "),
        ("model-00001-of-00002.safetensors", "cut", "model-00001-of-00002.safetensors has "),
        ("tokenizer.json", "missing", "there is no tokenizer"),
    ],
)
def test_a_study_with_a_damaged_model_is_refused_before_its_first_job(
    stock, name, how, why, tmp_path
):
    broken = shutil.copytree(stock, tmp_path / "broken")
    damaged(broken / name, how)
    study = tmp_path / "study.yaml"
    study.write_text(
        yaml.safe_dump(
            {
                "models": {"tiny": {"backend": "transformers", "path": str(broken)}},
                "study": {"models": ["tiny"]},
            }
        )
    )
    done = snakemake(ROOT, "--directory", str(tmp_path), "--dry-run", "all", study=str(study))
    assert done.returncode == 1
    line = done.stdout.splitlines()[-1]
    assert line.startswith(f"config: models.tiny.path: '{broken}' holds no model: {why}")
    assert line.endswith(
        "legal is a folder with config.json, a tokenizer, and weights in model*.safetensors, "
        "all whole"
    )


def test_weights_that_lack_a_tensor_are_not_drawn_at_random(nano_folder, tmp_path):
    made = shutil.copytree(nano_folder, tmp_path / "made")
    tensors: dict[str, torch.Tensor] = load_file(made / "model.safetensors")
    name = "model.layers.1.mlp.up_proj.weight"
    del tensors[name]
    save_file(tensors, made / "model.safetensors", metadata={"format": "pt"})
    line = f"{made}: 1 tensors are missing in its weights, such as {name}; legal is a model with"
    with pytest.raises(ValueError, match=line):
        Policy(made)
    with pytest.raises(ValueError, match=line):
        _weights.load(made, Tuning())
