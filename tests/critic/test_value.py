from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.played import episode, turn
from turnscope.algorithms import ppo
from turnscope.crew import ALONE
from turnscope.critic import Critic, Tokens
from turnscope.critic import value as critic
from turnscope.tuning import Tuning
from turnscope.types import StopReason

USUAL = ppo.make(epochs=1, warmup=0).credit
assert isinstance(USUAL, Critic)
SETTINGS: Critic = USUAL
TURNS = replace(SETTINGS, level="turn")
PLAYED = [
    episode(turn([1, 2, 3], [4, 5]), turn([6, 7], [8], 1.0)),
    episode(turn([1, 2], [4, 5, 5]), turn([6], [4, 4])),
    episode(turn([1, 2, 3, 4], [9, 9], 9.0), stop=StopReason.ERROR),
]
REWARDS = [[0.0, 1.0], [0.0, 0.5], None]


def laid(played) -> Tokens:
    """Lay episodes out as TRL does: prompts end together, completions begin together."""
    rows = []
    for one in played:
        prompt = one.turns[0].context_ids
        said = list(one.turns[0].action_ids)
        for each in one.turns[1:]:
            said += [*each.context_ids, *each.action_ids]
        rows.append((prompt, said))
    before, behind = (max(len(row[side]) for row in rows) for side in (0, 1))
    ids = torch.zeros((len(rows), before + behind), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for place, (prompt, said) in enumerate(rows):
        ids[place, before - len(prompt) : before + len(said)] = torch.tensor(prompt + said)
        mask[place, before - len(prompt) : before + len(said)] = 1
    return Tokens(ids, mask, behind)


def value(folder, settings: Critic = SETTINGS, micro: int | None = None) -> critic.Value:
    return settings.start(settings, folder, micro, torch.device("cpu"), ALONE, Tuning())


def unlike_zero(one: critic.Value) -> critic.Value:
    torch.manual_seed(1)
    head: Any = one.network["head"]
    torch.nn.init.normal_(head.weight)
    return one


def test_steps_by_hand():
    tokens = critic.lay(PLAYED, REWARDS, "token")
    assert tokens.row_M.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    assert tokens.column_M.tolist() == [0, 1, 4, 0, 1, 2, 4, 5]
    assert tokens.reward_M.tolist() == [0, 0, 1, 0, 0, 0, 0, 0.5]
    assert tokens.tokens_M.tolist() == [1] * 8
    turns = critic.lay(PLAYED, REWARDS, "turn")
    assert turns.row_M.tolist() == [0, 0, 1, 1]
    assert turns.column_M.tolist() == [0, 4, 0, 4]
    assert turns.reward_M.tolist() == [0, 1, 0, 0.5]
    assert turns.tokens_M.tolist() == [2, 1, 3, 2]


@pytest.mark.parametrize("settings", [SETTINGS, TURNS])
def test_a_critic_that_knows_nothing_gives_whitened_monte_carlo_returns(nano_folder, settings):
    credit, curves = value(nano_folder, settings).credit(laid(PLAYED), PLAYED, REWARDS)
    returns = np.array([1.0] * 3 + [0.5] * 5)  # of each sampled token
    white = (returns - returns.mean()) / (returns.std(ddof=1) + 1e-4)
    expected = np.zeros((3, 6))
    expected[0, [0, 1, 4]] = white[0]
    expected[1, [0, 1, 2, 4, 5]] = white[-1]
    np.testing.assert_allclose(credit, expected, atol=1e-12)
    targets = returns if settings.level == "token" else np.array([1.0, 1.0, 0.5, 0.5])
    assert curves["critic_loss"] == pytest.approx(0.5 * np.mean(targets**2))
    assert curves["explained_variance"] == pytest.approx(0)


def by_hand(one: critic.Value, played) -> list[float]:
    """Value the state before each sampled token, each episode alone and without padding."""
    found = []
    for each in played:
        ids, places = [], []
        for part in each.turns:
            ids += part.context_ids
            places += range(len(ids), len(ids) + len(part.action_ids))
            ids += part.action_ids
        body, head = one.network["body"], one.network["head"]
        hidden = body(input_ids=torch.tensor([ids])).last_hidden_state[0]
        found += head(hidden)[[place - 1 for place in places], 0].tolist()
    return found


@pytest.mark.parametrize("micro", [None, 1, 2])
def test_values_stand_before_their_tokens_whatever_the_padding(nano_folder, micro):
    one = unlike_zero(value(nano_folder, micro=micro))
    steps = critic.lay(PLAYED, REWARDS, "token")
    with torch.no_grad():
        got = one._values(laid(PLAYED), steps).tolist()
        np.testing.assert_allclose(got, by_hand(one, PLAYED[:2]), atol=1e-5)
    assert np.std(got) > 0.1


def test_gae_over_tokens_by_hand(nano_folder):
    settings = replace(SETTINGS, discount=0.9, trace=0.8)
    one = unlike_zero(value(nano_folder, settings))
    with torch.no_grad():
        values = by_hand(one, PLAYED[:2])
    advantages = []
    for low, high, last in ((0, 3, 1.0), (3, 8, 0.5)):
        v, rewards = [*values[low:high], 0.0], [0.0] * (high - low - 1) + [last]
        gap, found = 0.0, []
        for place in range(high - low - 1, -1, -1):
            gap = rewards[place] + 0.9 * v[place + 1] - v[place] + 0.9 * 0.8 * gap
            found.append(gap)
        advantages += found[::-1]
    white = (np.array(advantages) - np.mean(advantages)) / (np.std(advantages, ddof=1) + 1e-4)
    credit, _ = one.credit(laid(PLAYED), PLAYED, REWARDS)
    np.testing.assert_allclose(credit[0, [0, 1, 4]], white[:3], atol=1e-4)
    np.testing.assert_allclose(credit[1, [0, 1, 2, 4, 5]], white[3:], atol=1e-4)
    assert not credit[2].any()


def test_more_text_of_the_environment_does_not_discount(nano_folder):
    """A critic that knows nothing, so that only the recursion speaks."""
    settings = replace(SETTINGS, discount=0.5)
    longer = [
        replace(
            one,
            turns=[
                replace(part, context_ids=part.context_ids + [3] * 5 * number)
                for number, part in enumerate(one.turns)
            ],
        )
        for one in PLAYED
    ]
    short, _ = value(nano_folder, settings).credit(laid(PLAYED), PLAYED, REWARDS)
    long, _ = value(nano_folder, settings).credit(laid(longer), longer, REWARDS)
    np.testing.assert_allclose(short[short != 0], long[long != 0], atol=1e-12)
    assert len(np.unique(short[short != 0].round(9))) > 3


@pytest.mark.parametrize("settings", [replace(SETTINGS, epochs=3), replace(TURNS, epochs=2)])
def test_a_critic_learns_the_returns(nano_folder, settings):
    one = value(nano_folder, settings, micro=2)
    found = [one.credit(laid(PLAYED), PLAYED, REWARDS)[1] for _ in range(60)]
    assert found[-1]["critic_loss"] < 0.05 * found[0]["critic_loss"]
    assert found[-1]["explained_variance"] > 0.8


def test_parts_do_not_change_what_is_learnt(nano_folder):
    critics = [value(nano_folder, SETTINGS, micro) for micro in (None, 1)]
    for one in critics:
        for _ in range(3):
            one.credit(laid(PLAYED), PLAYED, REWARDS)
    with torch.no_grad():
        steps = critic.lay(PLAYED, REWARDS, "token")
        found = [one._values(laid(PLAYED), steps) for one in critics]
    torch.testing.assert_close(*found, atol=1e-3, rtol=0)


def test_a_value_that_has_moved_far_in_a_batch_stays(nano_folder):
    """Beyond the clip the loss is flat, so more updates of one batch add nothing."""
    near, far = (
        value(nano_folder, replace(SETTINGS, clip=clip, epochs=40, learning_rate=1e-2))
        for clip in (1e-3, 10.0)
    )
    steps = critic.lay(PLAYED, REWARDS, "token")
    goal = np.array([1.0] * 3 + [0.5] * 5)
    gaps = []
    for one in (near, far):
        one.credit(laid(PLAYED), PLAYED, REWARDS)
        with torch.no_grad():
            gaps.append(np.abs(one._values(laid(PLAYED), steps).numpy() - goal).mean())
    assert gaps[1] < 0.1 < gaps[0]


def test_a_batch_without_a_scored_episode_teaches_nothing(nano_folder):
    one = value(nano_folder)
    before = [weight.clone() for weight in one.network.parameters()]
    credit, curves = one.credit(laid(PLAYED[2:]), PLAYED[2:], [None])
    assert not credit.any()
    assert np.isnan(curves["critic_loss"])
    assert all(map(torch.equal, before, one.network.parameters()))


def test_a_critic_goes_on_where_it_was_saved(nano_folder, tmp_path):
    one, other = value(nano_folder), value(nano_folder)
    one.credit(laid(PLAYED), PLAYED, REWARDS)
    one.save(tmp_path)
    other.load(tmp_path)
    for each in (one, other):
        each.credit(laid(PLAYED), PLAYED, REWARDS)
    assert all(map(torch.equal, one.network.parameters(), other.network.parameters()))


def test_a_critic_shares_no_weight_with_the_policy(nano_folder):
    model = AutoModelForCausalLM.from_pretrained(nano_folder)
    before = [weight.clone() for weight in model.parameters()]
    one = value(nano_folder)
    one.credit(laid(PLAYED), PLAYED, REWARDS)
    assert all(map(torch.equal, before, model.parameters()))
    places = {weight.data_ptr() for weight in model.parameters()}
    assert not places & {weight.data_ptr() for weight in one.network.parameters()}


def test_a_critic_that_diverges_stops_before_its_weights_are_spoilt(nano_folder):
    one = value(nano_folder)
    before = [weight.clone() for weight in one.network.parameters()]
    with pytest.raises(FloatingPointError, match="critic's loss is inf"):
        one.credit(laid(PLAYED), PLAYED, [[0.0, 1e30], [0.0, 0.0], None])
    assert all(map(torch.equal, before, one.network.parameters()))
