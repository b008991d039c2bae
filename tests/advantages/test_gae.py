import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnscope.advantages.gae import gae, spread, to_go, token_rewards, whiten

unit = st.integers(0, 10).map(lambda tenth: tenth / 10)
number = st.integers(-20, 20).map(float)


@st.composite
def steps(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw rewards, values, and the episodes they belong to."""
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    total = sum(lengths)
    reward = draw(st.lists(number, min_size=total, max_size=total))
    value = draw(st.lists(number, min_size=total, max_size=total))
    return np.array(reward), np.array(value), np.repeat(np.arange(len(lengths)), lengths)


def plain(reward, value, mask, discount, trace):
    """GAE of one padded row in a loop, where text of the environment (mask 0) is passed over."""
    advantage, ahead, following = np.zeros(len(reward)), 0.0, 0.0
    for at in reversed(range(len(reward))):
        if mask[at]:
            error = reward[at] + discount * following - value[at]
            ahead = error + discount * trace * ahead
            following = value[at]
            advantage[at] = ahead
    return advantage


def test_two_steps_by_hand():
    # Errors: 0 + .9 x .25 - .5 = -.275 and 1 - .25 = .75; -.275 + .9 x .8 x .75 = .265.
    reward, value, episode = np.array([0.0, 1.0]), np.array([0.5, 0.25]), np.array([0, 0])
    advantage, target = gae(reward, value, episode, discount=0.9, trace=0.8)
    np.testing.assert_allclose(advantage, [0.265, 0.75], rtol=1e-14)
    np.testing.assert_allclose(target, [0.765, 1.0], rtol=1e-14)


def test_an_episode_ends_where_the_next_begins():
    # Both of one step; numbers need not rise. Nothing of 100 is worth anything before it.
    reward, value = np.array([1.0, 100.0]), np.array([0.25, 50.0])
    advantage, target = gae(reward, value, np.array([5, 2]), discount=1.0, trace=1.0)
    assert advantage.tolist() == [0.75, 50.0]
    assert target.tolist() == [1.0, 100.0]


def test_the_end_of_the_budget_is_worth_nothing():
    # No payment: the last value is all wrong, whatever ended the episode.
    advantage, target = gae(
        np.zeros(2), np.array([0.5, 0.5]), np.zeros(2, int), discount=1.0, trace=0.0
    )
    assert advantage.tolist() == [0.0, -0.5]
    assert target.tolist() == [0.5, 0.0]


def test_nothing_gives_nothing():
    advantage, target = gae(
        np.zeros(0), np.zeros(0), np.zeros(0, dtype=int), discount=1.0, trace=1.0
    )
    assert advantage.shape == target.shape == (0,)
    assert whiten(advantage).shape == (0,)


def test_torn_episodes_are_refused():
    with pytest.raises(ValueError, match="must follow each other"):
        gae(np.zeros(3), np.zeros(3), np.array([0, 1, 0]), discount=1.0, trace=1.0)


@given(steps())
def test_without_a_critic_it_is_the_return_to_go(batch):
    reward, _, episode = batch
    advantage, target = gae(reward, np.zeros(len(reward)), episode, discount=1.0, trace=1.0)
    expected = [
        sum(reward[later] for later in range(at, len(reward)) if episode[later] == episode[at])
        for at in range(len(reward))
    ]
    np.testing.assert_allclose(advantage, expected, atol=1e-9)
    np.testing.assert_array_equal(advantage, target)


@given(steps(), unit, unit)
def test_it_equals_the_loop(batch, discount, trace):
    reward, value, episode = batch
    advantage, target = gae(reward, value, episode, discount=discount, trace=trace)
    for one in np.unique(episode):
        rows = episode == one
        expected = plain(reward[rows], value[rows], np.ones(rows.sum()), discount, trace)
        np.testing.assert_allclose(advantage[rows], expected, atol=1e-9)
    np.testing.assert_allclose(target, advantage + value)


@given(steps(), unit, unit, st.integers(0, 99))
def test_text_of_the_environment_changes_nothing(batch, discount, trace, seed):
    """The loop over all tokens, with text of the environment between, equals ours without it."""
    reward, value, _ = batch
    noise = np.random.Generator(np.random.PCG64(seed))
    where = np.repeat(np.arange(len(reward)), 1 + noise.integers(0, 3, len(reward)))
    policy = np.append(where[1:] != where[:-1], True)  # the last token of each run is the policy's
    padded_reward = np.where(policy, reward[where], 0.0)
    padded_value = np.where(policy, value[where], noise.normal(size=len(where)))
    expected = plain(padded_reward, padded_value, policy, discount, trace)[policy]
    episode = np.zeros(len(reward), dtype=int)
    advantage, _ = gae(reward, value, episode, discount=discount, trace=trace)
    np.testing.assert_allclose(advantage, expected, atol=1e-9)


@given(steps(), unit, unit, st.integers(0, 99))
def test_shuffled_episodes_keep_their_credit(batch, discount, trace, seed):
    reward, value, episode = batch
    shuffled = np.random.Generator(np.random.PCG64(seed)).permutation(np.unique(episode))
    order = np.concatenate([np.flatnonzero(episode == one) for one in shuffled])
    options = {"discount": discount, "trace": trace}
    moved, _ = gae(reward[order], value[order], episode[order], **options)
    np.testing.assert_array_equal(moved, gae(reward, value, episode, **options)[0][order])


@given(steps(), st.data())
def test_how_a_turn_falls_into_tokens_does_not_matter(batch, data):
    """Without discounting, and with the value of a turn at each of its tokens, levels agree."""
    reward, value, episode = batch
    size = len(reward)
    tokens = np.array(data.draw(st.lists(st.integers(1, 4), min_size=size, max_size=size)))
    turns, _ = gae(reward, value, episode, discount=1.0, trace=1.0)
    by_token, _ = gae(
        token_rewards(reward, tokens),
        spread(value, tokens),
        np.repeat(episode, tokens),
        discount=1.0,
        trace=1.0,
    )
    np.testing.assert_allclose(by_token, spread(turns, tokens), atol=1e-9)


def test_a_turn_is_paid_at_its_last_token():
    paid = token_rewards(np.array([0.0, 1.0, 0.5]), np.array([2, 3, 1]))
    assert paid.tolist() == [0, 0, 0, 0, 1, 0.5]
    assert spread(np.array([7.0, 8.0]), np.array([2, 1])).tolist() == [7, 7, 8]
    with pytest.raises(ValueError, match="turn 1 has 0 tokens"):
        token_rewards(np.array([1.0, 1.0]), np.array([1, 0]))


def test_whitening_by_hand():
    # Mean 2, squares 1 + 0 + 1 over 2.
    np.testing.assert_allclose(
        whiten(np.array([1.0, 2.0, 3.0])), np.array([-1, 0, 1]) / 1.0001, rtol=1e-14
    )
    assert whiten(np.array([4.0])).tolist() == [0]
    assert whiten(np.array([4.0, 4.0])).tolist() == [0, 0]


def test_what_is_to_go_by_hand():
    reward, episode = np.array([1.0, 2.0, 4.0, 8.0]), np.array([0, 0, 0, 3])
    assert to_go(reward, episode).tolist() == [7, 6, 4, 8]
    assert to_go(reward, episode, discount=0.5).tolist() == [3, 4, 4, 8]
