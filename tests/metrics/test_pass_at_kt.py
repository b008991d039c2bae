import numpy as np
import pytest

from tests.metrics.by_hand import ERROR, SETTINGS, cell, episodes, tasks
from tests.simulated import study
from turnscope import tables
from turnscope.metrics import Settings
from turnscope.metrics.pass_at_kt import estimate

HAND = {
    "base": {"a": [1, 3, None], "b": [None, None, 4]},
    "grpo-s0": {"a": [2, 2, 2], "b": [4, 4, None]},
}
KS = Settings(ks=[1, 2, 4, 8], k=8, shares=[0.1, 0.3, 1.0], draws=500, seed=1)


@pytest.fixture(scope="module")
def simulated():
    return estimate(*study(2, tasks=60, episodes=8), KS)


def test_by_hand():
    found = estimate(tasks("ab"), episodes(HAND), SETTINGS)
    assert cell(found, "pass_at_k", "base", k=1, t=4)["value"] == pytest.approx(1 / 2)
    assert cell(found, "pass_at_k", "base", k=2, t=4)["value"] == pytest.approx((1 + 2 / 3) / 2)
    assert cell(found, "pass_at_k", "base", k=2, t=1)["value"] == pytest.approx(1 / 3)
    assert cell(found, "pass_hat_k", "base", k=2, t=4)["value"] == pytest.approx(1 / 6)
    assert cell(found, "avg_at_n", "base", k=None, t=3)["value"] == pytest.approx(1 / 3)
    gap = cell(found, "pass_at_k", "grpo", against="base", k=1, t=4)
    assert gap["value"] == pytest.approx(5 / 6 - 1 / 2)
    assert (gap["tasks"], gap["samples"], gap["seeds"]) == (2, 3, 1)


def test_more_attempts_than_episodes_are_null():
    settings = Settings(ks=[4], k=2, shares=[1.0], draws=50, seed=1)
    found = estimate(tasks("ab"), episodes(HAND), settings)
    one = cell(found, "pass_at_k", "base", k=4, t=4)
    assert np.isnan([one["value"], one["low"], one["high"]]).all()
    assert (one["tasks"], one["samples"]) == (0, 0)


def test_tasks_with_too_few_episodes_are_left_out_and_counted():
    outcomes = {"base": {"a": [1, None, None], "b": [1, ERROR, ERROR]}}
    found = estimate(tasks("ab"), episodes(outcomes), SETTINGS)
    both, one = (cell(found, "pass_at_k", "base", k=k, t=4) for k in (1, 2))
    assert both["value"] == pytest.approx((1 / 3 + 1) / 2)
    assert (both["tasks"], both["samples"]) == (2, 1)
    assert one["value"] == pytest.approx(2 / 3)
    assert (one["tasks"], one["samples"]) == (1, 3)


def test_a_difference_is_over_the_tasks_that_both_have():
    names = "abcdefghijk"
    outcomes = {
        "base": {name: [1, 1] for name in names},
        "grpo-s0": {name: [1, None] for name in names} | {"a": [ERROR, ERROR], "b": [1, 1]},
    }
    found = estimate(tasks(names), episodes(outcomes), SETTINGS)
    gap = cell(found, "pass_at_k", "grpo", against="base", k=1, t=4)
    assert (gap["value"], gap["tasks"]) == (pytest.approx(-0.45), 10)
    assert -0.5 <= gap["low"] < gap["value"] < gap["high"] < 0


def test_too_few_tasks_for_every_draw_to_hold_one_give_no_interval():
    outcomes = {"base": {"a": [1, None], "b": [ERROR, ERROR]}}
    found = estimate(tasks("ab"), episodes(outcomes), SETTINGS)
    one = cell(found, "pass_at_k", "base", k=1, t=4)
    assert one["value"] == pytest.approx(0.5)
    assert np.isnan([one["low"], one["high"]]).all()


def test_failures_of_the_environment_as_failures_of_the_policy():
    outcomes = {"base": {"a": [1, None, None], "b": [1, ERROR, ERROR]}}
    found = estimate(tasks("ab"), episodes(outcomes), SETTINGS)
    assert cell(found, "pass_at_k_errors_failed", "base", k=1, t=4)["value"] == pytest.approx(1 / 3)
    clean = estimate(tasks("ab"), episodes(HAND), SETTINGS)
    assert "pass_at_k_errors_failed" not in set(clean["metric"])


