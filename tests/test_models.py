import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests import qwen
from tests.hub import COMMIT, Hub, reached, serving
from turnscope import base, models, templates
from turnscope.chat import Renderer
from turnscope.stages import _job, model

NAME = "Qwen/Qwen3-tiny"
SETTINGS: dict[str, Any] = {
    "path": NAME,
    "revision": COMMIT,
    "template": "qwen3",
    "thinking": False,
    "dtype": "bfloat16",
}


@pytest.fixture(scope="module")
def stock(tmp_path_factory) -> Path:
    """A model as it comes: two shards, and a template that forgets reasoning."""
    return qwen.folder(tmp_path_factory.mktemp("stock"))


@pytest.fixture
def server(stock, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "client"))
    monkeypatch.setenv("TURNSCOPE_CACHE", str(tmp_path / "cache"))
    files = {path.name: path.read_bytes() for path in stock.iterdir()}
    with serving(Hub(NAME, files | {"README.md": b"Hello"}, "model")) as running:
        reached(running.endpoint, monkeypatch)
        yield running


def run(folder: Path, **changes: Any) -> int:
    """Do the job of rule `model`; return its exit code."""
    spec = {"model": "tiny", "settings": SETTINGS | changes, "template": "digest"}
    outputs = [f"weights={folder}/model.safetensors", f"provenance={folder}/provenance.json"]
    words = ["--spec", json.dumps(spec), "--input", "source=", "--output", *outputs]
    return _job.execute(model.run, "model", words)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = {}
    for path in folder.glob("*.safetensors"):
        found |= load_file(path)
    return found


def test_a_model_of_the_hub_becomes_an_ordinary_folder(server, stock, tmp_path):
    folder = tmp_path / "models"
    assert run(folder) == 0
    assert [path.name for path in folder.glob("*.safetensors")] == ["model.safetensors"]
    ours, theirs = weights(folder), weights(stock)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    loaded = AutoModelForCausalLM.from_pretrained(folder)
    assert loaded.dtype == torch.bfloat16
    words = AutoTokenizer.from_pretrained(folder)
    assert words.chat_template == templates.text("qwen3", False)
    assert words.decode(Renderer(words).first("up")).endswith("<think>\n\n</think>\n\n")
    record = json.loads((folder / "provenance.json").read_text())
    assert record["spec"]["settings"]["revision"] == COMMIT
    names = {entry["name"] for entry in record["outputs"]}
    assert {"weights", "config.json", "tokenizer.json", "chat_template.jinja"} <= names
    assert not (folder / _job.SCRATCH).exists()
    assert len(server.ranges) == len(server.files) - 1  # of README.md nothing is made


def test_afterwards_no_network_is_needed_and_bytes_are_equal(server, tmp_path, monkeypatch):
    assert run(tmp_path / "one") == 0
    reached("http://127.0.0.1:9", monkeypatch)
    assert run(tmp_path / "two") == 0
    names = {path.name for path in (tmp_path / "one").iterdir()} - {"provenance.json", "run.json"}
    assert {"model.safetensors", "tokenizer.json"} <= names
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_download_that_was_interrupted_goes_on(server, tmp_path, capsys):
    name = "model-00002-of-00002.safetensors"
    data = server.files.pop(name)
    server.listing[name] = len(data)
    assert run(tmp_path / "models") == 1
    assert f"model {NAME}, revision {COMMIT}, is neither in" in capsys.readouterr().err
    part = tmp_path / "cache" / "hub" / "models--Qwen--Qwen3-tiny" / COMMIT / f"{name}.part"
    assert part.read_bytes() == b""
    part.write_bytes(data[:1000])  # as a process leaves it that is killed
    server.files[name] = data
    server.ranges.clear()
    assert run(tmp_path / "models") == 0
    assert server.ranges == ["bytes=1000-", None, None]  # and two files of the tokenizer
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "models")


def test_a_corrupt_file_is_refused(server, tmp_path, capsys):
    name = "model-00002-of-00002.safetensors"
    server.files[name] = server.files[name][:-1] + b"!"
    assert run(tmp_path / "models") == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"error: {name} has sha256 ")
    assert not (tmp_path / "models" / "provenance.json").exists()


def test_without_a_network_the_last_line_says_what_to_do(server, tmp_path, monkeypatch, capsys):
    reached("http://127.0.0.1:9", monkeypatch)
    assert run(tmp_path / "models") == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert f"model {NAME}, revision {COMMIT}, is neither in {tmp_path}/cache/hub/models--" in last
    assert f"`hf download {NAME} --revision {COMMIT}`" in last


@pytest.mark.parametrize("dtype", [None, "float32"])
def test_a_folder_is_taken_as_well(stock, tmp_path, dtype):
    (tmp_path / "out").mkdir()
    settings = {"path": str(stock), "template": "qwen3", "thinking": True, "dtype": dtype}
    models.make("tiny", settings, tmp_path / "out", tmp_path / "scratch")
    kinds = {tensor.dtype for tensor in weights(tmp_path / "out").values()}
    assert kinds == {torch.float32 if dtype else torch.bfloat16}
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "out").dtype in kinds
    words = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert words.decode(Renderer(words).first("up")).endswith("<|im_start|>assistant\n")


def test_a_template_that_cannot_be_played_is_refused_and_says_what_is_legal(stock, tmp_path):
    line = (
        r"^models\.tiny\.template: null, the own one of .* cannot be played: chat template: not "
        r"prefix-preserving .*; legal is one that can; known: qwen3$"
    )
    with pytest.raises(ValueError, match=line):
        models.make("tiny", {"path": str(stock)}, tmp_path, tmp_path / "scratch")


def test_an_own_template_that_can_be_played_is_kept(tmp_path):
    own = templates.text("qwen3", True)
    (tmp_path / "out").mkdir()
    source = qwen.folder(tmp_path / "source", own)
    models.make("tiny", {"path": str(source)}, tmp_path / "out", tmp_path / "scratch")
    assert AutoTokenizer.from_pretrained(tmp_path / "out").chat_template == own


def test_a_folder_without_a_model_is_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(
        ValueError, match=r"models\.tiny\.path: .* holds no model: config.json names no model_type"
    ):
        models.make("tiny", {"path": str(tmp_path)}, tmp_path, tmp_path / "scratch")


def test_base_policies_share_the_weights_and_copy_the_rest(stock, lakes, tmp_path):
    made, folder = tmp_path / "made", tmp_path / "base"
    made.mkdir()
    folder.mkdir()
    models.make("tiny", SETTINGS | {"path": str(stock)}, made, made / ".scratch")
    (made / "provenance.json").write_text("{}")
    base.make({"model": "tiny", "settings": SETTINGS}, lakes, folder, made)
    assert os.path.samefile(made / "model.safetensors", folder / "model.safetensors")
    assert not os.path.samefile(made / "tokenizer.json", folder / "tokenizer.json")
    expected = {path.name for path in made.iterdir()} - {"provenance.json", ".scratch"}
    assert {path.name for path in folder.iterdir()} == expected


def test_on_another_file_system_weights_are_copied(stock, tmp_path, monkeypatch):
    def refuse(*paths: Path) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr("os.link", refuse)
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "to").mkdir()
    models.link(tmp_path, tmp_path / "to")
    assert (tmp_path / "to" / "model.safetensors").read_bytes() == b"weights"
