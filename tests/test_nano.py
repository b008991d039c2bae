import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen3ForCausalLM

from tests.conftest import SPEC
from turnscope import nano
from turnscope.chat import Renderer
from turnscope.policies.transformers import Policy
from turnscope.rollout import Start, rollout
from turnscope.types import Budget, Episode, StopReason, Turn

SMALL = nano.Recipe(**SPEC["settings"]["build"])


@given(st.text())
def test_any_text_survives(words, text):
    assert words.decode(words.encode(text, add_special_tokens=False)) == text


@given(st.text(st.sampled_from(" \n\ta=rc0<|im_end>🧊é"), max_size=30))
def test_texts_like_those_of_the_lake_survive(words, text):
    assert words.decode(words.encode(text, add_special_tokens=False)) == text


@pytest.mark.parametrize("text", ["<|im_end|>", "<|im_start|>user\n", "a<|endoftext|> b\n"])
def test_markup_survives_too(words, text):
    assert words.decode(words.encode(text, add_special_tokens=False)) == text
    split = words.encode(text, add_special_tokens=False, split_special_tokens=True)
    assert words.decode(split) == text
    assert not set(split) & set(words.added_tokens_decoder)


def test_words_of_the_lake_are_few_tokens(words):
    for word in ("left", "down", "right", "up"):
        assert len(words.encode(word, add_special_tokens=False)) == 1
    assert len(words.encode("at=r0c0 size=4", add_special_tokens=False)) <= 4


def test_a_word_is_the_same_tokens_wherever_it_stands(words):
    one, two = (words.encode(text, add_special_tokens=False) for text in ("at=r0c1", " goal=r1c2"))
    assert words.encode("at=r0c1 goal=r1c2", add_special_tokens=False) == one + two


def test_tokens_for_markup_are_single_and_the_vocabulary_is_bounded(words):
    for text in [*nano.FRAME, nano.END, nano.PAD]:
        assert len(words.encode(text, add_special_tokens=False)) == 1
    made = nano.tokenizer(["abc abd abe"] * 100 + [f"word{i}" for i in range(400)] * 5, 300)
    assert len(made) == 300


def test_the_folder_is_an_ordinary_one(nano_folder: Path, words):
    model = AutoModelForCausalLM.from_pretrained(nano_folder)
    assert isinstance(model, Qwen3ForCausalLM)
    assert model.dtype == torch.float32
    assert model.config.vocab_size == len(words)
    assert model.generation_config.eos_token_id == words.eos_token_id
    assert (words.eos_token, words.pad_token) == ("<|im_end|>", "<|endoftext|>")
    again = AutoTokenizer.from_pretrained(nano_folder)
    text = "at=r0c0 <|im_end|>\n√"
    assert again.encode(text) == words.encode(text)
    assert again.chat_template == nano.TEMPLATE
    names = {path.name for path in nano_folder.iterdir()}
    assert {"model.safetensors", "config.json", "tokenizer.json"} <= names


def test_saving_and_loading_keeps_every_bit(words, tmp_path):
    model = nano.network(SMALL, words, 3)
    nano.save(model, words, tmp_path)
    back = AutoModelForCausalLM.from_pretrained(tmp_path).state_dict()
    assert all(torch.equal(weight, back[name]) for name, weight in model.state_dict().items())


def test_the_default_recipe_has_a_tenth_to_one_million_parameters():
    recipe = nano.Recipe()
    full = nano.tokenizer([f"w{i} x{i}" for i in range(2000)] * 2, recipe.vocabulary)
    assert len(full) == recipe.vocabulary
    assert 1e5 < nano.network(recipe, full, 0).num_parameters() < 1e6


