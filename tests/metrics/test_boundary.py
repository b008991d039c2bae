import numpy as np
import pandas as pd
import pytest

from tests.metrics.by_hand import ERROR, SETTINGS, cell, episodes, tasks
from tests.simulated import Skill, study
from turnscope import tables
from turnscope.metrics import Settings
from turnscope.metrics.boundary import estimate

OUTCOMES = {
    "base": {"a": [1, None], "b": [4, None], "c": [None, None], "d": [2, None]},
    "grpo-s0": {"a": [2, 2], "b": [None, None], "c": [3, None], "d": [2, 2]},
    "grpo-s1": {"a": [None, None], "b": [4, 4], "c": [3, 1], "d": [1, 2]},
}


def at(found, metric, policy, t=4):
    against = None if metric == "solved_set" else "base"
    return cell(found, metric, policy, against=against, t=t)["value"]


def test_by_hand():
    found = estimate(tasks("abcd"), episodes(OUTCOMES), SETTINGS)
    assert at(found, "solved_set", "base") == 0.75
    assert at(found, "solved_set", "base", t=2) == 0.5
    assert [at(found, name, "grpo-s0") for name in ("gained", "lost", "swap")] == [1, 1, 0]
    assert at(found, "gained", "grpo-s0", t=2) == at(found, "lost", "grpo-s0", t=2) == 0
    assert at(found, "srr", "grpo-s0") == pytest.approx(2 / 3)
    assert at(found, "ndr", "grpo-s0") == pytest.approx(1 / 3)
    assert at(found, "nscr", "grpo-s0") == 0
    assert cell(found, "swap", "grpo-s0", against="base", t=4)["p_value"] == 1


def test_an_arm_is_the_mean_of_its_seeds():
    found = estimate(tasks("abcd"), episodes(OUTCOMES), SETTINGS)
    for metric in ("gained", "lost", "swap", "gained_null"):
        seeds = [at(found, metric, f"grpo-s{seed}") for seed in (0, 1)]
        assert at(found, metric, "grpo") == pytest.approx(np.mean(seeds))
    # kept 2 and 2 of 3 and 3
    assert at(found, "srr", "grpo") == pytest.approx(4 / 6)
    assert cell(found, "gained", "grpo", against="base", t=4)["seeds"] == 2


def test_the_sign_flips_of_one_seed_are_the_exact_test():
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=4000, seed=1)
    policies = {"base": Skill(loss=0.3), "grpo-s0": Skill(0.8, loss=0.3)}
    lakes, played = study(4, tasks=150, episodes=4, policies=policies)
    again = played.loc[played["policy"] == "grpo-s0"].assign(policy="grpo-s1")
    found = estimate(lakes, pd.concat([played, again], ignore_index=True), settings)
    for t in (5, 10, 15, 20):
        exact, flipped = (
            cell(found, "swap", policy, against="base", t=t)["p_value"]
            for policy in ("grpo-s0", "grpo")
        )
        assert flipped == pytest.approx(exact, abs=0.04)
        assert exact < 1


def test_where_clusters_are_drawn_they_are_flipped_as_a_whole():
    # 40 clusters of two tasks; in 12 of them both are gained
    names = [f"{number:02}{twin}" for number in range(40) for twin in "xy"]
    gained = {name: [4] if int(name[:2]) < 12 else [None] for name in names}
    played = {"base": {name: [None] for name in names}, "grpo-s0": gained}
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=4000, seed=1)
    clusters = {"single": names, "double": [name[:2] for name in names]}
    single, double = (
        cell(
            estimate(tasks(names, cluster=cluster), episodes(played), settings),
            "swap",
            "grpo-s0",
            against="base",
            t=4,
        )["p_value"]
        for cluster in clusters.values()
    )
    assert single == pytest.approx(2 * 0.5**24)
    # 4000 sign flips; 12 clusters have 2^12 of them
    assert double == pytest.approx(2 * 0.5**12, abs=0.002)
    assert double > 100 * single


def test_both_sides_have_equally_many_episodes():
    outcomes = {
        "base": {"a": [None, 1], "b": [1, 1]},
        "grpo-s0": {"a": [ERROR, None], "b": [None, ERROR]},
    }
    found = estimate(tasks("ab"), episodes(outcomes), SETTINGS)
    assert at(found, "solved_set", "base") == 1
    # with one episode each, base solves only b
    assert [at(found, name, "grpo-s0") for name in ("gained", "lost")] == [0, 1]
    assert cell(found, "lost", "grpo-s0", against="base", t=4)["samples"] == 1


def test_equal_policies_change_as_much_as_expected_by_chance():
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=100, seed=1)
    policies = {"base": Skill(loss=0.3), "grpo-s0": Skill(loss=0.3)}
    lakes, played = study(6, tasks=2000, episodes=4, policies=policies)
    found = estimate(lakes, played, settings)
    assert at(found, "gained_null", "grpo-s0", t=20) > 100
    for metric in ("gained", "srr", "ndr", "sds"):
        row = cell(found, metric, "grpo-s0", against="base", t=20)
        assert row["low"] <= at(found, f"{metric}_null", "grpo-s0", t=20) <= row["high"]
    assert tables.conform(found, "estimates").num_rows == len(found)


def test_without_a_trained_policy_there_are_only_levels():
    found = estimate(tasks("a"), episodes({"base": {"a": [1, None]}}), SETTINGS)
    assert set(found["metric"]) == {"solved_set"}
