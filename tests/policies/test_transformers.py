from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from tests.toys import Crowd, Hall, hall

from turnscope import draws, nano
from turnscope.policies.transformers import Policy
from turnscope.rollout import Start, rollout
from turnscope.types import Budget, Episode, Seat, StopReason, Task, Turn

RECIPE = nano.Recipe(hidden=32, layers=2, heads=4, kv_heads=2, head_dim=8, intermediate=48)
BUDGET = Budget(turns=7, turn_tokens=6)


@pytest.fixture(scope="module")
def model(words: Any) -> Any:
    """An untrained model that ends about every fourth of its turns itself."""
    model = nano.network(RECIPE, words, 5)
    with torch.no_grad():
        model.model.embed_tokens.weight[words.eos_token_id] *= 3.0
    return model.eval()


@pytest.fixture(scope="module")
def policy(model: Any, words: Any) -> Policy:
    return Policy(model, words)


@pytest.fixture(scope="module")
def crowd() -> list[Start]:
    return [
        Start(hall(length=1 + i % 8, name=f"t{i}"), 0, draws.seed("crowd", i), BUDGET)
        for i in range(24)
    ]


@pytest.fixture(scope="module")
def played(policy: Policy, crowd: list[Start]) -> list[Episode]:
    return rollout(Crowd, crowd, policy)


@torch.no_grad()
def fresh_logits(model: Any, ids: list[int]) -> torch.Tensor:
    """Return the logits behind each token, from one forward pass without a cache."""
    return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].double()


def score(model: Any, episode: Episode) -> list[list[float]]:
    """Score each turn against the full prompt, encoded anew."""
    history: list[int] = []
    scores = []
    for turn in episode.turns:
        prompt = history + turn.context_ids
        history = prompt + turn.action_ids
        logprobs = torch.log_softmax(fresh_logits(model, history), dim=-1)
        places = range(len(prompt) - 1, len(history) - 1)
        scores.append([float(logprobs[p, i]) for p, i in zip(places, turn.action_ids, strict=True)])
    return scores


def sample_naively(model: Any, end: int, ids: list[int], seed: int, said: int, limit: int):
    """Sample a turn, one full forward pass for each token."""
    action: list[int] = []
    while len(action) < limit and action[-1:] != [end]:
        chances = torch.softmax(fresh_logits(model, ids + action)[-1], dim=-1).numpy()
        ladder = np.cumsum(chances)
        draw = draws.uniform(seed, said + len(action)) * ladder[-1]
        action.append(int(np.searchsorted(ladder, draw, side="right")))
    return action


def test_the_crowd_is_ragged(played, policy):
    turns = [turn for episode in played for turn in episode.turns]
    ends = [turn.action_ids[-1] == policy.renderer.end_id for turn in turns]
    assert 0.2 < np.mean(ends) < 0.95
    assert {len(turn.action_ids) for turn in turns} == set(range(1, 7))
    assert {len(episode.turns) for episode in played} == set(range(1, 8))
    assert len({len(turn.context_ids) for turn in turns}) > 6


def test_log_probabilities_equal_those_of_full_prompts(played, model):
    for episode in played:
        for turn, scores in zip(episode.turns, score(model, episode), strict=True):
            assert np.isfinite(turn.logprobs).all()
            np.testing.assert_allclose(turn.logprobs, scores, atol=1e-4, rtol=0)


def test_tokens_equal_those_of_naive_sampling(played, crowd, model, policy):
    end = policy.renderer.end_id
    for start, episode in zip(crowd[:10], played[:10], strict=True):
        history: list[int] = []
        seed, said = draws.mix(start.seed, 0), 0
        for number, turn in enumerate(episode.turns):
            ended = history[-1:] == [end]
            context = (
                policy.renderer.reply(turn.observation, ended)
                if number
                else policy.renderer.first(turn.observation)
            )
            assert turn.context_ids == list(context)
            history += turn.context_ids
            action = sample_naively(model, end, history, seed, said, BUDGET.turn_tokens)
            assert turn.action_ids == action
            assert turn.action == policy.renderer.text(action)
            history += action
            said += len(action)


def test_a_token_for_each_log_probability(played):
    for episode in played:
        for turn in episode.turns:
            assert 1 <= len(turn.action_ids) == len(turn.logprobs) <= BUDGET.turn_tokens


def test_only_the_end_of_turn_ends_a_turn_early(played, policy):
    for episode in played:
        for turn in episode.turns:
            assert policy.renderer.end_id not in turn.action_ids[:-1]
            if len(turn.action_ids) < BUDGET.turn_tokens:
                assert turn.action_ids[-1] == policy.renderer.end_id


def test_a_row_alone_acts_as_in_the_batch(played, crowd, policy):
    for start, episode in zip(crowd, played, strict=True):
        (alone,) = rollout(Crowd, [start], policy)
        assert [turn.action_ids for turn in alone.turns] == [
            turn.action_ids for turn in episode.turns
        ]


