import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnscope import contrasts

NONE = float("nan")
STATES = 40_000
TIE = 0.01


def rng(seed=0):
    return np.random.Generator(np.random.PCG64(seed))


def coins(p_S, seed=0, actions=16):
    """Draw actions that are good with some probability in each state, of two equal policies."""
    base, trained = (rng(seed).random((2, len(p_S), actions)) < p_S[:, None]).astype(float)
    return base, trained


@st.composite
def duels(draw):
    """Draw up to 6 states with up to 5 actions a side, some missing, and the best quality."""
    states, actions = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    quality = st.sampled_from([0.0, 0.2, 0.5, 0.505, 1.0, NONE])
    sides = st.lists(quality, min_size=states * actions, max_size=states * actions)
    base, trained = (np.array(draw(sides)).reshape(states, actions) for _ in range(2))
    return base, trained, np.ones(states)


def test_differences_by_hand():
    base = np.array([[0.2, 0.4, NONE], [0.5, 0.5, 0.5], [NONE] * 3, [1.0, 0.0, 0.0]])
    trained = np.array([[0.5, NONE, 0.3], [0.5, 0.5, 0.5], [1.0] * 3, [0.0, 0.3, 0.0]])
    best = np.array([0.5, 0.5, 1.0, NONE])
    assert contrasts.mean(base) == pytest.approx([0.3, 0.5, NONE, 1 / 3], nan_ok=True)
    assert contrasts.gap(base, trained) == pytest.approx([0.1, 0, NONE, -0.7 / 3], nan_ok=True)
    # of the pairs with 0.2 and 0.4: 0.5 wins both, 0.3 one; of the last, by rows of the trained
    # policy: 0 loses once and ties twice, 0.3 loses once and wins twice, 0 as before
    expected = [3 / 4, 0.5, NONE, (1 + 2 + 1) / 9]
    assert contrasts.win(base, trained) == pytest.approx(expected, nan_ok=True)
    found = contrasts.optimal(base, trained, best)
    assert found == pytest.approx([0.5, 0, NONE, NONE], nan_ok=True)


def test_a_difference_up_to_the_margin_is_a_tie():
    gaps = np.array([0.02, 0.01, 0.3 - 0.29, 0.0, -0.01, -0.0101, NONE])
    found = contrasts.outcomes(gaps, TIE)
    classes = [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [NONE] * 3]
    np.testing.assert_array_equal(found, classes)
    assert contrasts.outcomes(gaps, tie=0.05)[0].tolist() == [0, 1, 0]


def test_qualities_that_differ_by_rounding_are_equal():
    base, trained = np.array([[0.1 + 0.2]]), np.array([[0.3]])
    assert contrasts.win(base, trained) == 0.5
    assert contrasts.optimal(base, trained, np.array([0.1 + 0.2])) == 0
    assert contrasts.outcomes(contrasts.gap(base, trained), tie=0.0).tolist() == [[0, 1, 0]]


@given(duels())
def test_swapping_the_policies_mirrors_everything(one):
    base, trained, best = one
    pairs = (base, trained), (trained, base)
    there, back = (contrasts.gap(*pair) for pair in pairs)
    np.testing.assert_allclose(there, -back)
    mirrored = contrasts.outcomes(back, TIE)[:, ::-1]
    np.testing.assert_array_equal(contrasts.outcomes(there, TIE), mirrored)
    wins = [contrasts.win(*pair) for pair in pairs]
    np.testing.assert_allclose(wins[0], 1 - wins[1])
    hits = [contrasts.optimal(*pair, best) for pair in pairs]
    np.testing.assert_allclose(hits[0], -hits[1])
    undefined = np.isnan(base).all(axis=1) | np.isnan(trained).all(axis=1)
    for found in (there, wins[0], hits[0]):
        np.testing.assert_array_equal(np.isnan(found), undefined)


@given(duels())
def test_what_is_missing_does_not_matter(one):
    base, trained, _ = one
    gone = np.full((len(base), 2), NONE)
    padded = np.hstack([gone, base]), np.hstack([trained, gone])
    np.testing.assert_allclose(contrasts.gap(*padded), contrasts.gap(base, trained))
    np.testing.assert_allclose(contrasts.win(*padded), contrasts.win(base, trained))


