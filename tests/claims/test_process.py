import pytest

from tests.claims.evidence import ARMS, gap, holm, table
from turnscope.claims.process import judge

QUARTERS = (5, 10, 15, 20)
WHO = {"env": "frozen_lake", "policy": "gigpo"}


def evidence(values=(0.1, 0.1, 0.1, 0.1), p_values=(0.001, 0.001, 0.001, 0.001), area=0.05):
    rows = [
        {**gap(8, t, value), **WHO, "p_value": p}
        for t, value, p in zip(QUARTERS, values, p_values, strict=True)
    ]
    adjusted = holm("pass_at_k_holm", *rows)
    return [
        *rows,
        *adjusted,
        {**gap(8, 0, area, metric="between_arms_auc"), **WHO, "against": "grpo"},
    ]


def verdict(*rows):
    (found,) = judge(table(*rows), ARMS)
    return found


@pytest.mark.parametrize(
    ("values", "p_values", "area", "expected"),
    [
        ((0.1, 0.1, 0.1, 0.1), (0.001,) * 4, 0.05, "holds"),
        # Holm: 4 x 0.012, 3 x 0.016, 2 x 0.02, 0.04
        ((0.1, 0.1, 0.1, 0.1), (0.012, 0.016, 0.02, 0.04), 0.05, "holds"),
        ((0.1, 0.1, 0.1, 0.1), (0.02, 0.02, 0.02, 0.02), 0.05, "inconclusive"),
        ((0.1, 0.1, 0.1, 0.1), (0.001,) * 4, 0.01, "inconclusive"),
        ((0.1, 0.1, 0.1, 0.1), (0.001,) * 4, -0.03, "contradicted"),
        ((-0.1, 0.1, 0.1, 0.1), (0.001,) * 4, 0.05, "contradicted"),
        ((-0.1, 0.1, 0.1, 0.1), (0.06, 0.001, 0.001, 0.001), 0.05, "inconclusive"),
    ],
)
def test_ahead_at_every_budget_and_robust(values, p_values, area, expected):
    row = verdict(*evidence(values, p_values, area))
    assert row["verdict"] == expected
    assert row["value"] == min(values)
    assert f"budget AUC minus that of grpo: {area:+.3f}" in row["detail"]


def test_an_open_case_tells_which_power_it_had():
    detail = verdict(*evidence(p_values=(0.02,) * 4))["detail"]
    assert "a true D of at least 0.029 would be found with 80% power, each by itself" in detail
    assert "AUC of at least" not in detail
    detail = verdict(*evidence(area=0.01))["detail"]
    assert "a true difference in AUC of at least 0.029" in detail


@pytest.mark.parametrize("left_out", range(9))
def test_without_all_parts_nothing_is_judged(left_out):
    rows = evidence()
    del rows[left_out]
    # the largest budget is that of any row of the comparison
    rows.append({**gap(1, 20, 0.1), **WHO})
    assert verdict(*rows)["verdict"] == "not run"


def test_the_arms_of_two_algorithms_on_one_environment():
    others = [
        [{**row, **who} for row in evidence()]
        for who in (
            {"policy": "oracle_process"},
            {"policy": "gigpo_left"},
            {"policy": "ppo"},
            {"env": "bfcl"},
        )
    ]
    found = judge(table(*evidence(), *(row for rows in others for row in rows)), ARMS)
    assert [row["policy"] for row in found] == ["gigpo", "gigpo_left", "oracle_process"]
    assert {row["env"] for row in found} == {"frozen_lake"}


def test_the_sign_of_each_seed_is_told():
    seeds = [
        {**row, "policy": f"gigpo-s{seed}"}
        for seed, lead in ((10, -0.05), (2, 0.1))
        for row in evidence(values=(lead, 0.1, 0.1, 0.1))
    ]
    detail = verdict(*evidence(), *seeds)["detail"]
    assert "D by training seed at T=5: +0.100, -0.050 (1 above 0 and 1 below of 2); T=10" in detail
    assert "By training seed: not estimated" in verdict(*evidence())["detail"]


def test_the_rule_says_that_it_is_conditional_on_the_seeds():
    assert "conditional on the training seeds" in verdict(*evidence())["rule"]
