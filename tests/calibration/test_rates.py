import numpy as np
import pytest
from scipy import stats

from turnscope.calibration import rates
from turnscope.calibration.planted import Planted, Rule


def planted(over_seeds=False):
    return Planted("one", "skill", lambda _: None, lambda _: None, over_seeds=over_seeds)


def test_a_rate_by_hand():
    row = rates.counted("null", "one", [True] * 3 + [False] * 17, 1)
    assert (row["studies"], row["found"], row["rate"], row["expected"]) == (20, 3, 0.15, 0.05)
    # P(at least 3 of 20 at 5%)
    below = sum(stats.binom.pmf(count, 20, 0.05) for count in range(3))
    assert row["p_value"] == pytest.approx(1 - below)
    assert row["low"] == pytest.approx(stats.beta.ppf(0.025, 3, 18))
    assert row["high"] == pytest.approx(stats.beta.ppf(0.975, 4, 17))
    assert row["passed"]


@pytest.mark.parametrize(("hits", "families", "passed"), [(6, 1, False), (6, 200, True)])
def test_the_level_is_shared_by_the_families(hits, families, passed):
    found = [True] * hits + [False] * (50 - hits)
    p_value = stats.binom.sf(hits - 1, 50, 0.05)
    assert 0.05 / 200 < p_value < 0.05
    assert rates.counted("null", "one", found, families)["passed"] == passed


@pytest.mark.parametrize(("hits", "low", "high"), [(0, 0.0, None), (10, None, 1.0)])
def test_none_and_all_have_an_interval(hits, low, high):
    row = rates.counted("null", "one", [True] * hits + [False] * (10 - hits), 1)
    assert low is None or row["low"] == low < row["high"] < 1
    assert high is None or row["high"] == high > row["low"] > 0


def simulated(effects, spread, margin, studies=500, seed=0):
    """Normal estimates with correlated errors, and whether all of them exceed the margin."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(studies, 1))
    noise = 0.6 * shared + 0.8 * rng.normal(size=(studies, len(effects)))
    values = np.array(effects) + spread * noise
    rules = [Rule(tuple(one), (margin,) * len(effects)) for one in values]
    return [bool(one) for one in (values > margin).all(axis=1)], rules


@pytest.mark.parametrize("effects", [[0.3], [0.3, 0.2, 0.4]])
def test_the_power_of_normal_estimates_is_predicted(effects):
    found, rules = simulated(effects, 0.1, 0.2, seed=1)
    row = rates.compared(planted(), found, rules, effects, 10)
    assert row["passed"]
    assert row["expected"] == pytest.approx(row["rate"], abs=0.05)
    assert row["effect"] == min(effects)
    if len(effects) == 1:
        assert row["expected"] == pytest.approx(stats.norm.cdf(1.0), abs=0.02)


def test_a_power_that_is_not_reached_is_told():
    found, rules = simulated([0.3], 0.1, 0.2)
    missed = [one and number % 2 == 0 for number, one in enumerate(found)]
    assert not rates.compared(planted(), missed, rules, [0.3], 10)["passed"]


def test_a_wrong_truth_is_told():
    found, rules = simulated([0.25], 0.1, 0.2)
    assert not rates.compared(planted(), found, rules, [0.3], 10)["passed"]
    assert rates.compared(planted(), found, rules, None, 10)["passed"]


def test_no_spread_at_all_is_certain():
    rules = [Rule((0.3,), (0.2,))] * 20
    row = rates.compared(planted(), [True] * 20, rules, [0.3], 1)
    assert row["expected"] == 1.0
    assert row["passed"]


def test_the_power_of_tests_over_seeds_is_predicted():
    rng = np.random.default_rng(2)
    effects, spread = np.array([0.2, 0.2, 0.2, 0.1]), 0.05
    tasks = 0.04 * rng.normal(size=(1000, 1, 4))  # seeds share them
    single = effects + tasks + spread * rng.normal(size=(1000, 3, 4))
    means = single.mean(axis=1)
    t_values = means / (single.std(axis=1, ddof=1) / np.sqrt(3))
    p_values = 2 * stats.t.sf(np.abs(t_values), 2)
    order = np.sort(p_values, axis=1) * np.array([4, 3, 2, 1])
    steps = np.maximum.accumulate(order, axis=1)
    rank = np.argsort(np.argsort(p_values, axis=1), axis=1)
    adjusted = np.take_along_axis(steps, rank, axis=1)
    found = ((adjusted < 0.05) & (means > 0))[:, :3].all(axis=1)
    halves = stats.t.ppf(0.975, 2) * single.std(axis=1, ddof=1) / np.sqrt(3)
    pairs = zip(means, halves, strict=True)
    rules = [Rule(tuple(one), tuple(half)) for one, half in pairs]
    row = rates.compared(planted(over_seeds=True), found.tolist(), rules, effects.tolist(), 10)
    assert 0.2 < row["expected"] < 0.95
    assert row["expected"] == pytest.approx(found.mean(), abs=0.05)
    assert row["passed"]
