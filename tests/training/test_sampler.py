import os
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from tests.training.test_trainer import RECIPE, study
from turnscope import training
from turnscope.practice import Batch, tokens
from turnscope.training import _sampler
from turnscope.tuning import Tuning
from turnscope.types import Episode, StopReason, Turn

END = 9


def turn(context: list[int], action: list[int], logprobs: list[float]) -> Turn:
    return Turn("", "", "", 0.0, True, context, action, logprobs)


def batch(*episodes: list[Turn]) -> Batch:
    played = [
        Episode(f"t{i}", 0, 0, turns, StopReason.BUDGET if turns else StopReason.ERROR, "", "")
        for i, turns in enumerate(episodes)
    ]
    nothing: list = []
    return Batch(played, nothing, nothing, nothing, None, nothing)  # type: ignore[arg-type]


def test_a_server_plays_for_one_training_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setenv("TURNSCOPE_CACHE", str(tmp_path))
    monkeypatch.setattr(_sampler, "CLAIMS", [])
    _sampler.claim("http://node3:8000")
    _sampler.claim("http://node4:8000")
    with pytest.raises(ValueError, match="http://node3:8000: another training plays there"):
        _sampler.claim("http://node3:8000")


def test_log_probabilities_stand_at_the_tokens_that_the_policy_said():
    said = batch(
        [turn([1, 2], [3, END], [-0.5, -1.0]), turn([4, 5, 6], [7], [-2.0])],
        [turn([1], [8], [-0.25])],
        [],  # its environment failed before the first turn
    )
    rows = [tokens(episode, END) for episode in said.episodes]
    nan = float("nan")
    expected = [[-0.5, -1.0, nan, nan, nan, -2.0], [-0.25], [nan]]
    for found, wanted in zip(_sampler.scores(said, rows), expected, strict=True):
        np.testing.assert_equal(found, wanted)


def test_agreement_is_measured_where_the_loss_counts():
    said = torch.tensor([[True, False, True], [True, True, False]])
    trainer = torch.tensor([[-1.0, -9.0, -2.0], [-0.5, -1.0, -9.0]])
    nan = float("nan")
    sampler = torch.tensor([[-1.5, nan, -2.0], [-0.25, -3.0, 0.0]])
    ratio = torch.exp(trainer - sampler).nan_to_num(1.0).clamp(max=_sampler.HIGHEST)
    found = _sampler.agreement(
        {
            "old_per_token_logps": trainer,
            "sampling_per_token_logps": sampler,
            "importance_sampling_ratio": ratio,  # e^2 of one token is cut to 3
        },
        said,
    )
    assert found == {
        "sampler_gap_mean": pytest.approx((0.5 + 0.0 + 0.25 + 2.0) / 4),
        "sampler_gap_max": 2.0,
        "sampler_cut_share": 0.25,
    }


def test_agreement_of_a_batch_in_which_nothing_was_said_is_undefined():
    names = ("old_per_token_logps", "sampling_per_token_logps", "importance_sampling_ratio")
    nothing = torch.zeros(2, 3, dtype=torch.bool)
    found = _sampler.agreement({name: torch.zeros(2, 3) for name in names}, nothing)
    assert len(found) == 3
    assert all(np.isnan(value) for value in found.values())


def test_what_trl_sets_for_an_engine_is_not_left_behind(monkeypatch):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    usual = object()
    monkeypatch.setattr(_sampler.TRLS, "LLM", usual, raising=False)
    with _sampler.engines():
        assert _sampler.TRLS.LLM is not usual
        os.environ |= {"RANK": "0", "WORLD_SIZE": "1"}
    assert _sampler.TRLS.LLM is usual
    assert os.environ["RANK"] == "3"
    assert "WORLD_SIZE" not in os.environ


def test_a_sampler_that_there_is_not_is_refused(lakes, tmp_path):
    with pytest.raises(ValueError, match=r"^tuning\.sampler = 'vlm': known: transformers, vllm$"):
        training.config(RECIPE, study(lakes), tmp_path, Tuning(sampler="vlm"))


def test_a_server_whose_address_nobody_says_is_refused(lakes, tmp_path, monkeypatch):
    monkeypatch.delenv(_sampler.SERVER, raising=False)
    with pytest.raises(
        ValueError, match=r"^tuning\.server = True: TURNSCOPE_VLLM_SERVER is not set"
    ):
        training.config(RECIPE, study(lakes), tmp_path, Tuning(sampler="vllm", server=True))


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed")
def test_without_vllm_a_training_that_needs_it_says_what_to_install(lakes, nano_folder, tmp_path):
    with pytest.raises(ValueError, match=r"^backend 'vllm' needs vLLM .* is not installed here"):
        training.train(
            study(lakes),
            RECIPE,
            nano_folder,
            tmp_path / "policy",
            tmp_path / "scratch",
            "name",
            tuning=Tuning(sampler="vllm"),
        )
