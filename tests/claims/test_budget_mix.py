import pandas as pd
import pytest

from tests.claims.evidence import ARMS, gap, holm, table
from tests.simulated import Skill, study
from turnscope.claims.budget_mix import judge
from turnscope.metrics import Settings, between_arms, pass_at_kt

QUARTERS = (5, 10, 15, 20)
WHO = {"policy": "budget_mix", "against": "grpo"}
NAN = float("nan")
GRPO = Skill(-0.5, delay=2, loss=0.1)


def row(t, value, half, metric, **columns):
    return {**gap(8, t, value, half, metric), **WHO, **columns}


def evidence(
    values=(0.1, 0.1, 0.1, 0.0),
    p_values=(0.001, 0.001, 0.001, 0.9),
    lower=(0.0, 0.015, 0.02),
    half=0.03,
    seeds=3,
):
    """Write the rows of a comparison; `lower` is value, half of the 90% interval and p."""
    value, narrow, p_value = lower
    tested = [
        row(t, x, half, "between_arms_seeds", p_value=p, seeds=seeds)
        for t, x, p in zip(QUARTERS, values, p_values, strict=True)
    ]
    return [
        {**gap(8, 20, 0.3), "policy": "budget_mix"},
        *tested,
        *holm("between_arms_seeds_holm", *tested),
        *(row(t, x, 0.01, "between_arms") for t, x in zip(QUARTERS, values, strict=True)),
        row(20, value, narrow, "between_arms_lower", p_value=p_value, seeds=seeds),
    ]


def verdict(claim, *rows):
    return next(found for found in judge(table(*rows), ARMS) if found["claim"] == claim)


@pytest.mark.parametrize(
    ("values", "p_values", "expected"),
    [
        ((0.1, 0.1, 0.1, 0.0), (0.001, 0.001, 0.001, 0.9), "holds"),
        ((0.1, 0.1, 0.1, 0.0), (0.012, 0.016, 0.024, 0.9), "holds"),
        ((0.1, 0.1, 0.1, 0.0), (0.013, 0.001, 0.001, 0.001), "holds"),
        ((0.1, 0.1, 0.1, 0.0), (0.012, 0.016, 0.026, 0.9), "inconclusive"),
        ((0.1, 0.1, 0.1, -0.1), (0.001,) * 4, "holds"),  # T_max is the other claim
        ((-0.1, 0.1, 0.1, 0.0), (0.001,) * 4, "contradicted"),
        ((-0.1, 0.1, 0.1, 0.0), (0.06, 0.001, 0.001, 0.001), "inconclusive"),
    ],
)
def test_better_at_every_small_budget(values, p_values, expected):
    found = verdict("C7a", *evidence(values, p_values))
    assert found["verdict"] == expected
    assert found["value"] == min(values[:3])
    assert found["high"] - found["low"] == pytest.approx(0.06)
    assert "Over tasks, these seeds as they are: T=5: " in found["detail"]


@pytest.mark.parametrize(
    ("value", "half", "p_value", "both", "expected"),
    [
        (0.0, 0.015, 0.02, 0.03, "holds"),
        (0.0, 0.025, 0.08, 0.03, "inconclusive"),
        (-0.06, 0.015, 0.9, 0.03, "contradicted"),
        (-0.04, 0.015, 0.9, 0.03, "inconclusive"),  # the 95% interval still holds -0.02
    ],
)
def test_parity_at_the_largest_budget(value, half, p_value, both, expected):
    values = (0.1, 0.1, 0.1, value)
    found = verdict("C7b", *evidence(values, lower=(value, half, p_value), half=both))
    assert found["verdict"] == expected
    assert (found["value"], found["low"]) == pytest.approx((value, value - half))
    assert f"p={p_value:.4f} of a loss of 0.02 or more" in found["detail"]


