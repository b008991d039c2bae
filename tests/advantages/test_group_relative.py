from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.advantages.by_hand import batch, batches, reordered, take
from turnscope.advantages import EPSILON, deviation, group_relative, returns, standardise


def test_returns_are_summed_by_episode():
    return_E, group_E = returns(batch([[1, 0.5], [0], [0, 0, 2]], [4, 4, 7]))
    assert return_E.tolist() == [1.5, 0, 2]
    assert group_E.tolist() == [4, 4, 7]


def test_numbers_of_episodes_may_have_gaps():
    """Where an environment failed, there is no turn of that episode."""
    gaps = replace(batch([[1.0], [0.0]], [0, 0]), episode_N=np.array([3, 8]))
    assert returns(gaps)[0].tolist() == [1, 0]
    assert group_relative(gaps, scale="none").tolist() == [0.5, -0.5]


def test_a_group_of_two_by_hand():
    # Returns 1 and 0: mean 1/2, sample standard deviation sqrt(1/2).
    value = 0.5 / (0.5**0.5 + 1e-4)
    advantage_N = group_relative(batch([[0, 1], [0, 0, 0]], [0, 0]))
    np.testing.assert_allclose(advantage_N, [value, value, -value, -value, -value], rtol=1e-14)


def test_a_group_of_three_by_hand():
    # Returns 1, 0, 0: mean 1/3, squared deviations 4/9 + 1/9 + 1/9 = 2/3 over 2 = 1/3.
    deviation = 3**-0.5 + 1e-4
    advantage_N = group_relative(batch([[1], [0, 0], [0]], [0, 0, 0]))
    np.testing.assert_allclose(
        advantage_N, np.array([2 / 3, -1 / 3, -1 / 3, -1 / 3]) / deviation, rtol=1e-14
    )


def test_groups_are_compared_within_themselves():
    advantage_N = group_relative(batch([[5], [4], [1], [0]], [0, 0, 1, 1]), scale="none")
    assert advantage_N.tolist() == [0.5, -0.5, 0.5, -0.5]


def test_scale_batch_divides_by_the_spread_of_all_returns():
    # Returns 3, 1, 0, 0: mean 1, squared deviations 4 + 0 + 1 + 1 = 6 over 3 = 2.
    advantage_N = group_relative(batch([[3], [1], [0], [0]], [0, 0, 1, 1]), scale="batch")
    np.testing.assert_allclose(advantage_N, np.array([1, -1, 0, 0]) / (2**0.5 + 1e-4), rtol=1e-14)


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_equal_returns_and_a_lonely_episode_earn_nothing(scale):
    advantage_N = group_relative(batch([[1], [1], [1], [7]], [0, 0, 0, 1]), scale=scale)
    assert advantage_N.tolist() == [0, 0, 0, 0]
    assert group_relative(batch([[3, 4]], [0]), scale=scale).tolist() == [0, 0]


def test_an_unknown_scale_is_refused_in_one_line():
    with pytest.raises(ValueError, match=r"'std'.*group, batch, none") as caught:
        standardise(np.zeros(2), np.zeros(2, dtype=int), "std")
    assert "\n" not in str(caught.value)


def test_nothing_gives_nothing():
    empty = standardise(np.zeros(0), np.zeros(0, dtype=int), "group")
    assert empty.shape == (0,)


values = hnp.arrays(np.float64, st.integers(1, 30), elements=st.integers(-50, 50).map(float))


@given(values, st.integers(1, 4), st.sampled_from(["group", "batch", "none"]), st.integers(-99, 99))
def test_a_constant_added_to_all_rewards_changes_nothing(values_M, groups, scale, constant):
    group_M = np.arange(len(values_M)) % groups
    moved = standardise(values_M + constant, group_M, scale)
    np.testing.assert_allclose(moved, standardise(values_M, group_M, scale), atol=1e-9)


@given(values, st.integers(1, 4), st.sampled_from(["group", "batch", "none"]))
def test_each_group_sums_to_nothing(values_M, groups, scale):
    group_M = np.arange(len(values_M)) % groups
    advantage_M = standardise(values_M, group_M, scale)
    sums = np.bincount(group_M, weights=advantage_M)
    np.testing.assert_allclose(sums, 0, atol=1e-7)


@given(values, st.integers(1, 4), st.sampled_from(["group", "batch", "none"]))
def test_the_order_of_the_rows_does_not_matter(values_M, groups, scale):
    group_M = np.arange(len(values_M)) % groups
    order = np.argsort(np.cos(np.arange(len(values_M))))
    np.testing.assert_allclose(
        standardise(values_M[order], group_M[order], scale),
        standardise(values_M, group_M, scale)[order],
        atol=1e-9,
    )


@given(values)
def test_one_group_equals_the_textbook(values_M):
    if len(values_M) < 2:
        return
    expected = (values_M - values_M.mean()) / (values_M.std(ddof=1) + EPSILON)
    actual = standardise(values_M, np.zeros(len(values_M), dtype=int), "group")
    np.testing.assert_allclose(actual, expected, atol=1e-9)


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5), min_size=1, max_size=8))
def test_all_turns_of_an_episode_share_its_credit(rewards):
    made = batch([[float(r) for r in episode] for episode in rewards], [0] * len(rewards))
    advantage_N = group_relative(made)
    for number in range(len(rewards)):
        assert len(set(advantage_N[made.episode_N == number])) == 1


@given(batches(), st.integers(0, 99))
def test_shuffled_episodes_keep_their_credit(made, seed):
    order = reordered(made, seed)
    moved = take(made, order)
    _, moved_N = np.unique(moved.episode_N, return_inverse=True)
    np.testing.assert_allclose(group_relative(moved), group_relative(made)[order], atol=1e-12)
    np.testing.assert_allclose(returns(moved)[0][moved_N], returns(made)[0][moved_N])


@pytest.mark.parametrize("value", [0.7, 0.1, 0.55, 0.9])
@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_a_group_of_equal_returns_earns_exactly_nothing(value, scale):
    """Although the mean of eight equal numbers may differ from them by rounding."""
    found = standardise(np.array([value] * 8 + [0.0, 1.0]), np.array([0] * 8 + [1] * 2), scale)
    assert not found[:8].any()
    assert found[8] < 0 < found[9]


def test_deviations_by_hand():
    values, group = np.array([1.0, 3.0, 5.0]), np.array([4, 4, 9])
    np.testing.assert_allclose(deviation(values, group, "group"), [2**0.5 + 1e-4] * 2 + [1e-4])
    assert deviation(values, group, "batch").tolist() == [2 + 1e-4] * 3
    assert deviation(values, group, "none").tolist() == [1, 1, 1]
    assert deviation(values[:1], group[:1], "batch").tolist() == [1e-4]