@pytest.mark.parametrize(
    ("p", "win", "tie"),
    [(0.5, 0.43, 0.14), (0.9, 0.38, 0.24), (0.95, 0.32, 0.35), (0.98, 0.21, 0.58)],
)
def test_identical_policies_are_never_better_in_half_of_the_states(p, win, tie):
    base, trained = coins(np.full(STATES, p))
    shares = contrasts.outcomes(contrasts.gap(base, trained), TIE).mean(axis=0)
    assert shares == pytest.approx([win, tie, win], abs=0.012)
    some = slice(0, 2000)
    dealt = contrasts.relabelled(base[some], trained[some], 32, rng(1))
    null = contrasts.outcomes(dealt.trained - dealt.base, TIE).mean(axis=(0, 1))
    assert null == pytest.approx([win, tie, win], abs=0.012)
    assert contrasts.win(base[some], trained[some]).mean() == pytest.approx(0.5, abs=0.01)


def test_a_mixture_of_states_ties_in_half_of_them():
    base, trained = coins(rng(5).beta(0.5, 0.2, STATES))
    shares = contrasts.outcomes(contrasts.gap(base, trained), TIE).mean(axis=0)
    assert shares == pytest.approx([0.24, 0.51, 0.24], abs=0.012)


@pytest.mark.parametrize(("a", "superior"), [(1.0, 0.641), (2.0, 0.675), (0.5, 0.654)])
def test_error_states_chosen_by_the_compared_actions_flatter_the_other_policy(a, superior):
    p_S = rng(7).beta(a, a, 100_000)
    base, trained = coins(p_S)
    others, _ = coins(p_S, seed=1)
    found = contrasts.outcomes(contrasts.gap(base, trained), TIE)
    shares = []
    for judged_by in (base, others):
        chosen = contrasts.poorest(contrasts.mean(judged_by), np.ones(len(p_S)))
        better, _, worse = found[chosen].sum(axis=0)
        shares.append(better / (better + worse))
        assert 0.25 <= chosen.mean() < 0.3
    assert shares == pytest.approx([superior, 0.5], abs=0.01)


def test_the_poorest_quarter_by_hand():
    means = np.array([0.9, 0.5, 0.5, 0.3, 0.1, NONE, 0.8, 0.9])
    # short of the best by 0.1, 0.5, 0.1, 0, 0, ., 0.2, 0.1: the quartile is at 0.15
    best = np.array([1.0, 1.0, 0.6, 0.3, 0.1, 1.0, 1.0, 1.0])
    expected = [False, True, False, False, False, False, True, False]
    assert contrasts.poorest(means, best).tolist() == expected
    # without a best action the mean itself must be poor: the quartile is at 0.4
    unknown = np.full(8, NONE)
    assert contrasts.poorest(means, unknown).tolist() == [False] * 3 + [True] * 2 + [False] * 3
    twice = contrasts.poorest(np.stack([means, means[::-1]], axis=1), unknown)
    assert (
        twice[:, 0].tolist()
        == twice[::-1, 1].tolist()
        == contrasts.poorest(means, unknown).tolist()
    )
    assert not contrasts.poorest(unknown, best).any()


def test_dealing_out_anew_by_hand():
    # base has one action, the other side two: base gets each of the three alike
    base, trained = np.array([[0.0, NONE]]), np.array([[0.3, 0.9]])
    dealt = contrasts.relabelled(base, trained, 600, rng())
    pairs = {
        (round(b, 6), round(t, 6)) for b, t in zip(dealt.base[0], dealt.trained[0], strict=True)
    }
    assert pairs == {(0.0, 0.6), (0.3, 0.45), (0.9, 0.15)}
    counts = [np.isclose(dealt.base, value).mean() for value in (0.0, 0.3, 0.9)]
    assert counts == pytest.approx([1 / 3] * 3, abs=0.06)


@given(duels(), st.integers(0, 100))
def test_dealing_out_anew_keeps_the_actions(one, seed):
    base, trained, _ = one
    dealt = contrasts.relabelled(base, trained, 5, rng(seed))
    for side, found in ((base, dealt.base), (trained, dealt.trained)):
        gone = np.isnan(side).all(axis=1)
        np.testing.assert_array_equal(np.isnan(found), np.repeat(gone[:, None], 5, axis=1))
    counts = [(~np.isnan(side)).sum(axis=1, keepdims=True) for side in (base, trained)]
    total = np.nansum(base, axis=1) + np.nansum(trained, axis=1)
    sums = counts[0] * np.nan_to_num(dealt.base) + counts[1] * np.nan_to_num(dealt.trained)
    np.testing.assert_allclose(sums, np.repeat(total[:, None], 5, axis=1))


