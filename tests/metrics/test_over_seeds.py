from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.metrics.by_hand import SETTINGS, cell, episodes, tasks
from tests.simulated import Skill, study
from turnscope import tables
from turnscope.metrics import Settings
from turnscope.metrics.over_seeds import estimate
from turnscope.metrics.pass_at_kt import estimate as estimate_pass


def test_is_the_t_test_on_the_seeds_with_the_noise_of_base():
    settings = Settings(ks=[1, 8], k=8, shares=[1.0], draws=10, seed=1)
    frames = study(4, tasks=40, episodes=16)
    found, single = estimate(*frames, settings), estimate_pass(*frames, settings)
    for k in (1, 8):
        values = [
            cell(single, "pass_at_k", f"grpo-s{seed}", against="base", k=k, t=12)["value"]
            for seed in range(3)
        ]
        noise = cell(single, "evaluation_noise", "base", k=k, t=12)["value"]
        own = np.var(values, ddof=1) / 3
        freedom = 2 * ((own + noise**2) / own) ** 2
        se = np.sqrt(own + noise**2)
        one = cell(found, "over_seeds", "grpo", against="base", k=k, t=12)
        assert one["value"] == pytest.approx(np.mean(values))
        half: Any = stats.t.ppf(0.975, freedom) * se
        assert one["low"] == pytest.approx(np.mean(values) - half)
        assert one["high"] == pytest.approx(np.mean(values) + half)
        assert one["p_value"] == pytest.approx(2 * stats.t.sf(np.mean(values) / se, freedom))
        assert one["seeds"] == 3
    assert tables.conform(found, "estimates").num_rows == len(found)


def test_where_the_noise_of_base_is_unknown_there_is_no_interval():
    settings = Settings(ks=[1, 8], k=8, shares=[1.0], draws=10, seed=1)
    found = estimate(*study(4, tasks=40, episodes=15), settings)
    known, unknown = (cell(found, "over_seeds", "grpo", against="base", k=k, t=12) for k in (1, 8))
    assert known["low"] < known["value"] < known["high"]
    assert not np.isnan(unknown["value"])
    assert np.isnan([unknown["low"], unknown["high"], unknown["p_value"]]).all()


def test_identical_policies_differ_in_no_more_studies_than_they_should():
    alike = dict.fromkeys(["base", "grpo-s0", "grpo-s1", "grpo-s2"], Skill())
    settings = Settings(ks=[8], k=8, shares=[1.0], draws=10, seed=1)
    p_values = [
        cell(
            estimate(*study(seed, tasks=60, episodes=16, t_max=6, policies=alike), settings),
            "over_seeds",
            "grpo",
            against="base",
            k=8,
            t=6,
        )["p_value"]
        for seed in range(120)
    ]
    found = int((np.array(p_values) < 0.05).sum())
    # the spread between seeds alone finds a difference in about 20 of 120
    assert stats.binomtest(found, 120, 0.05, alternative="greater").pvalue > 0.01


def test_one_seed_gives_no_interval():
    outcomes = {"base": {"a": [1, None]}, "grpo-s0": {"a": [1, 1]}}
    found = estimate(tasks("a"), episodes(outcomes), SETTINGS)
    one = cell(found, "over_seeds", "grpo", against="base", k=1, t=4)
    assert one["value"] == pytest.approx(0.5)
    assert np.isnan([one["low"], one["high"], one["p_value"]]).all()


def test_without_a_trained_arm_there_is_nothing():
    found = estimate(tasks("a"), episodes({"base": {"a": [1, None]}}), SETTINGS)
    assert tables.conform(found, "estimates").num_rows == 0
