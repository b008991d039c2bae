import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.advantages.by_hand import batch, batches, reordered, take
from turnscope.advantages import group_relative
from turnscope.advantages.anytime import anytime

# The first is solved at turn 2, the second is not within 4 turns.
PAIR = batch([[0, 1], [0, 0, 0, 0]], [0, 0])
THREE = {"budgets": (1, 2, 4), "weights": (0.5, 0.25, 0.25)}


def test_by_hand():
    # Solved within 1, 2, 4: no, yes, yes. Ahead of the segments: .5, .5, .25; of the second: 0.
    # Means: .25, .25, .125, the first episode counted in the last although it is over by then.
    advantage_N = anytime(PAIR, **THREE)
    assert advantage_N.tolist() == [0.25, 0.25, -0.25, -0.25, -0.125, -0.125]


def test_by_hand_with_deviations():
    first, last = 0.125**0.5 + 1e-4, 0.03125**0.5 + 1e-4  # of .5, 0 and of .25, 0
    expected = [0.25 / first] * 2 + [-0.25 / first] * 2 + [-0.125 / last] * 2
    np.testing.assert_allclose(anytime(PAIR, **THREE, scale="group"), expected, rtol=1e-13)


def test_a_solved_episode_is_worth_the_probability_of_a_budget_that_reaches_its_end():
    # Solved at 1, 2, 3, 4: P(B >= turn) is 1, .5, .25, .25; the mean of the first segment .5.
    solved = batch([[1], [0, 1], [0, 0, 1], [0, 0, 0, 1]], [0] * 4)
    first_N = anytime(solved, **THREE)[solved.turn_N == 0]
    np.testing.assert_allclose(first_N, np.array([1, 0.5, 0.25, 0.25]) - 0.5, rtol=1e-14)


def test_turns_after_the_last_budget_earn_nothing():
    advantage_N = anytime(PAIR, budgets=(2,), weights=(1.0,))
    assert advantage_N.tolist() == [0.5, 0.5, -0.5, -0.5, 0, 0]


def test_a_repeated_budget_counts_as_often_as_it_is_drawn():
    twice = anytime(PAIR, budgets=(2, 2, 4), weights=(0.5, 0.25, 0.25))
    once = anytime(PAIR, budgets=(2, 4), weights=(0.75, 0.25))
    np.testing.assert_allclose(twice, once, rtol=1e-14)


@pytest.mark.parametrize("scale", ["group", "none"])
def test_lonely_and_equal_episodes_earn_nothing(scale):
    assert anytime(batch([[0, 1]], [0]), **THREE, scale=scale).tolist() == [0, 0]
    assert anytime(batch([[1], [1]], [0, 0]), **THREE, scale=scale).tolist() == [0, 0]
    assert anytime(batch([[0], [0, 0, 0]], [0, 0]), **THREE, scale=scale).tolist() == [0] * 4


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="2 budgets have 1 weights"):
        anytime(PAIR, budgets=(1, 2), weights=(1.0,))
    with pytest.raises(ValueError, match=r"\[2, 1\] do not rise"):
        anytime(PAIR, budgets=(2, 1), weights=(0.5, 0.5))


@given(batches(), st.sampled_from(["group", "batch", "none"]))
def test_one_budget_that_reaches_all_turns_is_grpo(made, scale):
    advantage_N = anytime(made, budgets=(9,), weights=(1.0,), scale=scale)
    np.testing.assert_allclose(advantage_N, group_relative(made, scale=scale), atol=1e-12)


@given(batches(), st.integers(0, 99))
def test_shuffled_episodes_keep_their_credit(made, seed):
    order = reordered(made, seed)
    moved = anytime(take(made, order), **THREE)
    np.testing.assert_allclose(moved, anytime(made, **THREE)[order], atol=1e-12)
