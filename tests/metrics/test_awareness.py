import numpy as np
import pandas as pd
import pytest

from tests.metrics.by_hand import ERROR, SETTINGS, cell, episodes, tasks
from tests.simulated import Skill, study
from turnscope import tables
from turnscope.metrics import Settings
from turnscope.metrics.awareness import estimate

BLIND = {"base": {"a": [1, 3, 2, None], "b": [4, 4, 4, 4], "c": [1, 1, 1, 1]}}
TOLD = {"base": {"a": [1, 1], "b": [None, 2]}}


def both(blind: dict, told: dict, budget: int = 2) -> pd.DataFrame:
    return pd.concat([episodes(blind), episodes(told, budget=budget, told=True)])


def test_success_by_hand():
    found = estimate(tasks("abc"), both(BLIND, TOLD), SETTINGS)
    one = cell(found, "told", "base", k=1, t=2)
    assert (one["value"], one["tasks"], one["samples"]) == (0.75, 2, 2)
    assert cell(found, "told", "base", k=2, t=2)["value"] == 1.0
    # the first two blind episodes of each task, cut at 2: 1/2 and 0
    gap = cell(found, "awareness", "base", against="base", k=1, t=2)
    assert (gap["value"], gap["tasks"], gap["samples"]) == (0.5, 2, 2)
    assert (gap["low"], gap["high"]) == (0.5, 0.5)
    assert tables.conform(found, "estimates").num_rows == len(found)


def test_turns_by_hand():
    found = estimate(tasks("abc"), both(BLIND, TOLD), SETTINGS)
    assert cell(found, "told_turns", "base", k=None, t=2)["value"] == (1 + 2) / 2
    blind = cell(found, "blind_turns", "base", k=None, t=2)
    assert (blind["value"], blind["tasks"]) == ((7 / 4 + 2) / 2, 2)


def test_solve_turns_by_hand():
    told = {"base": {"a": [1, 3, None, ERROR], "b": [2, None, 3, 3]}}
    found = estimate(tasks("abc"), both(BLIND, told, budget=3), SETTINGS)
    for t, one, other in ((1, 1 / 3, 0), (2, 1 / 3, 1 / 4), (3, 2 / 3, 3 / 4)):
        solved = cell(found, "told_solved_3", "base", k=None, t=t)
        assert solved["value"] == pytest.approx((one + other) / 2)
        assert (solved["tasks"], solved["samples"]) == (2, 3)
    last = cell(found, "told", "base", k=1, t=3)
    assert [solved[name] for name in ("value", "low", "high")] == pytest.approx(
        [last[name] for name in ("value", "low", "high")]
    )


def test_failures_of_the_environment_are_left_out():
    told = {"base": {"a": [1, ERROR], "b": [2, 2]}}
    found = estimate(tasks("abc"), both(BLIND, told), SETTINGS)
    assert cell(found, "told", "base", k=1, t=2)["value"] == 1.0
    assert cell(found, "told_turns", "base", k=None, t=2)["value"] == 1.5
    # one episode of each kind at a, two at b
    assert cell(found, "awareness", "base", against="base", k=1, t=2)["value"] == 0.5


def test_more_attempts_than_told_episodes_are_null():
    settings = Settings(ks=[4], k=4, shares=[1.0], draws=50, seed=1)
    found = estimate(tasks("abc"), both(BLIND, TOLD), settings)
    one = cell(found, "told", "base", k=4, t=2)
    assert np.isnan([one["value"], one["low"], one["high"]]).all()
    assert one["tasks"] == 0
    assert np.isnan(cell(found, "awareness", "base", against="base", k=4, t=2)["value"])


def test_only_policies_and_budgets_that_were_told():
    shown = {f"arm-s{seed}": TOLD["base"] for seed in range(2)}
    blind = BLIND | {f"{arm}-s{seed}": BLIND["base"] for arm in ("arm", "grpo") for seed in (0, 1)}
    found = estimate(tasks("abc"), both(blind, shown, budget=3), SETTINGS)
    assert set(found["policy"]) == {"arm", "arm-s0", "arm-s1"}
    assert set(found.loc[found["metric"] != "told_solved_3", "t"]) == {3}
    arm = cell(found, "awareness", "arm", against="arm", k=1, t=3)
    assert (arm["seeds"], arm["value"]) == (2, 0.25)


def test_a_budget_that_changes_nothing_is_no_awareness():
    one = {"base": Skill()}
    options = {"told": [6, 20], "resampled_tasks": 300, "resampled_episodes": 8}
    frames = study(5, tasks=300, episodes=16, policies=one, **options)
    settings = Settings(ks=[1, 8], k=8, shares=[1.0], draws=1000, seed=1)
    found = estimate(*frames, settings)
    for t in (6, 20):
        gap = cell(found, "awareness", "base", against="base", k=1, t=t)
        assert gap["low"] < 0 < gap["high"]
        assert gap["p_value"] > 0.05


def test_a_policy_that_hurries_when_told_is_seen():
    tasks_, blind = study(5, tasks=100, episodes=16, policies={"base": Skill()})
    hasty = {"base": Skill(shift=1.0)}
    _, told = study(5, tasks=100, policies=hasty, told=[6], resampled_tasks=100)
    frame = pd.concat([blind, told.loc[told["told"]]])
    settings = Settings(ks=[1, 8], k=8, shares=[1.0], draws=500, seed=1)
    found = estimate(tasks_, frame, settings)
    gap = cell(found, "awareness", "base", against="base", k=1, t=6)
    assert gap["low"] > 0
    assert gap["p_value"] < 0.01
    turns = [cell(found, name, "base", k=None, t=6) for name in ("told_turns", "blind_turns")]
    assert turns[0]["value"] < turns[1]["value"]


def test_without_told_episodes_there_is_nothing():
    found = estimate(tasks("abc"), episodes(BLIND), SETTINGS)
    assert tables.conform(found, "estimates").num_rows == 0
