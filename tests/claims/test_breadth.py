import pytest

from tests.claims.evidence import ARMS, gap, table
from turnscope.claims.breadth import judge


def verdict(claim, *rows):
    return next(row for row in judge(table(*rows), ARMS) if row["claim"] == claim)


def at_t_max(*values, half=0.02):
    return [gap(k, 20, value, half) for k, value in zip((1, 8, 32), values, strict=True)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0.10, 0.08, 0.04), "holds"),
        ((0.10, 0.08, 0.025), "inconclusive"),  # the interval is above 0, the band is not
        ((0.10, 0.08, -0.025), "inconclusive"),
        ((0.10, 0.08, -0.04), "contradicted"),  # behind at one k
        ((-0.10, -0.08, -0.04), "contradicted"),
    ],
)
def test_better_at_every_k(values, expected):
    assert verdict("C1", *at_t_max(*values))["verdict"] == expected


def test_only_the_largest_budget_counts():
    rows = [*at_t_max(0.10, 0.08, 0.04), gap(8, 2, -0.5)]
    assert verdict("C1", *rows)["verdict"] == "holds"


def test_the_weakest_k_is_shown_and_an_open_case_tells_its_power():
    row = verdict("C1", *at_t_max(0.10, 0.08, 0.01))
    assert (row["value"], row["low"], row["high"]) == pytest.approx((0.01, -0.02, 0.04))
    assert "k=32: +0.010 [-0.020, +0.040]" in row["detail"]
    # half of the band, 0.03, and 0.84 standard errors of 0.02 / 1.96
    assert "difference of at least 0.039 would be found with 80% power, each" in row["detail"]


@pytest.mark.parametrize("end", ["band_k_low", "band_k_high"])
def test_without_a_band_nothing_is_judged(end):
    rows = at_t_max(0.10, 0.08, 0.04)
    rows[1][end] = float("nan")
    assert verdict("C1", *rows)["verdict"] == "not run"


def test_values_that_are_null_do_not_count():
    rows = [*at_t_max(0.10, 0.08, 0.04), {**gap(64, 20, 0.0), "value": float("nan")}]
    assert verdict("C1", *rows)["verdict"] == "holds"


def closing(first, growth):
    rows = [gap(8, 20, -0.5, metric="gap_growth_k"), gap(32, 20, growth, metric="gap_growth_k")]
    return verdict("C1b", *at_t_max(first, 0.1, 0.1), *rows)


@pytest.mark.parametrize(
    ("growth", "expected"),
    [
        (0.05, "holds"),
        (0.001, "holds"),  # above -0.02 for sure
        (-0.001, "inconclusive"),
        (-0.019, "inconclusive"),
        (-0.021, "contradicted"),
    ],
)
def test_the_gap_does_not_close(growth, expected):
    row = closing(0.1, growth)
    assert row["verdict"] == expected
    assert row["value"] == growth
    # a true growth of -0.02 + 0.02 + 0.84 x 0.02 / 1.96 is found
    power = "D(k_max) - D(1) of at least 0.009 would be found with 80% power"
    assert (power in row["detail"]) == (expected == "inconclusive")
    assert "no advantage" not in row["detail"]


@pytest.mark.parametrize(
    ("growth", "expected"), [(0.05, "inconclusive"), (0.0, "inconclusive"), (-0.05, "contradicted")]
)
def test_a_gap_that_never_was_cannot_stay_open(growth, expected):
    row = closing(0.019, growth)
    assert row["verdict"] == expected
    assert "D(1) is +0.019 [-0.001, +0.039]: no advantage was shown" in row["detail"]
    power = "a true D(1) of at least 0.029 would be found"
    assert (power in row["detail"]) == (expected == "inconclusive")


def test_without_an_interval_the_gap_is_not_judged():
    growth = gap(32, 20, 0.1, metric="gap_growth_k")
    rows = at_t_max(0.1, 0.1, 0.1)
    assert verdict("C1b", *rows, growth)["verdict"] == "holds"
    assert verdict("C1b", *rows, {**growth, "low": float("nan")})["verdict"] == "not run"
    assert verdict("C1b", *rows[1:], growth)["verdict"] == "not run"


def test_arms_are_judged_and_single_seeds_are_not():
    rows = at_t_max(0.1, 0.1, 0.1)
    single = [{**row, "policy": "grpo-s0", "seeds": 1} for row in rows]
    ceiling = [{**row, "policy": "oracle", "seeds": 0} for row in rows]
    assert {row["policy"] for row in judge(table(*rows, *single, *ceiling), ARMS)} == {"grpo"}


def test_an_arm_that_was_told_its_budget_is_not_judged_by_blind_play():
    told = [{**row, "policy": "budget_mix_told"} for row in at_t_max(0.1, 0.1, 0.1)]
    found = judge(table(*at_t_max(0.1, 0.1, 0.1), *told), ARMS)
    said = {(row["claim"], row["policy"]): row for row in found}
    assert {place for place, row in said.items() if row["verdict"] != "not run"} == {("C1", "grpo")}
    for claim in ("C1", "C1b"):
        row = said[claim, "budget_mix_told"]
        assert row["detail"].startswith("budget_mix_told was trained seeing the turns left")
        assert row["value"] is None


def test_seeds_are_told_beside_the_verdict():
    rows = at_t_max(0.1, 0.1, 0.03)
    assert "over seeds: not estimated" in verdict("C1", *rows)["detail"]
    seeds = gap(32, 20, 0.03, 0.1, metric="over_seeds")
    detail = verdict("C1", *rows, seeds)["detail"]
    assert "over 3 seeds at k=32, T=20: +0.030 [-0.070, +0.130] (t)" in detail
    assert "one training seed" in verdict("C1", *rows, {**seeds, "seeds": 1})["detail"]
