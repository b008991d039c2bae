import math

import numpy as np
import pandas as pd
import pytest

from tests.metrics.by_hand import cell, episodes, tasks
from tests.simulated import Skill, study
from turnscope import tables
from turnscope.metrics import Settings
from turnscope.metrics.between_arms import estimate
from turnscope.metrics.budget_auc import estimate as estimate_area

SETTINGS = Settings(ks=[1, 2], k=2, shares=[1.0], draws=200, seed=1)
HAND = {
    "base": {"a": [1, None], "b": [None, None]},
    "grpo-s0": {"a": [2, None], "b": [4, None]},
    "grpo-s1": {"a": [2, 2], "b": [None, None]},
    "other-s0": {"a": [1, 2], "b": [4, 4]},
    "other-s1": {"a": [1, None], "b": [4, None]},
}
THIRD = {"other-s2": {"a": [1, 1], "b": [1, 1]}}


def against_grpo(found, metric, **labels):
    return cell(found, metric, "other", against="grpo", **labels)


def test_the_mean_over_seeds_is_compared_task_by_task():
    found = estimate(tasks("ab"), episodes(HAND | THIRD), SETTINGS)
    one = against_grpo(found, "between_arms", k=1, t=4)
    # other: 5/6 at both; grpo: 3/4 and 1/4
    assert one["value"] == pytest.approx(1 / 3)
    assert (one["tasks"], one["samples"], one["seeds"]) == (2, 2, 3)
    assert (one["low"], one["high"]) == pytest.approx((1 / 12, 7 / 12))
    assert tables.conform(found, "estimates").num_rows == len(found)


def test_seeds_are_paired_by_number_and_a_lone_one_is_left_out():
    found = estimate(tasks("ab"), episodes(HAND | THIRD), SETTINGS)
    one = against_grpo(found, "between_arms_seeds", k=1, t=4)
    # 1 - 1/2 and 1/2 - 1/2; with one degree of freedom t is the Cauchy distribution
    assert one["value"] == pytest.approx(0.25)
    assert one["high"] == pytest.approx(0.25 + 0.25 * math.tan(0.475 * math.pi))
    assert one["p_value"] == pytest.approx(0.5)
    assert one["seeds"] == 2


def test_each_pair_of_seeds_is_told():
    found = estimate(tasks("ab"), episodes(HAND | THIRD), SETTINGS)
    pairs = found.loc[(found["metric"] == "between_arms_pair") & (found["k"] == 1)]
    last = pairs.loc[pairs["t"] == 4, ["policy", "against", "value", "seeds"]]
    assert last.to_numpy().tolist() == [
        ["other-s0", "grpo-s0", 0.5, 1],
        ["other-s1", "grpo-s1", 0.0, 1],
    ]
    assert pairs["low"].isna().all()
    means = pairs.groupby("t")["value"].mean()
    for t, value in means.items():
        assert against_grpo(found, "between_arms_seeds", k=1, t=t)["value"] == pytest.approx(value)


def test_parity_is_tested_on_one_side():
    found = estimate(tasks("ab"), episodes(HAND | THIRD), SETTINGS)
    one = against_grpo(found, "between_arms_lower", k=1, t=4)
    assert one["low"] == pytest.approx(0.25 - 0.25 * math.tan(0.45 * math.pi))
    assert one["p_value"] == pytest.approx(0.5 - math.atan((0.25 + 0.02) / 0.25) / math.pi)


def test_which_cells_there_are():
    frames = study(3, tasks=20, episodes=4, t_max=10, policies=arms(Skill(), Skill(0.5)))
    found = estimate(*frames, Settings(ks=[1, 2, 4], k=2, shares=[1.0], draws=50, seed=1))
    assert set(found["k"]) == {1, 2}
    quarters = {3, 5, 8, 10}
    turns = {
        metric: sorted(rows["t"].dropna().unique()) for metric, rows in found.groupby("metric")
    }
    every = list(range(1, 11))
    assert turns == {
        "between_arms": every,
        "between_arms_holm": sorted(quarters),
        "between_arms_seeds": every,
        "between_arms_seeds_holm": sorted(quarters),
        "between_arms_lower": sorted(quarters),
        "between_arms_pair": sorted(quarters),
        "between_arms_auc": [],
    }
    tested = found.loc[found["p_value"].notna() & (found["metric"] == "between_arms"), "t"]
    assert set(tested) == quarters


