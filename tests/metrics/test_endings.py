import numpy as np
import pytest

from tests.metrics.by_hand import ERROR, SETTINGS, cell, episodes, tasks
from tests.simulated import study
from turnscope import tables as parquet
from turnscope.metrics.endings import estimate

SHARES = [f"share_{reason}" for reason in ("success", "failure", "budget", "tokens", "error")]


def played(outcomes, stops=()):
    """Write episodes that end by success, error or budget, unless `stops` says otherwise."""
    frame = episodes(outcomes)
    stop = frame["success"].map({True: "success", False: "budget"}).astype(object)
    frame["stop"] = stop.where(frame["success"].notna(), "error")
    for row, reason in dict(stops).items():
        frame.loc[row, "stop"] = reason
    return frame.assign(tokens=3 * frame["turns"], invalid=frame["turns"] - 1)


def test_shares_and_lengths_by_hand():
    # the mean over tasks of what happened at each: a has four episodes, b has two
    frame = played({"base": {"a": [1, 3, None, ERROR], "b": [None, None]}}, {4: "failure"})
    found = estimate(tasks("ab"), frame, SETTINGS)
    values = [cell(found, name, "base", k=None, t=4)["value"] for name in SHARES]
    assert values == pytest.approx([0.25, 0.25, 0.375, 0, 0.125])
    # the failed episode has no length
    turns = cell(found, "turns", "base", k=None, t=4)
    assert turns["value"] == pytest.approx(((1 + 3 + 4) / 3 + 4) / 2)
    assert cell(found, "tokens", "base", k=None, t=4)["value"] == 3 * turns["value"]
    assert cell(found, "invalid", "base", k=None, t=4)["value"] == pytest.approx(turns["value"] - 1)
    assert parquet.conform(found, "estimates").num_rows == len(found) == 8


def test_a_task_at_which_the_environment_always_failed_is_missed():
    frame = played({"base": {"a": [1, 1], "b": [ERROR, ERROR]}})
    found = estimate(tasks("ab"), frame, SETTINGS)
    assert cell(found, "share_error", "base")["value"] == 0.5
    assert cell(found, "share_error", "base")["tasks"] == 2
    assert cell(found, "turns", "base")["tasks"] == 1


def test_a_policy_whose_environment_always_failed_is_seen():
    frame = played({"base": {"a": [1, 1]}, "grpo-s0": {"a": [ERROR, ERROR]}})
    found = estimate(tasks("a"), frame, SETTINGS)
    for policy in ("grpo-s0", "grpo"):
        assert cell(found, "share_error", policy)["value"] == 1.0
        turns = cell(found, "turns", policy)
        assert np.isnan(turns["value"])
        assert turns["tasks"] == 0
    assert parquet.conform(found, "estimates").num_rows == len(found)


def test_endings_of_every_policy_and_arm_sum_to_one():
    found = estimate(*study(3, tasks=40, episodes=8, errors=0.1), SETTINGS)
    shares = found.loc[found["metric"].isin(SHARES)]
    assert set(shares["policy"]) == {"base", "grpo", "grpo-s0", "grpo-s1", "grpo-s2"}
    assert shares.groupby("policy")["value"].sum().tolist() == pytest.approx([1.0] * 5)
    assert cell(found, "share_error", "base")["value"] == pytest.approx(0.1, abs=0.05)
    arm = [cell(found, "turns", f"grpo-s{seed}")["value"] for seed in range(3)]
    assert cell(found, "turns", "grpo")["value"] == pytest.approx(np.mean(arm))


def test_only_the_largest_budget_counts():
    tasks_, frame = study(3, tasks=20, episodes=4, resampled=[6], resampled_tasks=20)
    alone = frame.loc[frame["budget"] == 20]
    assert estimate(tasks_, frame, SETTINGS).equals(estimate(tasks_, alone, SETTINGS))