def test_weights_are_a_function_of_the_seed(words):
    one, two, three = (nano.network(SMALL, words, seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not torch.equal(one["model.embed_tokens.weight"], three["model.embed_tokens.weight"])


def spoken() -> list[Episode]:
    """Eighty episodes of one to four turns, none of which says the same as another."""
    return [
        Episode(
            f"t{i}",
            0,
            0,
            [
                Turn(f"at=r{i % 4}c{turn}", "k", "left" if i % 3 else "right", 0.0, True)
                for turn in range(1 + i % 4)
            ],
            StopReason.BUDGET,
            "",
            "",
        )
        for i in range(80)
    ]


def global_states() -> tuple:
    state: Any = np.random.get_state()  # noqa: NPY002 - the global generator is what is checked
    words = [entry.tolist() if isinstance(entry, np.ndarray) else entry for entry in state]
    return torch.random.get_rng_state().tolist(), words, random.getstate()


def test_no_global_random_state_is_touched(words):
    before = global_states()
    made = nano.tokenizer(["a b c"], 300)
    model = nano.network(SMALL, made, 1)
    sequences, masks = nano.encode(spoken(), Renderer(made))
    nano.imitate(model, sequences, masks, replace(SMALL, steps=3), 1)
    assert global_states() == before


def test_results_do_not_depend_on_the_global_random_state(words):
    sequences, masks = nano.encode(spoken(), Renderer(words))
    weights = []
    for seed in (1, 2):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = nano.network(SMALL, words, 1)
            nano.imitate(model, sequences, masks, replace(SMALL, steps=3), 1)
        weights.append(model.state_dict())
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_an_episode_is_encoded_by_hand(words):
    renderer = Renderer(words)
    (ids, *_), (mask, *_) = nano.encode(spoken()[1:], renderer)
    assert words.decode(ids) == (
        "<|im_start|>user\nat=r1c0<|im_end|>\n<|im_start|>assistant\nleft<|im_end|>"
        "\n<|im_start|>user\nat=r1c1<|im_end|>\n<|im_start|>assistant\nleft<|im_end|>"
    )
    said = [number for number, spoken in zip(ids, mask, strict=True) if spoken]
    assert words.convert_ids_to_tokens(said) == ["left", "<|im_end|>"] * 2


def test_the_loss_is_the_mean_over_what_was_said(words, monkeypatch):
    """Micro-batches and padding change neither loss nor gradient."""
    sequences, masks = nano.encode(spoken(), Renderer(words))
    model = nano.network(SMALL, words, 1)
    losses = []
    for ids, mask in zip(sequences, masks, strict=True):
        logits = model(input_ids=torch.tensor([ids[:-1]])).logits[0]
        each = torch.nn.functional.cross_entropy(logits, torch.tensor(ids[1:]), reduction="none")
        losses.append(each[torch.tensor(mask[1:], dtype=torch.bool)])
    expected = torch.cat(losses).mean()
    expected.backward()
    gradients = {n: w.grad.clone() for n, w in model.named_parameters() if w.grad is not None}
    for micro in (7, 64):
        monkeypatch.setattr(nano, "MICRO", micro)
        model.zero_grad()
        assert nano._learn(model, sequences, masks) == pytest.approx(expected.item(), rel=1e-5)
        for name, weight in model.named_parameters():
            torch.testing.assert_close(weight.grad, gradients[name], rtol=1e-3, atol=1e-6)


def test_imitation_learns_what_was_said(words):
    sequences, masks = nano.encode(spoken(), Renderer(words))
    model = nano.network(SMALL, words, 1)
    start = nano._learn(model, sequences, masks)
    end = nano.imitate(model, sequences, masks, replace(SMALL, steps=40, learning_rate=1e-2), 1)
    assert end < 0.3 < start


def test_a_loss_that_is_not_finite_ends_imitation(words):
    sequences, masks = nano.encode(spoken(), Renderer(words))
    model = nano.network(SMALL, words, 1)
    with torch.no_grad():
        model.model.norm.weight.fill_(float("inf"))
    with pytest.raises(ValueError, match="step 0: the loss is nan"):
        nano.imitate(model, sequences, masks, SMALL, 1)


def test_too_few_episodes_are_refused_by_number(words):
    sequences, masks = nano.encode(spoken()[:5], Renderer(words))
    with pytest.raises(ValueError, match=r"batch = 48.* 5 episodes"):
        nano.imitate(nano.network(SMALL, words, 1), sequences, masks, SMALL, 1)


def test_the_end_of_turn_ends_a_turn(nano_folder, lakes, words):
    from turnscope.environments import frozen_lake

    starts = [Start(task, 0, i, Budget(turns=6, turn_tokens=4)) for i, task in enumerate(lakes)]
    turns = [
        turn
        for episode in rollout(frozen_lake.Environment, starts, Policy(nano_folder))
        for turn in episode.turns
    ]
    ended = [turn for turn in turns if turn.action_ids[-1] == words.eos_token_id]
    assert len(ended) > 0.8 * len(turns)
    assert not any(words.eos_token_id in turn.action_ids[:-1] for turn in turns)
    assert all(len(turn.action_ids) == 4 for turn in turns if turn not in ended)
    assert np.mean([turn.valid for turn in turns]) > 0.6


@pytest.mark.slow
def test_another_process_makes_the_same_bytes(nano_folder, tmp_path):
    code = (
        "import sys; from pathlib import Path; from tests.conftest import SPEC\n"
        "from turnscope import base; from turnscope.environments import frozen_lake\n"
        "lakes = frozen_lake.tasks(3, train=40, test=0, sizes=[3, 4])\n"
        "base.make(SPEC, lakes, Path(sys.argv[1]))"
    )
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": path, "PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "1"},
        check=True,
    )
    names = {p.name for p in nano_folder.iterdir()}
    assert names == {p.name for p in tmp_path.iterdir()}
    for name in names:
        assert (nano_folder / name).read_bytes() == (tmp_path / name).read_bytes(), name


def test_it_loads_whatever_is_asked_of_an_ordinary_folder(nano_folder: Path, words: Any):
    model: Any = AutoModelForCausalLM.from_pretrained(nano_folder)
    ids = words.apply_chat_template(
        [{"role": "user", "content": "at=r0c0"}], add_generation_prompt=True, return_tensors="pt"
    )
    prompt = ids["input_ids"] if hasattr(ids, "keys") else ids
    assert tuple(prompt[0].tolist()) == Renderer(words).first("at=r0c0")
    out = model.generate(prompt, max_new_tokens=3, do_sample=False)
    assert out.shape[1] <= prompt.shape[1] + 3
