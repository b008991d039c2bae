from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.metrics.by_hand import SETTINGS, cell, episodes, tasks
from tests.simulated import study
from turnscope import tables
from turnscope.metrics import Settings
from turnscope.metrics.over_seeds import estimate
from turnscope.metrics.pass_at_kt import estimate as estimate_pass


def test_is_the_t_test_on_the_differences_of_the_seeds():
    settings = Settings(ks=[1, 8], k=8, shares=[1.0], draws=10, seed=1)
    frames = study(4, tasks=40, episodes=8)
    found, single = estimate(*frames, settings), estimate_pass(*frames, settings)
    values = [
        cell(single, "pass_at_k", f"grpo-s{seed}", against="base", k=1, t=12)["value"]
        for seed in range(3)
    ]
    test: Any = stats.ttest_1samp(values, 0.0)
    one = cell(found, "over_seeds", "grpo", against="base", k=1, t=12)
    assert one["value"] == pytest.approx(np.mean(values))
    assert one["p_value"] == pytest.approx(test.pvalue)
    assert (one["low"], one["high"]) == pytest.approx(tuple(test.confidence_interval()))
    assert one["seeds"] == 3
    assert tables.conform(found, "estimates").num_rows == len(found)


def test_one_seed_gives_no_interval():
    outcomes = {"base": {"a": [1, None]}, "grpo-s0": {"a": [1, 1]}}
    found = estimate(tasks("a"), episodes(outcomes), SETTINGS)
    one = cell(found, "over_seeds", "grpo", against="base", k=1, t=4)
    assert one["value"] == pytest.approx(0.5)
    assert np.isnan([one["low"], one["high"], one["p_value"]]).all()


def test_without_a_trained_arm_there_is_nothing():
    found = estimate(tasks("a"), episodes({"base": {"a": [1, None]}}), SETTINGS)
    assert tables.conform(found, "estimates").num_rows == 0
