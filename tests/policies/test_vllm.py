from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from tests.toys import Crowd, Hall, hall

from turnscope import draws, nano, registry
from turnscope.policies.vllm import Policy, engine
from turnscope.rollout import Start, rollout
from turnscope.types import Budget, Episode, Seat, StopReason, Task, Turn

pytestmark = pytest.mark.usefixtures("vllm_installed")

RECIPE = nano.Recipe(
    hidden=32, layers=2, heads=4, kv_heads=2, head_dim=32, intermediate=48, context=256
)
BUDGET = Budget(turns=7, turn_tokens=6)
LIMIT = RECIPE.context
ROOM: dict[str, Any] = {"kv_cache_memory_bytes": 64 << 20, "max_num_batched_tokens": LIMIT}
"""Little memory, and so few tokens at a time that a batch takes several steps."""


@pytest.fixture(scope="module")
def model(words: Any) -> Any:
    """An untrained model that ends about every fourth of its turns itself."""
    torch.set_num_threads(1)
    model = nano.network(RECIPE, words, 6)
    with torch.no_grad():
        model.model.embed_tokens.weight[words.eos_token_id] *= 3.0
    return model.eval()


@pytest.fixture(scope="module")
def folder(model: Any, words: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("untrained")
    nano.save(model, words, folder)
    return folder


@pytest.fixture(scope="module")
def llm(folder: Path) -> Any:
    return engine(folder, **ROOM)


@pytest.fixture(scope="module")
def policy(llm: Any, words: Any) -> Policy:
    return Policy(llm, words)


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
def logits_of(model: Any, ids: list[int]) -> torch.Tensor:
    return model(input_ids=torch.tensor([ids])).logits[0].float()


def said(episodes: list[Episode]) -> list[list[list[int]]]:
    return [[turn.action_ids for turn in episode.turns] for episode in episodes]


def check_scores(model: Any, episode: Episode) -> int:
    """Compare each turn with transformers on the whole episode; return how many tokens."""
    history: list[int] = []
    total = 0
    for turn in episode.turns:
        prompt = history + turn.context_ids
        history = prompt + turn.action_ids
        logprobs = torch.log_softmax(logits_of(model, history), dim=-1)
        places = range(len(prompt) - 1, len(history) - 1)
        wanted = [float(logprobs[p, i]) for p, i in zip(places, turn.action_ids, strict=True)]
        np.testing.assert_allclose(turn.logprobs, wanted, atol=1e-4, rtol=0)
        total += len(wanted)
    return total


def seats(number: int, history: tuple[Turn, ...] = ()) -> list[Seat]:
    return [Seat(hall(), Hall(), draws.seed("seat", i), 9, list(history)) for i in range(number)]


def first_tokens(policy: Policy, model: Any, number: int):
    found = policy.begin(seats(number)).act(range(number), ["at=r0c0"] * number, [1] * number)
    actions = [action for action in found if action is not None]
    tokens = np.array([action.action_ids[0] for action in actions])
    logprobs = np.array([action.logprobs[0] for action in actions])
    return tokens, logprobs, logits_of(model, actions[0].context_ids)[-1]


def test_the_crowd_is_ragged(played, policy):
    turns = [turn for episode in played for turn in episode.turns]
    ends = [turn.action_ids[-1] == policy.renderer.end_id for turn in turns]
    assert 0.2 < np.mean(ends) < 0.95
    assert {len(turn.action_ids) for turn in turns} == set(range(1, 7))
    assert {len(episode.turns) for episode in played} == set(range(1, 8))


def test_log_probabilities_are_those_of_transformers(played, model):
    assert sum(check_scores(model, episode) for episode in played) > 300


def test_tokens_in_and_tokens_out(played, policy):
    for episode in played:
        ended = False
        for number, turn in enumerate(episode.turns):
            reply = policy.renderer.reply(turn.observation, ended)
            first = policy.renderer.first(turn.observation)
            assert turn.context_ids == list(reply if number else first)
            assert 1 <= len(turn.action_ids) == len(turn.logprobs) <= BUDGET.turn_tokens
            assert turn.action == policy.renderer.text(turn.action_ids)
            assert policy.renderer.end_id not in turn.action_ids[:-1]
            ended = turn.action_ids[-1] == policy.renderer.end_id
            assert ended or len(turn.action_ids) == BUDGET.turn_tokens


def test_a_row_alone_acts_as_in_the_batch(played, crowd, policy):
    assert said([rollout(Crowd, [start], policy)[0] for start in crowd]) == said(played)


def test_the_order_of_the_batch_does_not_matter(played, crowd, policy):
    assert said(rollout(Crowd, crowd[::-1], policy)[::-1]) == said(played)


def test_what_is_in_the_cache_does_not_matter(played, crowd, policy):
    assert policy.model.reset_prefix_cache()
    assert said(rollout(Crowd, crowd, policy)) == said(played)


def test_streams_differ(played, crowd, policy):
    other = rollout(Crowd, crowd, policy, stream=1)
    same = [one[0] == two[0] for one, two in zip(said(played), said(other), strict=True)]
    assert sum(same) < 6


def test_turns_of_an_episode_draw_anew(policy):
    """Equal prompts in turns that follow each other would hide a seed that is used twice."""
    number = 400
    conversation = policy.begin(seats(number))
    one, two = (conversation.act(range(number), [""] * number, [1] * number) for _ in range(2))
    pairs = [(a.action_ids, b.action_ids) for a, b in zip(one, two, strict=True)]
    assert np.mean([a == b for a, b in pairs]) < 0.3


def test_going_on_from_prefixes_of_all_lengths_at_once(played, crowd, policy):
    starts, whole = [], []
    for start, episode in zip(crowd, played, strict=True):
        for cut in range(len(episode.turns) + 1):
            starts.append(replace(start, prefix=tuple(episode.turns[:cut])))
            whole.append(episode)
    again = rollout(Crowd, starts, policy)
    assert said(again) == said(whole)
    for one, two in zip(again, whole, strict=True):
        assert (one.stop, one.final_observation) == (two.stop, two.final_observation)
        assert [t.context_ids for t in one.turns] == [t.context_ids for t in two.turns]


def test_branches_keep_their_prefix_and_are_scored_rightly(played, crowd, policy, model):
    pairs = [(s, e) for s, e in zip(crowd, played, strict=True) if len(e.turns) > 2]
    starts = [
        replace(s, prefix=tuple(e.turns[: 1 + i % 2]), branch=draws.seed("b", i))
        for i, (s, e) in enumerate(pairs)
    ]
    branches = rollout(Crowd, starts, policy)
    for i, (branch, (_, trunk)) in enumerate(zip(branches, pairs, strict=True)):
        assert branch.turns[: 1 + i % 2] == trunk.turns[: 1 + i % 2]
        check_scores(model, branch)
    assert sum(b.turns == t.turns for b, (_, t) in zip(branches, pairs, strict=True)) <= 2


def test_the_history_is_looked_up_and_not_computed_again(policy):
    engine_, number = policy.model, 8
    assert engine_.reset_prefix_cache()
    conversation = policy.begin(seats(number))
    cached = []
    ask = engine_.generate

    def counted(*arguments: Any, **options: Any) -> Any:
        answers = ask(*arguments, **options)
        cached.append(min(answer.num_cached_tokens for answer in answers))
        return answers

    engine_.generate = counted
    try:
        for _ in range(3):
            conversation.act(range(number), ["at=r0c0 " * 12] * number, [6] * number)
    finally:
        del engine_.generate
    assert cached[1] >= 32
    assert cached[2] >= cached[1] + 32


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_samples_follow_the_softmax(llm, model, words, temperature):
    number = 6000
    policy = Policy(llm, words, temperature=temperature)
    tokens, logprobs, logits = first_tokens(policy, model, number)
    chances = torch.softmax(logits.double() / temperature, dim=-1).numpy()
    counts = np.bincount(tokens, minlength=len(chances))
    common = chances * number >= 10
    seen = np.append(counts[common], counts[~common].sum())
    expected = np.append(chances[common], chances[~common].sum()) * number
    assert len(seen) > 10
    assert stats.chisquare(seen, expected).pvalue > 1e-3  # fixed seeds: true or false for good
    at_one = torch.log_softmax(logits, dim=-1).numpy()
    np.testing.assert_allclose(logprobs, at_one[tokens], atol=1e-4, rtol=0)


@pytest.mark.parametrize("temperature", [0.0, 0.001, 2.1, -1.0, float("nan")])
def test_a_temperature_that_vllm_does_not_have_is_refused(llm, words, temperature):
    with pytest.raises(
        ValueError, match=r"^temperature = .*: must be from 0\.01 to 2\.0 with vLLM$"
    ):
        Policy(llm, words, temperature=temperature)


def test_each_row_has_its_own_limit(policy):
    limits = [1, 6, 3, 2, 5, 4] * 4
    conversation = policy.begin(seats(24))
    for _ in range(3):
        actions = conversation.act(range(24), ["at=r0c0"] * 24, limits)
        for action, limit in zip(actions, limits, strict=True):
            ended = action.action_ids[-1] == policy.renderer.end_id
            assert len(action.action_ids) == limit or (ended and len(action.action_ids) < limit)


def test_the_token_budget_cuts_the_last_turn(crowd, policy):
    budget = replace(BUDGET, tokens=9)
    starts = [replace(start, budget=budget, task=hall(length=99)) for start in crowd]
    for episode in rollout(Crowd, starts, policy):
        assert episode.stop in (StopReason.TOKENS, StopReason.BUDGET)
        assert sum(len(turn.action_ids) for turn in episode.turns) <= 9


def test_failed_environments_leave_the_batch(crowd, played, policy):
    bad = [replace(crowd[0], task=hall(breaks="reset")), *crowd[:3]]
    bad.insert(2, replace(crowd[0], task=hall(length=9, breaks="step", at=1)))
    episodes = rollout(Crowd, bad, policy)
    errors = [episode.stop is StopReason.ERROR for episode in episodes]
    assert errors == [True, False, True, False, False]
    assert said([episodes[1], *episodes[3:]]) == said(played[:3])


@pytest.mark.parametrize("limit", [6, LIMIT])
def test_an_episode_that_outgrows_the_context_has_no_further_turn(policy, limit):
    """Neither one for which no token is left nor one that the context's end cuts."""
    conversation, total = policy.begin(seats(2)), [0, 0]
    for _ in range(LIMIT):
        told = ["at=r0c0", "at=r0c0 " * 4]
        actions = conversation.act([0, 1], told, [limit, 1])
        for row, action in enumerate(actions):
            if action is not None:
                total[row] += len(action.context_ids) + len(action.action_ids)
                ended = action.action_ids[-1] == policy.renderer.end_id
                assert ended or len(action.action_ids) == (limit, 1)[row]
        assert max(total) <= LIMIT
        if None in actions:
            break
    else:
        pytest.fail("the context has no end")
    assert conversation.act([0], ["at=r0c0 " * LIMIT], [1]) == [None]


def test_an_episode_without_room_ends_and_others_go_on(policy):
    budget = Budget(40, 6)
    starts = [
        Start(hall(length=99 if i % 3 else 4), 0, draws.seed("long", i), budget) for i in range(9)
    ]
    episodes = rollout(Crowd, starts, policy)
    stops = [episode.stop for episode in episodes]
    assert stops == [StopReason.TOKENS if i % 3 else StopReason.SUCCESS for i in range(9)]
    for episode in episodes:
        sizes = [len(turn.context_ids) + len(turn.action_ids) for turn in episode.turns]
        assert sum(sizes) <= LIMIT
        assert episode.success is (episode.stop is StopReason.SUCCESS)
    assert said(episodes) == said([rollout(Crowd, [start], policy)[0] for start in starts])


def test_a_history_without_tokens_is_refused(policy):
    turn = Turn("at=r0c0", "r0c0", "left", 0.0, True)
    with pytest.raises(ValueError, match=r"task hall: .*without a model"):
        policy.begin(seats(2, (turn,)))


def test_an_engine_without_its_tokenizer_is_refused(llm):
    with pytest.raises(ValueError, match=r"^tokenizer is None; "):
        Policy(llm)


class Armed(Crowd):
    """Lets policies call functions in every other hall."""

    def reset(self, task: Task, seed: int) -> str:
        self.tools = [{"name": "up"}, {"name": "down"}] if task.payload["length"] % 2 else []
        return super().reset(task, seed)


def test_tools_of_an_environment_are_told_with_its_first_observation(llm, words, crowd):
    other = deepcopy(words)
    other.chat_template = "{% if tools %}{{ tools | tojson }}\n{% endif %}" + nano.TEMPLATE
    policy = Policy(llm, other)
    for start, episode in zip(crowd, rollout(Armed, crowd, policy), strict=True):
        first, *later = episode.turns
        tools = '[{"name": "up"}, {"name": "down"}]' if start.task.payload["length"] % 2 else ""
        assert first.context_ids == list(policy.renderer.first(first.observation, tools))
        assert other.decode(first.context_ids).startswith(tools)
        for turn, before in zip(later, episode.turns, strict=False):
            ended = before.action_ids[-1] == policy.renderer.end_id
            assert turn.context_ids == list(policy.renderer.reply(turn.observation, ended))


def test_two_policies_of_one_process_play_side_by_side(nano_folder, lakes, policy, crowd, played):
    """As a stage does that compares a trained policy with base."""
    world = registry.load("environments", "frozen_lake")
    torch.manual_seed(3)
    state = torch.random.get_rng_state()
    other = Policy(nano_folder)
    budget = Budget(turns=6, turn_tokens=4)
    starts = [Start(task, 0, draws.seed(task.task_id), budget) for task in lakes]
    one = rollout(world.Environment, starts, other)
    assert said(rollout(Crowd, crowd, policy)) == said(played)
    assert rollout(world.Environment, starts, other) == one
    assert torch.equal(state, torch.random.get_rng_state())
    assert {turn.action for episode in one for turn in episode.turns} >= {"left", "down"}
    assert any(episode.success for episode in one)


def test_a_model_that_has_diverged_ends_the_call(model, words, crowd, tmp_path):
    broken = deepcopy(model)
    with torch.no_grad():
        broken.model.norm.weight.fill_(float("nan"))
    nano.save(broken, words, tmp_path)
    with pytest.raises(ValueError, match="not finite"):
        rollout(Crowd, crowd, Policy(engine(tmp_path, **ROOM), words))