def test_the_posterior_of_two_kinds_of_actions():
    # 12 of 16 against 4 of 16, worth 1 and 0: P(p > q + 0.01), p ~ Beta(12.5, 4.5), q the mirror
    base = np.array([[1.0] * 4 + [0.0] * 12])
    trained = np.array([[1.0] * 12 + [0.0] * 4])
    found = contrasts.posterior(base, trained, np.ones(1), 20_000, rng(), TIE)[0]
    p, q = rng(3).beta(12.5, 4.5, 200_000), rng(4).beta(4.5, 12.5, 200_000)
    expected = [(p - q > 0.01).mean(), (np.abs(p - q) <= 0.01).mean(), (p - q < -0.01).mean()]
    assert found == pytest.approx(expected, abs=0.004)
    assert contrasts.classes(found[None]).tolist() == [[1, 0, 0, 0]]


def test_the_classes_of_plain_cases():
    same, split = [0.9] * 16, [0.9] * 8 + [0.895] * 8
    cases = {
        "better": ([0.1] * 16, same, 0.9),
        "worse": (same, [0.1] * 16, 0.9),
        "tie": (same, split, 0.9),  # half of the actions are worse by half the margin
        "nothing known": ([NONE] * 16, same, 0.9),
        "alike": (same, same, 0.9),  # a worse action may exist
        "worth nothing": ([0.0] * 16, [0.0] * 16, 0.0),
        "open": ([0.9] * 9 + [0.1] * 7, [0.9] * 10 + [0.1] * 6, 0.9),
    }
    base, trained, best = (np.array(column) for column in zip(*cases.values(), strict=True))
    found = contrasts.classes(contrasts.posterior(base, trained, best, 2000, rng(), TIE))
    expected = {
        "better": [1, 0, 0, 0],
        "worse": [0, 0, 1, 0],
        "tie": [0, 1, 0, 0],
        "nothing known": [NONE] * 4,
        "alike": [0, 0, 0, 1],
        "worth nothing": [0, 1, 0, 0],
        "open": [0, 0, 0, 1],
    }
    np.testing.assert_array_equal(found, [expected[name] for name in cases])


def test_sure_classes_are_seldom_wrong():
    base, trained = coins(np.full(2000, 0.7))
    found = contrasts.classes(contrasts.posterior(base, trained, np.ones(2000), 400, rng(), TIE))
    assert found[:, [0, 2]].sum(axis=1).mean() < 0.25
    base, _ = coins(np.full(2000, 0.3))
    _, trained = coins(np.full(2000, 0.8))
    found = contrasts.classes(contrasts.posterior(base, trained, np.ones(2000), 400, rng(), TIE))
    assert found[:, 0].mean() > 0.9
    assert found[:, 1:3].sum() == 0


@given(duels(), st.integers(0, 100))
def test_posterior_probabilities_sum_to_one(one, seed):
    base, trained, best = one
    found = contrasts.posterior(base, trained, best, 20, rng(seed), TIE)
    undefined = np.isnan(contrasts.gap(base, trained))
    assert found.sum(axis=1)[~undefined] == pytest.approx(1)
    assert np.isnan(found[undefined]).all()


def test_the_slope_is_that_of_least_squares():
    x = np.array([0.0, 0.2, 0.5, 0.9, 0.7])
    y = np.array([0.1, NONE, 0.0, 0.6, 0.2])
    known = ~np.isnan(y)
    sums = contrasts.moments(x, y).sum(axis=0)
    assert contrasts.slope(sums) == pytest.approx(np.polyfit(x[known], y[known], 1)[0])
    flat = contrasts.moments(np.full(3, 0.3), np.array([0.0, 1.0, 2.0]))
    none = contrasts.moments(np.array([0.3]), np.array([NONE]))
    found = contrasts.slope(np.stack([sums, flat.sum(axis=0), none.sum(axis=0)]))
    assert np.isnan(found).tolist() == [False, True, True]