def test_the_order_of_the_batch_does_not_matter(played, crowd, policy):
    backwards = rollout(Crowd, crowd[::-1], policy)[::-1]
    for one, two in zip(played, backwards, strict=True):
        assert [turn.action_ids for turn in one.turns] == [turn.action_ids for turn in two.turns]


def test_equal_calls_give_equal_episodes_to_the_last_bit(played, crowd, policy):
    assert rollout(Crowd, crowd, policy) == played


def test_streams_differ(played, crowd, policy):
    other = rollout(Crowd, crowd, policy, stream=1)
    same = sum(
        one.turns[0].action_ids == two.turns[0].action_ids
        for one, two in zip(played, other, strict=True)
    )
    assert same < 6


def test_going_on_from_prefixes_of_all_lengths_at_once(played, crowd, policy, model):
    starts, whole = [], []
    for start, episode in zip(crowd, played, strict=True):
        for cut in range(len(episode.turns) + 1):
            starts.append(replace(start, prefix=tuple(episode.turns[:cut])))
            whole.append(episode)
    for again, episode in zip(rollout(Crowd, starts, policy), whole, strict=True):
        assert (again.stop, again.final_observation) == (episode.stop, episode.final_observation)
        for one, two in zip(again.turns, episode.turns, strict=True):
            assert (one.context_ids, one.action_ids) == (two.context_ids, two.action_ids)
            np.testing.assert_allclose(one.logprobs, two.logprobs, atol=1e-4, rtol=0)


def test_branches_are_scored_like_full_prompts(played, crowd, policy, model):
    pairs = [(s, e) for s, e in zip(crowd, played, strict=True) if len(e.turns) > 2]
    starts = [
        replace(s, prefix=tuple(e.turns[: 1 + i % 2]), branch=draws.seed("b", i))
        for i, (s, e) in enumerate(pairs)
    ]
    branches = rollout(Crowd, starts, policy)
    for i, (branch, (_, trunk)) in enumerate(zip(branches, pairs, strict=True)):
        assert branch.turns[: 1 + i % 2] == trunk.turns[: 1 + i % 2]
        for turn, scores in zip(branch.turns, score(model, branch), strict=True):
            np.testing.assert_allclose(turn.logprobs, scores, atol=1e-4, rtol=0)
    assert sum(b.turns == t.turns for b, (_, t) in zip(branches, pairs, strict=True)) <= 2


def test_failed_environments_leave_the_batch(crowd, played, policy):
    bad = [replace(crowd[0], task=hall(breaks="reset")), *crowd[:3]]
    bad.insert(2, replace(crowd[0], task=hall(length=9, breaks="step", at=1)))
    episodes = rollout(Crowd, bad, policy)
    errors = [episode.stop is StopReason.ERROR for episode in episodes]
    assert errors == [True, False, True, False, False]
    healthy = [episodes[1], *episodes[3:]]
    for one, two in zip(healthy, played[:3], strict=True):
        assert [turn.action_ids for turn in one.turns] == [turn.action_ids for turn in two.turns]


def test_the_token_budget_cuts_the_last_turn(crowd, policy):
    budget = replace(BUDGET, tokens=9)
    starts = [replace(start, budget=budget, task=hall(length=99)) for start in crowd]
    for episode in rollout(Crowd, starts, policy):
        assert episode.stop in (StopReason.TOKENS, StopReason.BUDGET)
        assert sum(len(turn.action_ids) for turn in episode.turns) <= 9


def seats(number: int, history: tuple[Turn, ...] = ()) -> list[Seat]:
    task = hall()
    return [Seat(task, Hall(), draws.seed("seat", i), 9, list(history)) for i in range(number)]


def first_tokens(policy: Policy, number: int) -> tuple[np.ndarray, np.ndarray, torch.Tensor]:
    conversation = policy.begin(seats(number))
    found = conversation.act(range(number), ["at=r0c0"] * number, [1] * number)
    actions = [action for action in found if action is not None]
    tokens = np.array([action.action_ids[0] for action in actions])
    logprobs = np.array([action.logprobs[0] for action in actions])
    return tokens, logprobs, fresh_logits(policy.model, actions[0].context_ids)[-1]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_samples_follow_the_softmax(model, words, temperature):
    number = 6000
    tokens, logprobs, logits = first_tokens(Policy(model, words, temperature=temperature), number)
    chances = torch.softmax(logits / temperature, dim=-1).numpy()
    counts = np.bincount(tokens, minlength=len(chances))
    common = chances * number >= 10
    seen = np.append(counts[common], counts[~common].sum())
    expected = np.append(chances[common], chances[~common].sum()) * number
    assert len(seen) > 10
    assert stats.chisquare(seen, expected).pvalue > 1e-3  # fixed seeds: true or false for good
    at_one = torch.log_softmax(logits, dim=-1).numpy()
    np.testing.assert_allclose(logprobs, at_one[tokens], atol=1e-4, rtol=0)


