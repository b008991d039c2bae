import logging

import numpy as np
import pandas as pd
import pytest

from tests.metrics.by_hand import ERROR, SETTINGS, episodes, tasks
from tests.simulated import study
from turnscope import estimators, tables
from turnscope.metrics import Settings
from turnscope.metrics._outcomes import read, resampling_plan
from turnscope.metrics._series import arms, bound, differences, series

TWO = {"base": {"a": [1, 3, None], "b": [None, None, 4]}}


def test_solves_are_counted_from_their_turn_on():
    n_N, c_NT = read(tasks("ab"), episodes(TWO), SETTINGS).outcomes["base"]
    assert n_N.tolist() == [3, 3]
    assert c_NT.tolist() == [[1, 1, 2, 2], [0, 0, 0, 1]]


def test_the_order_of_rows_does_not_matter():
    shuffled = episodes(TWO).sample(frac=1, random_state=np.random.RandomState(3))
    assert read(tasks("ab"), shuffled, SETTINGS).outcomes["base"].c_NT[0].tolist() == [1, 1, 2, 2]


def test_failures_of_the_environment_are_left_out_by_task():
    broken = episodes({"base": {"a": [1, ERROR, None], "b": [ERROR, ERROR, ERROR]}})
    n_N, c_NT = read(tasks("ab"), broken, SETTINGS).outcomes["base"]
    assert n_N.tolist() == [2, 0]
    assert c_NT[:, -1].tolist() == [1, 0]


def test_only_blind_episodes_under_the_largest_budget_count():
    other = {"base": {"a": [1, 1, 1], "b": [1, 1, 1]}}
    everything = pd.concat(
        [episodes(TWO), episodes(other, budget=2), episodes(other, budget=9, told=True)]
    )
    whole = read(tasks("ab"), everything, SETTINGS)
    assert whole.t_max == 4
    assert whole.outcomes["base"].c_NT[:, -1].tolist() == [2, 1]


def test_train_tasks_are_left_out():
    whole = read(tasks("ab", split=["train", "test"]), episodes(TWO), SETTINGS)
    assert whole.outcomes["base"].c_NT.tolist() == [[0, 0, 0, 1]]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (episodes({"base": {"a": [1]}}), "1 of 2 test tasks have no episodes.*'b'"),
        (pd.concat([episodes(TWO)] * 2), "occur twice"),
        (episodes({"grpo-s0": TWO["base"]}), "no episodes of policy 'base'"),
        (episodes(TWO, told=True), "no blind episodes"),
        (episodes(TWO).assign(env=["x", "y"] * 3), "one env expected, found: x, y"),
        (episodes({"base": {"a": [9], "b": [1]}}), "outside 1 to 4"),
    ],
)
def test_what_cannot_be_compared_is_refused(frame, message):
    with pytest.raises(ValueError, match=message):
        read(tasks("ab"), frame, SETTINGS)


def test_an_arm_is_the_mean_of_its_seeds_task_by_task():
    outcomes = {
        "base": {"a": [None, None], "b": [1, None]},
        "grpo-s0": {"a": [1, 1], "b": [None, None]},
        "grpo-s1": {"a": [1, None], "b": [1, ERROR]},
    }
    whole = read(tasks("ab"), episodes(outcomes), SETTINGS)
    levels = series(whole.outcomes, estimators.pass_at_k, [1, 2])
    assert [one.policy for one in levels] == ["base", "grpo-s0", "grpo-s1", "grpo"]
    arm = levels[-1]
    assert arm.seeds == 2
    assert arm.x_NKT[:, 0, -1].tolist() == [0.75, 0.5]
    assert arm.x_NKT[:, 1, -1] == pytest.approx([1.0, np.nan], nan_ok=True)
    assert arm.n_N.tolist() == [2, 1]
    gap = differences(levels)[-1]
    assert (gap.policy, gap.against) == ("grpo", "base")
    assert gap.x_NKT[:, 0, -1].tolist() == [0.75, 0.0]


def test_names_without_a_seed_are_no_arm():
    names = ["base", "oracle", "budget_mix-s1", "grpo-s10", "grpo-s2", "budget_mix-s0"]
    assert arms(names) == {
        "budget_mix": ["budget_mix-s0", "budget_mix-s1"],
        "grpo": ["grpo-s10", "grpo-s2"],
    }


def test_the_bound_of_k_attempts():
    whole = read(tasks("ab", bound=[0.0, 0.5, 0.5, 1.0]), episodes(TWO), SETTINGS)
    best = bound(whole, [1, 2])
    assert best is not None
    assert best.x_NKT[0].tolist() == [[0, 0.5, 0.5, 1], [0, 0.75, 0.75, 1]]
    assert bound(read(tasks("ab"), episodes(TWO), SETTINGS), [1]) is None


def test_a_bound_that_ends_too_early_is_refused():
    with pytest.raises(ValueError, match="bound for 2 turns, needed: 4"):
        read(tasks("ab", bound=[0.0, 0.5]), episodes(TWO), SETTINGS)


def test_few_clusters_are_strata_work_and_many_are_resampled():
    names = [str(number) for number in range(90)]
    few = tasks(names, cluster=[str(number % 29) for number in range(90)])
    assert len(set(resampling_plan(few)[0])) == 90
    many = tasks(names, cluster=[str(number % 30) for number in range(90)])
    assert len(set(resampling_plan(many)[0])) == 30
    spanning = many.assign(stratum=[str(number % 2 + number // 60) for number in range(90)])
    assert set(resampling_plan(spanning)[1]) == {0}


def test_repeated_budgets_are_logged(caplog):
    settings = Settings(ks=[1], k=1, shares=[0.1, 0.2, 1.0], draws=10, seed=1)
    with caplog.at_level(logging.INFO):
        assert read(tasks("ab"), episodes(TWO), settings).budgets == [1, 4]
    assert "{1: 2}" in caplog.text


def test_the_simulator_writes_tables_of_the_study():
    frames = study(1, tasks=9, episodes=2, resampled=[6], resampled_tasks=3, errors=0.2)
    for frame, table in zip(frames, ("tasks", "episodes"), strict=True):
        assert tables.conform(frame, table).num_rows == len(frame)


@pytest.mark.parametrize(
    "options",
    [{"ks": [0]}, {"k": 0}, {"draws": 0}, {"margin": 0.0}, {"tie": -0.1}, {"tie": 1.1}],
    ids=lambda one: "-".join(map(str, *one.items())),
)
def test_impossible_settings_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Settings(**{"ks": [1], "k": 1, "shares": [1.0], "draws": 1, "seed": 1} | options)
