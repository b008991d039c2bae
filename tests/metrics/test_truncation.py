import pandas as pd
import pytest

from tests.metrics.by_hand import ERROR, SETTINGS, cell, episodes, tasks
from tests.simulated import Skill, study
from turnscope import tables
from turnscope.metrics import Settings
from turnscope.metrics.truncation import estimate

ONE = {"base": Skill()}
K8 = Settings(ks=[1, 8], k=8, shares=[1.0], draws=2000, seed=1, margin=0.05)


def fresh_and_cut(fresh: dict, cut: dict, budget: int = 2) -> pd.DataFrame:
    return pd.concat([episodes({"base": cut}), episodes({"base": fresh}, budget=budget)])


def same(found: pd.DataFrame, metric: str, **labels) -> dict:
    return cell(found, metric, "base", against="base", **labels)


def test_by_hand():
    frames = fresh_and_cut({"a": [1, None]}, {"a": [1, 3], "b": [1, 1]})
    found = estimate(tasks("ab"), frames, SETTINGS)
    one = same(found, "truncation", k=2, t=2)
    assert one["value"] == 0.0
    assert (one["tasks"], one["samples"]) == (1, 2)


def test_both_rows_hold_the_difference_to_the_same_policy():
    cut = {"a": [1, 3], "b": [1, 3]}
    found = estimate(tasks("ab"), fresh_and_cut({"a": [1, 1], "b": [1, 1]}, cut), SETTINGS)
    assert set(found["against"]) == {"base"}
    for metric in ("truncation", "truncation_equivalence"):
        assert same(found, metric, k=1, t=2)["value"] == 0.5


def test_both_kinds_have_equally_many_episodes_at_each_task():
    # the first two episodes that count are taken of each kind: (1, 0) and (0, 1)
    frames = fresh_and_cut({"a": [1, None]}, {"a": [ERROR, 3, 2, 1, 1]})
    found = estimate(tasks("a"), frames, SETTINGS)
    one = same(found, "truncation", k=1, t=2)
    assert one["value"] == 0.0
    assert one["samples"] == 2


def test_fresh_episodes_agree_with_cut_ones_if_the_policy_is_blind():
    frames = study(8, tasks=400, policies=ONE, resampled=[6, 12], resampled_tasks=400)
    found = estimate(*frames, K8)
    for t in (6, 12):
        one = same(found, "truncation", k=1, t=t)
        assert one["low"] < 0 < one["high"]
        assert one["p_value"] > 0.05
        tested = same(found, "truncation_equivalence", k=1, t=t)
        assert tested["value"] == one["value"]
        # 90% instead of 95%
        assert one["low"] < tested["low"] < tested["high"] < one["high"]
        assert -0.05 < tested["low"] < tested["high"] < 0.05
        assert tested["p_value"] < 0.05
    assert tables.conform(found, "estimates").num_rows == len(found) == 8


def test_a_policy_that_hurries_under_a_small_budget_is_found_out():
    tasks_, blind = study(7, tasks=100, policies=ONE)
    _, hasty = study(7, tasks=100, policies={"base": Skill(shift=1.0)}, resampled=[6])
    found = estimate(tasks_, pd.concat([blind, hasty.loc[hasty["budget"] == 6]]), K8)
    assert same(found, "truncation", k=1, t=6)["p_value"] < 0.01
    assert same(found, "truncation_equivalence", k=1, t=6)["p_value"] > 0.5


def test_without_a_smaller_budget_there_is_nothing():
    found = estimate(*study(7, tasks=10, episodes=2), SETTINGS)
    assert tables.conform(found, "estimates").num_rows == 0


@pytest.mark.slow
def test_the_sign_flip_test_keeps_its_level_where_nearly_all_is_solved():
    # Pass@8 close to 1: without equal numbers of episodes the differences would be skewed
    rejected = {1: 0, 8: 0}
    for seed in range(100):
        frames = study(
            seed,
            tasks=50,
            episodes=32,
            policies={"base": Skill(shift=1.5, loss=0.1)},
            resampled=[12],
            resampled_episodes=16,
        )
        settings = Settings(ks=[1, 8], k=8, shares=[1.0], draws=500, seed=seed)
        found = estimate(*frames, settings)
        for k in rejected:
            rejected[k] += same(found, "truncation", k=k, t=12)["p_value"] < 0.05
    # 5 of 100 expected; above 12 has probability 0.0015
    assert min(rejected.values()) >= 1
    assert max(rejected.values()) <= 12
