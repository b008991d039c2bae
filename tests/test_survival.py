import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import optimize, special

from turnscope.survival import Counts, at_risk, crossed, hazard, incidence, log_odds

T = 8


@st.composite
def endings(draw):
    """Say at which turn each of some episodes was solved or lost; 0 is never."""
    size = draw(st.integers(1, 60))
    turn = draw(npst.arrays(int, size, elements=st.integers(0, T)))
    solved = draw(npst.arrays(bool, size))
    return turn, solved


def shares(turn, solved):
    kinds = (np.bincount(turn[chosen], minlength=T + 1)[1:] for chosen in (solved, ~solved))
    return [counts / len(turn) for counts in kinds]


def test_censoring_what_competes_overstates():
    constant = np.full(20, 0.05)
    assert incidence(constant, constant)[-1] == pytest.approx(0.5 * (1 - 0.9**20))
    assert incidence(constant, constant)[-1] == pytest.approx(0.44, abs=0.005)
    assert incidence(constant)[-1] == pytest.approx(1 - 0.95**20)
    assert incidence(constant)[-1] == pytest.approx(0.64, abs=0.005)


@given(endings())
def test_the_incidence_is_the_share_of_episodes_that_ended_so(played):
    solved_T, lost_T = shares(*played)
    risk_T = at_risk(solved_T + lost_T)
    first, second = (hazard(Counts(x_T, risk_T)) for x_T in (solved_T, lost_T))
    np.testing.assert_allclose(incidence(first, second), solved_T.cumsum(), atol=1e-12)
    np.testing.assert_allclose(incidence(second, first), lost_T.cumsum(), atol=1e-12)
    assert (incidence(first) >= solved_T.cumsum() - 1e-12).all()


@given(endings())
def test_the_mean_incidence_over_budgets_is_what_the_solve_turns_say(played):
    turn, solved = played
    solved_T, _ = shares(turn, solved)
    tau = np.where(solved & (turn > 0), turn, np.inf)
    expected = 1 - (np.minimum(tau, T).mean() - 1 + (tau > T).mean()) / T
    assert solved_T.cumsum().mean() == pytest.approx(expected)


def test_nothing_at_risk_has_no_hazard():
    thirds = np.full(3, 1 / 3)  # sums to 1 up to rounding
    found = hazard(Counts(np.append(thirds, 0.0), at_risk(np.append(thirds, 0.0))))
    assert found[:3] == pytest.approx([1 / 3, 1 / 2, 1])
    assert np.isnan(found[3])
    assert incidence(found)[-1] == pytest.approx(1)


def test_the_odds_of_a_single_turn_are_those_of_its_table():
    one, other = (
        Counts(np.array([30.0]), np.array([40.0])),
        Counts(np.array([20.0]), np.array([80.0])),
    )
    assert log_odds(one, other) == pytest.approx(np.log(30 * 60 / (10 * 20)))
    up, down = crossed(one, other)
    assert up / down == pytest.approx(30 * 60 / (10 * 20))


@st.composite
def tables(draw):
    """Draw counts of a policy with more and of one with fewer events, both with a finite ratio."""
    risk = npst.arrays(float, T, elements=st.integers(4, 50).map(float))
    sides = []
    for _ in range(2):
        at_risk_T = draw(risk)
        events_T = np.floor(at_risk_T * draw(npst.arrays(float, T, elements=st.floats(0.0, 1.0))))
        events_T[0] = max(1.0, min(events_T[0], at_risk_T[0] - 1))
        sides.append(Counts(events_T, at_risk_T))
    return sides


def residual(one, other, slope):
    """Say how many more events one side has than expected, if each turn's level fits best."""
    total = 0.0
    for mine, risk, theirs, at in zip(*one, *other, strict=True):
        if 0 < mine + theirs < risk + at:

            def excess(level, risk=risk, at=at, events=mine + theirs):
                return risk * special.expit(level + slope) + at * special.expit(level) - events

            level = optimize.brentq(excess, -60, 60, xtol=1e-13)
            total += mine - risk * special.expit(level + slope)
    return total


@settings(max_examples=30)
@given(tables())
def test_the_odds_maximise_the_likelihood(sides):
    one, other = sides
    slope = float(log_odds(one, other))
    assert residual(one, other, slope) == pytest.approx(0, abs=1e-6)
    assert residual(one, other, slope - 0.1) > 0 > residual(one, other, slope + 0.1)


@given(tables())
def test_the_odds_of_the_other_policy_are_the_opposite(sides):
    one, other = sides
    assert log_odds(one, other) == pytest.approx(-log_odds(other, one), abs=1e-6)
    (up, down), (up_too, down_too) = crossed(one, other), crossed(other, one)
    assert up / down == pytest.approx(down_too / up_too)


def test_all_draws_are_fitted_at_once():
    rng = np.random.Generator(np.random.PCG64(1))
    risk_TB = rng.integers(20, 60, (2, T, 5)).astype(float)
    events_TB = np.floor(risk_TB * rng.uniform(0.1, 0.6, risk_TB.shape))
    one, other = (Counts(events_TB[side], risk_TB[side]) for side in (0, 1))
    together = log_odds(one, other)
    alone = [
        log_odds(*(Counts(*(x[:, b] for x in side)) for side in (one, other))) for b in range(5)
    ]
    np.testing.assert_allclose(together, alone, atol=1e-8)


def test_a_policy_with_the_same_odds_at_turns_of_any_level():
    level_T, slope = np.linspace(-4, 1, T), 0.8
    rate = 1 / (1 + np.exp(-level_T)), 1 / (1 + np.exp(-level_T - slope))
    other, one = (
        Counts(rate_T * risk, np.full(T, risk))
        for rate_T, risk in zip(rate, (900.0, 400.0), strict=True)
    )
    assert log_odds(one, other) == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize(("events", "against"), [(0.0, 5.0), (5.0, 0.0), (0.0, 0.0), (10.0, 5.0)])
def test_without_a_finite_ratio_there_is_none(events, against):
    risk_T = np.full(3, 10.0)
    one, other = Counts(np.full(3, events), risk_T), Counts(np.full(3, against), risk_T)
    assert np.isnan(log_odds(one, other))
