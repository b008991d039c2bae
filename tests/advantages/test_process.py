import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.advantages.by_hand import batch, batches, reordered, take
from turnscope.advantages import group_relative
from turnscope.advantages.process import process_relative

PAIR = batch([[0, 1], [0]], [0, 0], process=[[-0.3, 0.0], [-0.6]])


def test_by_hand_with_means_alone():
    # Given away from the first turn on: -.3 and -.6, mean -.45; from the second on nothing.
    advantage_N = process_relative(PAIR, weight=2.0, scale="none")
    np.testing.assert_allclose(advantage_N, [0.5 + 0.3, 0.5, -0.5 - 0.3], rtol=1e-13)


def test_by_hand_with_deviations():
    # Of what episodes gave away: .15 and -.15 from the mean, squares .045 over 1.
    episode, first = 0.5 / (0.5**0.5 + 1e-4), 0.15 / (0.045**0.5 + 1e-4)
    expected = [episode + first, episode, -episode - first]
    np.testing.assert_allclose(process_relative(PAIR), expected, rtol=1e-12)


def test_a_turn_answers_for_those_that_follow():
    long = batch([[0, 0, 0], [0]], [0, 0], process=[[-0.1, -0.2, -0.3], [0.0]])
    # -.6, -.5, -.3 against 0: half of each
    advantage_N = process_relative(long, scale="none")
    np.testing.assert_allclose(advantage_N, [-0.3, -0.25, -0.15, 0.3], rtol=1e-13)


def test_waiting_until_it_is_too_late_does_not_pay():
    """Five turns for one move: to wait costs nothing by itself until the last turn."""
    waits, goes = [0.0, 0.0, 0.0, 0.0, -1.0], [0.0]
    both = batch([[0, 0, 0, 0, 0], [1]], [0, 0], process=[waits, goes])
    advantage_N = process_relative(both, scale="none") - group_relative(both, scale="none")
    np.testing.assert_allclose(advantage_N, [-0.5] * 5 + [0.5], rtol=1e-13)


def test_turns_after_which_nothing_is_left_to_lose_earn_nothing():
    """Else whatever a policy does when all is lost would be praised."""
    process = [[-1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0]]
    lost = batch([[0] * 4, [0] * 3, [0]], [0, 0, 0], process=process)
    advantage_N = process_relative(lost, scale="none")
    expected = [-1 / 3, 0, 0, 0, -1 / 3, 0, 0, 2 / 3]
    np.testing.assert_allclose(advantage_N, expected, rtol=1e-13)


def test_a_lonely_episode_earns_nothing():
    alone = batch([[0, 0]], [0], process=[[-0.2, -0.1]])
    assert process_relative(alone).tolist() == [0, 0]


def test_equally_good_turns_leave_the_outcome():
    best = batch([[0, 1], [0]], [0, 0], process=[[0.0, 0.0], [0.0]])
    np.testing.assert_array_equal(process_relative(best), group_relative(best))


def test_groups_are_compared_within_themselves():
    two = batch([[0], [0], [0], [0]], [0, 0, 1, 1], process=[[0.0], [-1.0], [-0.5], [-0.7]])
    np.testing.assert_allclose(process_relative(two, scale="none"), [0.5, -0.5, 0.1, -0.1])


def test_an_unknown_quality_is_refused_in_one_line():
    with pytest.raises(ValueError, match="NaN for 1 of 2 turns") as caught:
        process_relative(batch([[0, 1]], [0], process=[[np.nan, 0.0]]))
    assert "\n" not in str(caught.value)


@given(batches(), st.sampled_from(["group", "batch", "none"]))
def test_weight_0_is_grpo(made, scale):
    advantage_N = process_relative(made, weight=0, scale=scale)
    np.testing.assert_array_equal(advantage_N, group_relative(made, scale=scale))


@given(batches(), st.integers(0, 99))
def test_shuffled_episodes_keep_their_credit(made, seed):
    order = reordered(made, seed)
    moved = process_relative(take(made, order))
    np.testing.assert_allclose(moved, process_relative(made)[order], atol=1e-11)


def test_the_spread_is_of_the_group_or_of_the_batch():
    apart = batch([[0], [0], [0], [0]], [0, 0, 1, 1], process=[[0.0], [-1.0], [-0.2], [-0.4]])
    grouped = [0.5 / (0.5**0.5 + 1e-4), 0.1 / (0.02**0.5 + 1e-4)]
    np.testing.assert_allclose(process_relative(apart)[[0, 2]], grouped, rtol=1e-12)
    spread = np.std([0.0, -1.0, -0.2, -0.4], ddof=1) + 1e-4
    whole = process_relative(apart, scale="batch")[[0, 2]]
    np.testing.assert_allclose(whole, [0.5 / spread, 0.1 / spread], rtol=1e-12)