def test_bound_and_headroom():
    found = estimate(tasks("ab", bound=[0.5, 0.5, 1.0, 1.0]), episodes(HAND), SETTINGS)
    assert cell(found, "bound", "bound", k=2, t=1)["value"] == pytest.approx(0.75)
    assert cell(found, "headroom", "base", k=2, t=1)["value"] == pytest.approx(0.75 - 1 / 3)
    assert cell(found, "headroom", "grpo", k=1, t=4)["value"] == pytest.approx(1 / 6)


def test_the_gap_grows_by_the_difference_of_two_differences(simulated):
    def gap(k, t):
        return cell(simulated, "pass_at_k", "grpo", against="base", k=k, t=t)["value"]

    over_k = cell(simulated, "gap_growth_k", "grpo", against="base", k=8, t=20)
    assert over_k["value"] == pytest.approx(gap(8, 20) - gap(1, 20))
    over_t = cell(simulated, "gap_growth_t", "grpo", against="base", k=8, t=6)
    assert over_t["value"] == pytest.approx(gap(8, 20) - gap(8, 6))
    assert over_t["low"] < over_t["value"] < over_t["high"]


def test_nothing_solvable_yet_is_zero_with_an_interval(simulated):
    level = cell(simulated, "pass_at_k", "base", k=8, t=1)
    assert (level["value"], level["low"]) == (0, 0)
    assert level["high"] == pytest.approx(0.0602, abs=1e-3)  # Wilson, 0 of 60 tasks
    gap = cell(simulated, "pass_at_k", "grpo", against="base", k=8, t=1)
    assert (gap["value"], gap["band_t_low"], gap["band_t_high"]) == (0, 0, 0)


def test_curves_never_fall_and_lie_below_the_bound(simulated):
    levels = simulated[(simulated["metric"] == "pass_at_k") & simulated["against"].isna()]
    for _, one in levels.groupby("policy"):
        surface = one.pivot_table(index="k", columns="t", values="value").to_numpy(float)
        assert (np.diff(surface, axis=0) >= -1e-12).all()
        assert (np.diff(surface, axis=1) >= -1e-12).all()
    assert (simulated.loc[simulated["metric"] == "headroom", "value"] > -0.05).all()


def test_bands_hold_the_pointwise_intervals_and_tests_are_at_grid_and_quarters(simulated):
    gaps = simulated[(simulated["metric"] == "pass_at_k") & simulated["against"].notna()]
    varying = gaps[gaps["high"] - gaps["low"] > 1e-9]
    width = varying["high"] - varying["low"]
    assert ((varying["band_t_high"] - varying["band_t_low"]) > 0.9 * width).all()
    assert ((varying["band_k_high"] - varying["band_k_low"]) > 0.9 * width).all()
    assert set(gaps.loc[gaps["p_value"].notna(), "t"]) == {2, 6, 20} | {5, 10, 15}


def test_noise_of_the_episodes_is_smaller_than_that_of_the_tasks(simulated):
    noise = cell(simulated, "evaluation_noise", "base", k=1, t=20)["value"]
    level = cell(simulated, "pass_at_k", "base", k=1, t=20)
    assert 0 < noise < (level["high"] - level["low"]) / 3.92
    assert np.isnan(cell(simulated, "evaluation_noise", "base", k=8, t=20)["value"])


def test_rows_are_those_of_the_table_and_the_same_every_time(simulated):
    again = estimate(*study(2, tasks=60, episodes=8), KS)
    assert tables.conform(again, "estimates").equals(tables.conform(simulated, "estimates"))


def test_another_seed_moves_intervals_but_no_value(simulated):
    frames = study(2, tasks=60, episodes=8)
    other = estimate(*frames, Settings(ks=KS.ks, k=8, shares=KS.shares, draws=500, seed=2))
    drawn = simulated["metric"] == "pass_at_k_holm"  # a p-value, from random signs
    assert other.loc[~drawn, "value"].equals(simulated.loc[~drawn, "value"])
    assert not other["low"].equals(simulated["low"])


def test_p_values_against_base_are_adjusted_over_the_quarters(simulated):
    adjusted = simulated.loc[simulated["metric"] == "pass_at_k_holm"]
    assert set(adjusted["t"]) == {5, 10, 15, 20}
    assert set(adjusted["k"]) == {1, 2, 4, 8}
    assert set(adjusted["against"]) == {"base"}
    raw = {
        t: cell(simulated, "pass_at_k", "grpo", against="base", k=8, t=t)["p_value"]
        for t in (5, 10, 15, 20)
    }
    least = min(raw, key=lambda t: raw[t])
    one = cell(simulated, "pass_at_k_holm", "grpo", against="base", k=8, t=least)
    assert one["p_value"] == pytest.approx(min(1.0, 4 * raw[least]))
    assert one["value"] == one["p_value"]
    assert np.isnan([one["low"], one["band_t_low"]]).all()