def test_power_over_three_seeds():
    # the standard error is 0.03 / 4.303; a one-sided t test at 5% finds 3.98 of them beyond -0.02
    detail = verdict("C7b", *evidence())["detail"]
    assert "a true difference of at least 0.008 would be found with 80% power" in detail
    # at Holm's first step, 0.05 / 4 on both sides, it takes 11.3 of them
    detail = verdict("C7a", *evidence(p_values=(0.02,) * 4))["detail"]
    assert "a true difference of at least 0.079 would be found with 80% power, each" in detail
    assert "Holm's strictest step" in detail
    assert "power" not in verdict("C7a", *evidence())["detail"]


@pytest.mark.parametrize("claim", ["C7a", "C7b"])
def test_one_seed_is_no_test(claim):
    rows = evidence(seeds=1)
    rows = [
        {**one, "low": NAN, "high": NAN, "p_value": NAN}
        if one["metric"] in ("between_arms_seeds", "between_arms_lower")
        else one
        for one in rows
        if not one["metric"].endswith("_holm")
    ]
    found = verdict(claim, *rows)
    assert found["verdict"] == "not run"
    assert "share one training seed" in found["detail"]
    same = verdict(claim, *({**one, "seeds": 3} for one in rows))
    assert "spread unknown" in same["detail"]


@pytest.mark.parametrize("claim", ["C7a", "C7b"])
def test_without_the_reference_arm_nothing_is_judged(claim):
    found = verdict(claim, {**gap(8, 20, 0.3), "policy": "budget_mix"})
    assert found["verdict"] == "not run"
    assert "not compared with grpo at k=8" in found["detail"]


def test_every_blind_arm_of_the_algorithm_is_judged_whatever_its_name():
    others = [
        {**one, "policy": name}
        for name in ("budget_mix_fine", "budget_mix_told", "ppo")
        for one in evidence()
    ]
    found = judge(table(*others, *evidence()), ARMS)
    judged = [row["policy"] for row in found if row["verdict"] != "not run"]
    assert judged == ["budget_mix", "budget_mix", "budget_mix_fine", "budget_mix_fine"]
    told = [row for row in found if row["verdict"] == "not run"]
    assert [row["claim"] for row in told] == ["C7a", "C7b"]
    assert {row["policy"] for row in told} == {"budget_mix_told"}


def test_the_adjusted_p_values_are_those_of_the_table():
    rows = [
        {**one, "value": 0.06, "p_value": 0.06} if one["metric"].endswith("_holm") else one
        for one in evidence()
    ]
    found = verdict("C7a", *rows)
    assert found["verdict"] == "inconclusive"
    assert "Holm: T=5: p=0.0600" in found["detail"]


def simulated(mixed: Skill, seed: int) -> dict[str, str]:
    """Simulate three seeds of GRPO and of BudgetMix, and judge."""
    skills = {"grpo": GRPO, "budget_mix": mixed}
    trained = {f"{arm}-s{number}": one for arm, one in skills.items() for number in range(3)}
    frames = study(seed, tasks=80, episodes=16, policies={"base": Skill(-1.0), **trained})
    settings = Settings(ks=[1, 8], k=8, shares=[1.0], draws=300, seed=1)
    found = pd.concat([one.estimate(*frames, settings) for one in (pass_at_kt, between_arms)])
    return {row["claim"]: row["verdict"] for row in judge(found, ARMS)}


def test_a_planted_lead_is_found_from_episodes_to_verdicts():
    assert simulated(Skill(1.5, loss=0.0), 1) == {"C7a": "holds", "C7b": "holds"}


@pytest.mark.parametrize("seed", range(4))
def test_equal_arms_show_no_lead(seed):
    assert simulated(GRPO, seed)["C7a"] == "inconclusive"


def test_harm_is_found():
    assert simulated(Skill(-2.5, delay=4, loss=0.2), 1) == {
        "C7a": "contradicted",
        "C7b": "contradicted",
    }
