import pytest

from tests.claims.evidence import gap, table
from turnscope.claims.breadth import judge


def verdict(claim, *rows):
    return next(row for row in judge(table(*rows)) if row["claim"] == claim)


def at_t_max(*values, half=0.02):
    return [gap(k, 20, value, half) for k, value in zip((1, 8, 32), values, strict=True)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0.10, 0.08, 0.03), "holds"),
        ((0.10, 0.08, 0.01), "inconclusive"),
        ((0.10, 0.08, -0.03), "inconclusive"),
        ((-0.10, -0.08, -0.03), "contradicted"),
    ],
)
def test_better_at_every_k(values, expected):
    assert verdict("C1", *at_t_max(*values))["verdict"] == expected


def test_only_the_largest_budget_counts():
    rows = [*at_t_max(0.10, 0.08, 0.03), gap(8, 2, -0.5)]
    assert verdict("C1", *rows)["verdict"] == "holds"


def test_the_weakest_k_is_shown_and_an_open_case_tells_its_power():
    row = verdict("C1", *at_t_max(0.10, 0.08, 0.01))
    assert (row["value"], row["low"], row["high"]) == pytest.approx((0.01, -0.01, 0.03))
    assert "k=32: +0.010 [-0.010, +0.030]" in row["detail"]
    assert "0.029 would be found with 80% power" in row["detail"]  # 2.8 / 1.96 x 0.02


def test_values_that_are_null_do_not_count():
    rows = [*at_t_max(0.10, 0.08, 0.03), {**gap(64, 20, 0.0), "value": float("nan")}]
    assert verdict("C1", *rows)["verdict"] == "holds"


@pytest.mark.parametrize(
    ("growth", "expected"), [(0.05, "holds"), (-0.01, "holds"), (-0.05, "contradicted")]
)
def test_the_gap_does_not_close(growth, expected):
    rows = [gap(8, 20, -0.5, metric="gap_growth_k"), gap(32, 20, growth, metric="gap_growth_k")]
    row = verdict("C1b", *at_t_max(0.1, 0.1, 0.1), *rows)
    assert row["verdict"] == expected
    assert row["value"] == growth
    assert ("80% power" in row["detail"]) == (expected == "holds")


def test_arms_are_judged_and_single_seeds_are_not():
    rows = at_t_max(0.1, 0.1, 0.1)
    single = [{**row, "policy": "grpo-s0", "seeds": 1} for row in rows]
    ceiling = [{**row, "policy": "oracle", "seeds": 0} for row in rows]
    assert {row["policy"] for row in judge(table(*rows, *single, *ceiling))} == {"grpo"}


def test_seeds_are_told_beside_the_verdict():
    rows = at_t_max(0.1, 0.1, 0.03)
    assert "over seeds: not estimated" in verdict("C1", *rows)["detail"]
    seeds = gap(32, 20, 0.03, 0.1, metric="over_seeds")
    detail = verdict("C1", *rows, seeds)["detail"]
    assert "over 3 seeds at k=32, T=20: +0.030 [-0.070, +0.130] (t, 2 df)" in detail
    assert "one training seed" in verdict("C1", *rows, {**seeds, "seeds": 1})["detail"]