def test_the_area_is_that_of_the_arms():
    frames = study(3, tasks=30, episodes=4, policies=arms(Skill(), Skill(0.5)))
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=200, seed=1)
    areas, found = estimate_area(*frames, settings), estimate(*frames, settings)
    ours, theirs = (cell(areas, "budget_auc", arm, k=1)["value"] for arm in ("other", "grpo"))
    one = against_grpo(found, "between_arms_auc", k=1, t=None)
    assert one["value"] == pytest.approx(ours - theirs)
    assert 0 < one["low"] < one["value"] < one["high"]
    assert one["p_value"] < 0.05


def test_another_reference():
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=50, seed=1, reference="other")
    found = estimate(tasks("ab"), episodes(HAND), settings)
    found = found.loc[found["metric"] != "between_arms_pair"]
    assert set(found["policy"]) == {"grpo"}
    assert set(found["against"]) == {"other"}


@pytest.mark.parametrize("left", [["base"], ["base", "grpo-s0"], ["base", "other-s0"]])
def test_without_both_arms_there_is_nothing(left):
    found = estimate(tasks("ab"), episodes({name: HAND[name] for name in left}), SETTINGS)
    assert tables.conform(found, "estimates").num_rows == 0


def test_without_a_common_seed_only_tasks_speak():
    chosen = {name: HAND[name] for name in ("base", "grpo-s0", "other-s1")}
    found = estimate(tasks("ab"), episodes(chosen), SETTINGS)
    assert set(found["metric"]) == {"between_arms", "between_arms_holm", "between_arms_auc"}


def test_one_common_seed_gives_no_interval_over_seeds():
    chosen = {name: HAND[name] for name in ("base", "grpo-s0", "other-s0")}
    found = estimate(tasks("ab"), episodes(chosen), SETTINGS)
    for metric in ("between_arms_seeds", "between_arms_lower"):
        one = against_grpo(found, metric, k=1, t=4)
        assert (one["value"], one["seeds"]) == (0.5, 1)
        assert np.isnan([one["low"], one["high"], one["p_value"]]).all()
    one = against_grpo(found, "between_arms_seeds_holm", k=1, t=4)
    assert np.isnan([one["value"], one["p_value"]]).all()


@pytest.mark.parametrize("metric", ["between_arms", "between_arms_seeds"])
def test_p_values_are_adjusted_over_the_quarters_at_each_k(metric):
    frames = study(4, tasks=40, episodes=4, policies=arms(Skill(), Skill(0.3, delay=1)))
    found = estimate(*frames, Settings(ks=[1, 2], k=2, shares=[1.0], draws=300, seed=1))
    for k in (1, 2):
        pairs = [
            (against_grpo(found, metric, k=k, t=t), against_grpo(found, f"{metric}_holm", k=k, t=t))
            for t in (5, 10, 15, 20)
        ]
        raw = [plain["p_value"] for plain, _ in pairs]
        # step by step: the least times 4, the next times 3, and so on, never falling
        factors = np.maximum.accumulate([(4 - i) * p for i, p in enumerate(sorted(raw))])
        expected = dict(zip(sorted(raw), np.minimum(1, factors), strict=True))
        for plain, adjusted in pairs:
            assert adjusted["p_value"] == pytest.approx(expected[plain["p_value"]])
            assert adjusted["value"] == adjusted["p_value"]
            assert (adjusted["tasks"], adjusted["seeds"]) == (plain["tasks"], plain["seeds"])
    assert found.loc[found["metric"] == f"{metric}_holm", "low"].isna().all()


def arms(grpo: Skill, other: Skill, seeds: int = 3) -> dict[str, Skill]:
    """Give each arm some training seeds of the same skill."""
    named = {"grpo": grpo, "other": other}
    trained = {f"{arm}-s{seed}": skill for arm, skill in named.items() for seed in range(seeds)}
    return {"base": Skill(), **trained}


@pytest.mark.slow
def test_equal_arms_differ_in_one_of_twenty():
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=200, seed=1)
    over_tasks, over_seeds = 0, 0
    for seed in range(200):
        policies = arms(Skill(), Skill())
        frames = study(seed, tasks=40, episodes=4, t_max=8, policies=policies)
        found = estimate(*frames, settings)
        over_tasks += against_grpo(found, "between_arms", k=1, t=8)["p_value"] < 0.05
        over_seeds += against_grpo(found, "between_arms_seeds", k=1, t=8)["p_value"] < 0.05
    # 10 of 200 expected, standard deviation 3.1
    assert 1 <= over_tasks <= 21
    assert 1 <= over_seeds <= 21


def test_order_of_rows_does_not_matter():
    frame = episodes(HAND)
    shuffled = frame.sample(frac=1, random_state=np.random.RandomState(3))
    pd.testing.assert_frame_equal(
        estimate(tasks("ab"), shuffled, SETTINGS), estimate(tasks("ab"), frame, SETTINGS)
    )
