import pytest

from tests.claims.evidence import ARMS, gap, holm, table
from turnscope.claims.constrained import judge

QUARTERS = (3, 5, 8, 10)
WHO = {"env": "bfcl", "policy": "gigpo", "against": "grpo"}


def evidence(values=(-0.01, -0.01, -0.01, 0.3), p_values=(0.5, 0.5, 0.5, 0.5), half=0.02):
    rows = [
        {**gap(8, t, value, half, "between_arms"), **WHO, "p_value": p}
        for t, value, p in zip(QUARTERS, values, p_values, strict=True)
    ]
    size = {**gap(8, 10, 0.1), **WHO, "against": "base"}
    return [*rows, *holm("between_arms_holm", *rows), size]


def verdict(*rows):
    (found,) = judge(table(*rows), ARMS)
    return found


@pytest.mark.parametrize(
    ("values", "p_values", "half", "expected"),
    [
        # What happens at T_max does not matter; there it may help.
        ((-0.01, -0.01, -0.01, 0.3), (0.5, 0.5, 0.5, 0.001), 0.02, "holds"),
        ((-0.2, -0.2, -0.2, -0.2), (0.001,) * 4, 0.02, "holds"),
        # An interval that reaches 0.02 rules out no gain of two points.
        ((-0.01, 0.0, -0.01, 0.0), (0.5,) * 4, 0.02, "inconclusive"),
        ((-0.01, -0.01, -0.01, 0.0), (0.5,) * 4, 0.2, "inconclusive"),
        ((0.1, -0.01, -0.01, 0.0), (0.001, 0.5, 0.5, 0.5), 0.02, "contradicted"),
        ((-0.01, -0.01, 0.1, 0.0), (0.5, 0.5, 0.012, 0.5), 0.02, "contradicted"),
        # Holm: 4 x 0.02.
        ((-0.01, -0.01, 0.1, 0.0), (0.5, 0.5, 0.02, 0.5), 0.02, "inconclusive"),
    ],
)
def test_a_gain_is_ruled_out_at_every_small_budget(values, p_values, half, expected):
    row = verdict(*evidence(values, p_values, half))
    assert row["verdict"] == expected
    assert row["value"] == max(values[:3])
    assert row["claim"] == "C6b"


def test_an_open_case_tells_which_gain_may_be():
    detail = verdict(*evidence(half=0.2))["detail"]
    assert "a gain of 0.190 is not ruled out; 0.02 would have to be" in detail


@pytest.mark.parametrize("left_out", range(8))
def test_without_all_parts_nothing_is_judged(left_out):
    rows = evidence()
    del rows[left_out]
    assert verdict(*rows)["verdict"] == "not run"


def test_the_arms_of_two_algorithms_on_one_environment():
    others = [
        [{**row, **who} for row in evidence()]
        for who in (
            {"policy": "oracle_process"},
            {"policy": "gigpo_left"},
            {"policy": "ppo"},
            {"env": "frozen_lake"},
        )
    ]
    found = judge(table(*evidence(), *(row for rows in others for row in rows)), ARMS)
    assert [row["policy"] for row in found] == ["gigpo", "gigpo_left", "ppo"]
    assert {row["env"] for row in found} == {"bfcl"}


def test_the_difference_in_each_seed_is_told():
    seeds = []
    for seed, lead in ((2, 0.1), (10, -0.05)):
        rows = evidence((lead, -0.01, -0.01, 0.0))
        pairs = [{**one, "metric": "between_arms_pair", "against": f"grpo-s{seed}"} for one in rows]
        seeds += [{**one, "policy": f"gigpo-s{seed}"} for one in (*pairs[:4], rows[-1])]
    detail = verdict(*evidence(), *seeds)["detail"]
    assert "By training seed at T=3: +0.100, -0.050 (1 above 0 and 1 below of 2); T=5" in detail
    assert "By training seed: not estimated" in verdict(*evidence())["detail"]
