import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnscope import estimators

COUNTS = st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


def one(estimator, n, c, k):
    return float(estimator(np.array([n]), np.array([[c]]), [k])[0, 0, 0])


def binomial(n, p):
    return np.array([math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)])


def test_one_success_in_four_draws_of_two():
    # of the 6 pairs out of 4 episodes, 3 hold the solved one
    assert one(estimators.pass_at_k, 4, 1, 2) == pytest.approx(0.5)
    assert one(estimators.pass_hat_k, 4, 3, 2) == pytest.approx(0.5)


def test_drawing_all_episodes_finds_the_solved_one():
    # drawing 4 of 4 with replacement would find it with probability 0.68 only
    assert one(estimators.pass_at_k, 4, 1, 4) == 1.0


def test_more_draws_than_episodes_has_no_value():
    assert math.isnan(one(estimators.pass_at_k, 4, 0, 5))
    assert math.isnan(one(estimators.pass_at_k, 4, 4, 5))
    assert math.isnan(one(estimators.pass_hat_k, 4, 4, 5))
    assert math.isnan(one(estimators.pass_at_k, 0, 0, 1))


def test_never_solved_is_zero_and_always_solved_is_one():
    ks = [1, 3, 8]
    never = estimators.pass_at_k(np.array([8]), np.array([[0]]), ks)
    always = estimators.pass_at_k(np.array([8]), np.array([[8]]), ks)
    assert (never == 0).all()
    assert (always == 1).all()


@given(COUNTS, st.integers(1, 40))
def test_agrees_with_binomial_coefficients(counts, k):
    n, c = counts
    if k > n:
        assert math.isnan(one(estimators.pass_at_k, n, c, k))
    else:
        fail = math.comb(n - c, k) / math.comb(n, k)
        assert one(estimators.pass_at_k, n, c, k) == pytest.approx(1 - fail, abs=1e-12)
        succeed = math.comb(c, k) / math.comb(n, k)
        assert one(estimators.pass_hat_k, n, c, k) == pytest.approx(succeed, abs=1e-12)


@given(st.integers(1, 40))
def test_never_falls_with_k_or_with_solves(n):
    solves = np.arange(n + 1)[None, :]
    surface = estimators.pass_at_k(np.array([n]), solves, range(1, n + 1))[0]
    assert (np.diff(surface, axis=0) >= 0).all()
    assert (np.diff(surface, axis=1) >= 0).all()


@given(st.integers(1, 12), st.floats(0.01, 0.99))
def test_unbiased_for_every_k(n, p):
    solves = np.arange(n + 1)[:, None]
    surface = estimators.pass_at_k(np.full(n + 1, n), solves, range(1, n + 1))[..., 0]
    expected = 1 - (1 - p) ** np.arange(1, n + 1)
    assert binomial(n, p) @ surface == pytest.approx(expected)


@pytest.mark.parametrize(("n", "expected"), [(8, 0.245), (16, 0.099), (32, 0.045), (64, 0.021)])
def test_variance_of_pass_at_8_for_a_task_solved_with_probability_one_tenth(n, expected):
    solves = np.arange(n + 1)[:, None]
    fail = estimators.all_fail(np.full(n + 1, n), solves, [8])[:, 0, 0]
    true = binomial(n, 0.1) @ fail**2 - 0.9**16
    assert true == pytest.approx(expected, abs=5e-4)
    plug_in = estimators.variance(np.full(n + 1, n), solves, [8])[:, 0, 0]
    if n < 16:
        assert np.isnan(plug_in).all()
    else:
        assert binomial(n, 0.1) @ plug_in == pytest.approx(true)


def test_tasks_may_have_different_numbers_of_episodes():
    n, c = np.array([4, 2]), np.array([[1], [1]])
    surface = estimators.pass_at_k(n, c, [1, 2, 3])[..., 0]
    assert surface[0] == pytest.approx([0.25, 0.5, 0.75])
    # repeating the two episodes of the second task up to four would give 1 at k = 3
    assert surface[1] == pytest.approx([0.5, 1.0, np.nan], nan_ok=True)


@pytest.mark.parametrize(("n", "c", "k"), [(4, 5, 1), (4, -1, 1), (4, 1, 0)])
def test_impossible_counts_are_refused(n, c, k):
    with pytest.raises(ValueError, match="must"):
        one(estimators.pass_at_k, n, c, k)
