"""A real language model in vLLM: what it plays and thinks likely is what transformers says."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from transformers import AutoModelForCausalLM

from tests.toys import Hall, hall
from turnscope import draws
from turnscope.environments import frozen_lake
from turnscope.policies.vllm import Policy, engine
from turnscope.rollout import Start, rollout
from turnscope.types import Budget, Episode, Seat

pytestmark = pytest.mark.usefixtures("vllm_installed")

BUDGET = Budget(turns=3, turn_tokens=8)
QUESTION = "Which animal says meow? Answer with one word."


@pytest.fixture(scope="module")
def policy(smollm2_folder: Path) -> Policy:
    from transformers import AutoTokenizer

    torch.set_num_threads(1)
    room: dict[str, Any] = {"kv_cache_memory_bytes": 256 << 20, "max_model_len": 1024}
    llm = engine(smollm2_folder, **room)
    return Policy(llm, AutoTokenizer.from_pretrained(smollm2_folder))


@pytest.fixture(scope="module")
def model(smollm2_folder: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(smollm2_folder).eval()


@pytest.fixture(scope="module")
def played(policy: Policy) -> list[Episode]:
    """Three turns at each of four lakes, twice."""
    starts = [
        Start(task, sample, draws.seed(task.task_id, sample), BUDGET)
        for task in frozen_lake.tasks(1, train=4, test=0, sizes=[3])
        for sample in range(2)
    ]
    return rollout(lambda: frozen_lake.Environment(view="grid"), starts, policy)


@torch.no_grad()
def logprobs_of(model: Any, ids: list[int]) -> torch.Tensor:
    return torch.log_softmax(model(input_ids=torch.tensor([ids])).logits[0], dim=-1)


def test_log_probabilities_of_whole_episodes_are_those_of_transformers(played, model):
    total = 0
    for episode in played:
        history: list[int] = []
        spoken, scores = [], []
        for turn in episode.turns:
            start = len(history) + len(turn.context_ids)
            history += [*turn.context_ids, *turn.action_ids]
            spoken += range(start, len(history))
            scores += turn.logprobs
        logprobs = logprobs_of(model, history)
        wanted = [float(logprobs[place - 1, history[place]]) for place in spoken]
        np.testing.assert_allclose(scores, wanted, atol=1e-4, rtol=0)
        total += len(wanted)
    assert total > 60


def test_turns_are_cut_or_ended_by_the_model(played, policy):
    for episode in played:
        for turn in episode.turns:
            ended = turn.action_ids[-1] == policy.renderer.end_id
            assert ended or len(turn.action_ids) == BUDGET.turn_tokens
            assert policy.renderer.end_id not in turn.action_ids[:-1]


def test_first_tokens_follow_the_softmax_of_transformers(policy, model):
    number = 1000
    seats = [Seat(hall(), Hall(), draws.seed("seat", i), 9, []) for i in range(number)]
    actions = policy.begin(seats).act(range(number), [QUESTION] * number, [1] * number)
    drawn = [action.action_ids[0] for action in actions]
    chances = logprobs_of(model, actions[0].context_ids)[-1].double().exp().numpy()
    counts = np.bincount(drawn, minlength=len(chances))
    common = chances * number >= 5
    seen = np.append(counts[common], counts[~common].sum())
    expected = np.append(chances[common], chances[~common].sum())
    assert len(seen) > 10
    # Fixed seeds: true or false for good.
    assert stats.chisquare(seen, expected / expected.sum() * number).pvalue > 1e-3