def test_temperature_sharpens_the_same_model(model, words):
    mean = [
        first_tokens(Policy(model, words, temperature=t), 500)[1].mean() for t in (0.2, 1.0, 3.0)
    ]
    assert mean[0] > mean[1] > mean[2]


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan")])
def test_a_temperature_that_is_not_positive_is_refused(model, words, temperature):
    with pytest.raises(ValueError, match="temperature"):
        Policy(model, words, temperature=temperature)


def test_each_row_has_its_own_limit(policy):
    limits = [1, 6, 3, 2, 5, 4] * 4
    conversation = policy.begin(seats(24))
    for _ in range(3):
        actions = conversation.act(range(24), ["at=r0c0"] * 24, limits)
        for action, limit in zip(actions, limits, strict=True):
            ended = action.action_ids[-1] == policy.renderer.end_id
            assert len(action.action_ids) == limit or (ended and len(action.action_ids) < limit)


def test_training_mode_and_gradient_checkpointing_change_nothing(words, model, crowd, played):
    """Layers that recompute their activations drop the cache, silently."""
    other = nano.network(RECIPE, words, 5)
    other.load_state_dict(model.state_dict())
    other.gradient_checkpointing_enable()
    other.train()
    assert rollout(Crowd, crowd, Policy(other, words)) == played
    assert other.training
    assert other.is_gradient_checkpointing


def test_playing_leaves_gradients_and_random_numbers_alone(policy, crowd):
    state = torch.random.get_rng_state()
    rollout(Crowd, crowd[:4], policy)
    assert torch.equal(state, torch.random.get_rng_state())
    assert all(weight.requires_grad and weight.grad is None for weight in policy.model.parameters())
    loss = policy.model(input_ids=torch.tensor([[5, 6, 7]])).logits.sum()
    assert loss.requires_grad


def test_a_history_without_tokens_is_refused(policy):
    said = Turn("at=r0c0", "r0c0", "left", 0.0, True)
    with pytest.raises(ValueError, match=r"task hall: .*without a model"):
        policy.begin(seats(2, (said,)))


def test_a_model_that_has_diverged_ends_the_call(words, crowd):
    broken = nano.network(RECIPE, words, 5)
    with torch.no_grad():
        broken.model.norm.weight.fill_(float("nan"))
    with pytest.raises(ValueError, match="not finite"):
        rollout(Crowd, crowd, Policy(broken, words))


def test_a_folder_is_loaded_as_it_was_saved(nano_folder, lakes):
    from turnscope.environments import frozen_lake

    starts = [
        Start(task, 0, draws.seed(task.task_id), Budget(turns=6, turn_tokens=4)) for task in lakes
    ]
    one, two = (
        rollout(frozen_lake.Environment, starts, Policy(folder))
        for folder in (nano_folder, str(nano_folder))
    )
    assert one == two
    assert {turn.action for episode in one for turn in episode.turns} >= {"left", "down"}
    assert any(episode.success for episode in one)


class Armed(Crowd):
    """Lets policies call functions in every other hall."""

    def reset(self, task: Task, seed: int) -> str:
        self.tools = [{"name": "up"}, {"name": "down"}] if task.payload["length"] % 2 else []
        return super().reset(task, seed)


def test_tools_of_an_environment_are_told_with_its_first_observation(model, words, crowd):
    other = deepcopy(words)
    other.chat_template = "{% if tools %}{{ tools | tojson }}\n{% endif %}" + nano.TEMPLATE
    policy = Policy(model, other)
    armed = rollout(Armed, crowd, policy)
    for start, episode, plain in zip(crowd, armed, rollout(Crowd, crowd, policy), strict=True):
        first, *later = episode.turns
        said = first.observation
        if start.task.payload["length"] % 2:
            tools = '[{"name": "up"}, {"name": "down"}]'
            assert first.context_ids == list(policy.renderer.first(said, tools))
            assert other.decode(first.context_ids).startswith(tools)
            for turn, before in zip(later, episode.turns, strict=False):
                ended = before.action_ids[-1] == policy.renderer.end_id
                assert turn.context_ids == list(policy.renderer.reply(turn.observation, ended))
        else:
            assert first.context_ids == list(policy.renderer.first(said))
            assert episode.turns[0].observation == plain.turns[0].observation


def test_weights_are_played_in_the_format_in_which_they_are_stored(model, words, tmp_path):
    nano.save(deepcopy(model).bfloat16(), words, tmp_path)
    assert Policy(tmp_path).model.dtype == torch.bfloat16
    assert Policy(tmp_path, dtype="float32").model.dtype == torch.float32
