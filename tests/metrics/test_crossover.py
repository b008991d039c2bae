import math

import numpy as np
import pytest

from tests.metrics.by_hand import SETTINGS, cell, episodes, tasks
from tests.simulated import Skill, study
from turnscope import tables
from turnscope.metrics import Settings
from turnscope.metrics.crossover import crossover_turn, estimate

SHARES = [0.1, 0.3, 1.0]
K1 = Settings(ks=[1], k=1, shares=SHARES, draws=500, seed=1)


@pytest.mark.parametrize(
    ("gap", "turn"),
    [
        ([-1, 0, 1, 1], 2),
        ([0, 0, 1, 1], 1),
        ([0, 0, 0, 0], 1),
        ([0, -1, -1, 1], 4),
        ([-1, 1, -1, 1], 4),
        ([1, 1, 1, -1], math.inf),
        ([-1, -1e-17, 1, 1], 2),
        ([math.nan, 1, 1, 1], math.nan),
    ],
)
def test_the_smallest_turn_from_which_on_it_is_never_behind(gap, turn):
    assert float(crossover_turn(np.array(gap, float))) == pytest.approx(turn, nan_ok=True)


def test_by_hand():
    outcomes = {
        "base": {"a": [1, None], "b": [1, None]},
        "grpo-s0": {"a": [3, 3], "b": [3, 3]},
    }
    found = estimate(tasks("ab"), episodes(outcomes), SETTINGS)
    one = cell(found, "crossover", "grpo", against="base", k=1)
    assert (one["value"], one["low"], one["high"]) == (3, 3, 3)
    assert cell(found, "crossover_share", "grpo", against="base", k=1, t=3)["value"] == 1
    assert cell(found, "crossover_share", "grpo", against="base", k=1, t=None)["value"] == 0
    assert cell(found, "crossover_reversal", "grpo", against="base", k=1)["value"] == 1


def test_a_policy_that_falls_behind_for_good_has_none():
    outcomes = {"base": {"a": [1, 4], "b": [1, 4]}, "grpo-s0": {"a": [1, None], "b": [1, None]}}
    found = estimate(tasks("ab"), episodes(outcomes), SETTINGS)
    one = cell(found, "crossover", "grpo", against="base", k=1)
    assert np.isnan([one["value"], one["low"], one["high"]]).all()
    assert cell(found, "crossover_share", "grpo", against="base", k=1, t=None)["value"] == 1
    assert cell(found, "crossover_reversal", "grpo", against="base", k=1)["value"] == 0


def test_a_policy_that_is_never_behind_crosses_nowhere():
    found = estimate(*study(3, tasks=80, policies={"base": Skill(), "grpo-s0": Skill(2.0)}), K1)
    assert cell(found, "crossover", "grpo", against="base", k=1)["value"] == 1
    assert cell(found, "crossover_reversal", "grpo", against="base", k=1)["value"] < 0.05


def test_a_slow_starter_crosses():
    policies = {"base": Skill(), "grpo-s0": Skill(1.0, delay=2)}
    found = estimate(*study(3, tasks=200, policies=policies), K1)
    one = cell(found, "crossover", "grpo", against="base", k=1)
    assert 3 <= one["low"] <= one["value"] <= one["high"] <= 12
    assert cell(found, "crossover_reversal", "grpo", against="base", k=1)["value"] > 0.99


def test_shares_of_all_outcomes_sum_to_one():
    settings = Settings(ks=[1, 4, 16], k=8, shares=SHARES, draws=200, seed=1)
    found = estimate(*study(3, tasks=40, episodes=8), settings)
    shares = found.loc[found["metric"] == "crossover_share"]
    for _, outcomes in shares.groupby(["policy", "k"]):
        total = outcomes["value"].to_numpy().sum()
        expected = 1.0 if outcomes["k"].iloc[0] <= 8 else np.nan
        assert total == pytest.approx(expected, nan_ok=True)
    assert tables.conform(found, "estimates").num_rows == len(found)


def test_without_a_trained_policy_there_is_nothing():
    found = estimate(tasks("a"), episodes({"base": {"a": [1, None]}}), SETTINGS)
    assert tables.conform(found, "estimates").num_rows == 0
