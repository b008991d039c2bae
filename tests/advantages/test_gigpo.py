import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.advantages.by_hand import batch, batches, reordered, take
from turnscope.advantages import group_relative
from turnscope.advantages.anchors import ANCHORS, anchors
from turnscope.advantages.gigpo import group_in_group

# To go with discount 1/2: 1/2, 1 in the first episode; nothing in the second.
PAIR = batch([[0, 1], [0, 0, 0]], [0, 0], states=[[0, 1], [0, 0, 1]])


def test_by_hand_with_means_alone():
    # State 0 is left with 1/2, 0, 0 to go: mean 1/6. State 1 with 1, 0: mean 1/2.
    advantage_N = group_in_group(PAIR, scale="none", discount=0.5)
    episode, state = [0.5, 0.5, -0.5, -0.5, -0.5], [1 / 3, 0.5, -1 / 6, -1 / 6, -0.5]
    np.testing.assert_allclose(advantage_N, np.add(episode, state), rtol=1e-14)


def test_by_hand_with_deviations():
    # State 0: squares 1/9 + 1/36 + 1/36 = 1/6 over 2. State 1: 1/4 + 1/4 over 1.
    advantage_N = group_in_group(PAIR, discount=0.5, weight=2.0)
    episode = 0.5 / (0.5**0.5 + 1e-4)
    first, second = 12**-0.5 + 1e-4, 0.5**0.5 + 1e-4
    expected = [
        episode + 2 / 3 / first,
        episode + 1 / second,
        -episode - 1 / 3 / first,
        -episode - 1 / 3 / first,
        -episode - 1 / second,
    ]
    np.testing.assert_allclose(advantage_N, expected, rtol=1e-13)


def test_by_hand_where_the_turns_left_count_too():
    # With 9 turns left both are in state 0; every other turn is alone.
    advantage_N = group_in_group(PAIR, anchor="state+remaining", scale="none", discount=0.5)
    np.testing.assert_allclose(advantage_N, [0.75, 0.5, -0.75, -0.5, -0.5], rtol=1e-14)


def test_statistics_over_steps_count_long_episodes_more():
    # Returns of the five rows: 1, 1, 0, 0, 0: mean 2/5, squares 2 x .36 + 3 x .16 = 1.2 over 4.
    plain = group_in_group(PAIR, scale="none", weight=0, episode_stats="steps")
    np.testing.assert_allclose(plain, [0.6, 0.6, -0.4, -0.4, -0.4], rtol=1e-14)
    scaled = group_in_group(PAIR, weight=0, episode_stats="steps")
    np.testing.assert_allclose(scaled, plain / (0.3**0.5 + 1e-4), rtol=1e-13)


def test_the_episode_part_is_not_discounted():
    late = batch([[0, 0, 1], [0, 0, 0]], [0, 0], states=[[0, 1, 2], [3, 4, 5]])
    advantage_N = group_in_group(late, scale="none", discount=0.1)
    assert advantage_N.tolist() == [0.5, 0.5, 0.5, -0.5, -0.5, -0.5]


def test_equal_states_of_different_tasks_are_not_compared():
    apart = batch([[1], [0]], [0, 1], states=[[7], [7]])
    assert anchors(apart).tolist() == [0, 1]
    assert group_in_group(apart).tolist() == [0, 0]


@pytest.mark.parametrize("stats", ["episodes", "steps"])
@pytest.mark.parametrize("anchor", ANCHORS)
@pytest.mark.parametrize("scale", ["group", "none"])
def test_lonely_and_equal_episodes_earn_nothing(anchor, scale, stats):
    options = {"anchor": anchor, "scale": scale, "episode_stats": stats}
    alone = batch([[3.0]], [0])
    assert group_in_group(alone, **options).tolist() == [0]
    equal = batch([[1.0], [1.0], [1.0]], [0, 0, 0])
    assert group_in_group(equal, **options).tolist() == [0, 0, 0]
    unpaid = batch([[0, 0], [0, 0, 0]], [0, 0], states=[[0, 1], [1, 0, 1]])
    assert group_in_group(unpaid, **options).tolist() == [0, 0, 0, 0, 0]


def test_what_is_unknown_is_refused_in_one_line():
    with pytest.raises(ValueError, match=r"'text'.*state, state\+remaining"):
        anchors(PAIR, "text")
    with pytest.raises(ValueError, match=r"'rows'.*episodes, steps"):
        group_in_group(PAIR, episode_stats="rows")


@given(batches(), st.sampled_from(ANCHORS), st.sampled_from(["group", "batch", "none"]))
def test_weight_0_is_grpo(made, anchor, scale):
    advantage_N = group_in_group(made, anchor=anchor, scale=scale, weight=0)
    np.testing.assert_array_equal(advantage_N, group_relative(made, scale=scale))


@given(batches(), st.sampled_from(ANCHORS), st.integers(0, 99))
def test_shuffled_episodes_keep_their_credit(made, anchor, seed):
    order = reordered(made, seed)
    moved = group_in_group(take(made, order), anchor=anchor)
    np.testing.assert_allclose(moved, group_in_group(made, anchor=anchor)[order], atol=1e-11)


@given(batches(), st.sampled_from(ANCHORS))
def test_the_comparison_within_a_state_sums_to_nothing(made, anchor):
    state_N = group_in_group(made, anchor=anchor, scale="none") - group_relative(made, scale="none")
    sums = np.bincount(anchors(made, anchor), weights=state_N)
    np.testing.assert_allclose(sums, 0, atol=1e-9)
