"""Do the intervals hold what they promise, when the truth is known by simulation?"""

import numpy as np
import pytest

from tests.simulated import Skill, study
from turnscope import estimators, intervals
from turnscope.metrics import Settings
from turnscope.metrics._outcomes import read
from turnscope.metrics._rows import banded, bootstrap, mean, p_values, pointwise
from turnscope.metrics._series import differences, series

REPLICATIONS = 200
KS = [1, 8]


def replicate(seed, shift=0.0):
    policies = {"base": Skill(), "grpo-s0": Skill(shift)}
    frames = study(seed, tasks=100, episodes=16, t_max=10, policies=policies)
    settings = Settings(ks=KS, k=8, shares=[0.5, 1.0], draws=1000, seed=seed)
    whole = read(*frames, settings)
    return whole, series(whole.outcomes, estimators.pass_at_k, KS)


@pytest.fixture(scope="module")
def null():
    """Replications of two equal policies."""
    return [replicate(seed) for seed in range(REPLICATIONS)]


@pytest.mark.slow
def test_equal_policies_differ_in_one_interval_of_twenty(null):
    rejected, tested, outside = np.zeros((2, 10)), np.zeros((2, 10)), np.zeros(2)
    for whole, levels in null:
        gap = differences(levels)[0]
        columns = banded(gap, bootstrap(gap, whole.weights()))
        rejected += (columns["low"] > 0) | (columns["high"] < 0)
        tested += p_values(gap, whole.signs()) < 0.05
        outside += ((columns["band_t_low"] > 0) | (columns["band_t_high"] < 0)).any(axis=1)
    # 10 of 200 expected, standard deviation 3.1
    assert (rejected[:, [4, 9]] >= 1).all()
    assert (rejected[:, [4, 9]] <= 21).all()
    assert (tested[:, [4, 9]] >= 1).all()
    assert (tested[:, [4, 9]] <= 20).all()
    assert (outside <= 21).all()
    # without the band, looking at ten budgets would mislead more often
    assert (rejected.sum(axis=1) > outside).all()


@pytest.mark.slow
def test_intervals_cover_the_mean_over_all_tasks(null):
    frames = study(999, tasks=40_000, episodes=8, t_max=10, policies={"base": Skill()})
    settings = Settings(ks=KS, k=8, shares=[1.0], draws=1, seed=1)
    truth = mean(series(read(*frames, settings).outcomes, estimators.pass_at_k, KS)[0].x_NKT)
    covered = np.zeros((2, 10))
    for whole, levels in null:
        columns = pointwise(levels[0], bootstrap(levels[0], whole.weights()), share=True)
        covered += (columns["low"] <= truth) & (truth <= columns["high"])
    share = covered[:, [4, 9]] / REPLICATIONS
    assert (share > 0.90).all()
    assert (share < 0.99).all()


@pytest.mark.slow
def test_larger_effects_are_found_more_often():
    found = []
    for shift in (0.0, 0.1, 0.2, 0.4):
        hits = 0
        for seed in range(40):
            whole, levels = replicate(1000 + seed, shift)
            gap = differences(levels)[0]
            low, _ = intervals.percentile(bootstrap(gap, whole.weights()))
            hits += low[0, -1] > 0
        found.append(hits)
    assert found == sorted(found)
    assert found[0] <= 4
    assert found[-1] >= 38
