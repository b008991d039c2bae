import pandas as pd
import pytest

from tests.claims.evidence import ARMS, gap, holm, table
from tests.simulated import Skill, study
from turnscope import budgets
from turnscope.claims import _variants
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


def seeded(env, t_max, values):
    """Write what each training seed shows at the quarters of T_max, and the headline of the arm."""
    quarters = budgets.grid(budgets.QUARTERS, t_max)
    where = {"env": env, "model": "nano"}
    rows = [
        {
            **gap(8, t, value, metric="between_arms_pair"),
            **where,
            "policy": f"budget_mix-s{seed}",
            "against": f"grpo-s{seed}",
            "seeds": 1,
        }
        for seed, found in enumerate(values)
        for t, value in zip(quarters, found, strict=True)
    ]
    means = [sum(column) / len(values) for column in zip(*values, strict=True)]
    over = [
        row(t, value, 0.5, "between_arms_seeds", p_value=0.5, **where)
        for t, value in zip(quarters, means, strict=True)
    ]
    compared = row(t_max, 0.0, 0.1, "between_arms", **where)
    last = {**gap(8, t_max, 0.3), **where, "policy": "budget_mix"}
    return [last, compared, *over, *holm("between_arms_seeds_holm", *over), *rows]


def everywhere(*rows):
    return [one for one in judge(table(*rows), ARMS) if one["env"] == "all"]


def test_environments_are_averaged_at_equal_parts_of_their_budgets():
    lake = seeded("lake", 20, [(0.10, 0.1, 0.2, 0.0), (0.20, 0.1, 0.3, 0.1), (0.30, 0.1, 0.4, 0.0)])
    code = seeded("code", 6, [(0.00, 0.2, 0.1, 0.0), (0.02, 0.0, 0.1, 0.0), (0.04, 0.1, 0.1, 0.1)])
    (found,) = everywhere(*lake, *code)
    assert (found["claim"], found["model"], found["policy"]) == ("C7a", "nano", "budget_mix")
    # seeds at 25%: 0.05, 0.11 and 0.17; standard error 0.06 / sqrt(3), two degrees of freedom
    assert "25% of T_max: +0.110 [-0.039, +0.259], p=" in found["detail"]
    assert found["value"] == pytest.approx(0.1)
    assert "lake: 25% +0.200, 50% +0.100, 75% +0.300, 100% +0.033" in found["detail"]
    assert "code: 25% +0.020" in found["detail"]


def spread(*means):
    """Give three seeds a mean at each quarter, and hardly any spread."""
    return [tuple(mean + shift for mean in means) for shift in (-0.001, 0.0, 0.001)]


@pytest.mark.parametrize(
    ("lake", "code", "expected"),
    [
        ((0.1, 0.1, 0.1, 0.0), (0.1, 0.1, 0.1, 0.0), "holds"),
        # harm in one environment is made up for by the other, in the mean
        ((-0.05, 0.1, 0.1, 0.0), (0.15, 0.1, 0.1, 0.0), "holds"),
        ((-0.1, 0.1, 0.1, 0.0), (0.1, 0.1, 0.1, 0.0), "inconclusive"),
        ((-0.2, 0.1, 0.1, 0.0), (0.1, 0.1, 0.1, 0.0), "contradicted"),
        ((0.1, 0.1, 0.1, -0.3), (0.1, 0.1, 0.1, -0.3), "holds"),  # T_max is the other claim
    ],
)
def test_the_mean_over_environments_is_judged_like_each(lake, code, expected):
    (found,) = everywhere(*seeded("lake", 20, spread(*lake)), *seeded("code", 6, spread(*code)))
    assert found["verdict"] == expected
    assert ("would be found with 80% power" in found["detail"]) == (expected == "inconclusive")


def test_the_mean_over_environments_is_judged_in_one_way_only():
    parts = [seeded(env, t, spread(0.1, 0.1, 0.1, 0.0)) for env, t in (("lake", 20), ("code", 6))]
    rows = table(*(row for part in parts for row in part))
    ledger = judge(rows, ARMS)
    assert [one["env"] for one in ledger if one["claim"] == "C7a"] == ["code", "lake", "all"]
    named = [one | {"code": "claims.budget_mix"} for one in ledger]
    robust = _variants.judge(named, rows, ARMS)
    assert {one["env"] for one in robust if one["claim"] == "C7a"} == {"code", "lake"}


def test_one_environment_has_no_mean_over_environments():
    assert everywhere(*seeded("lake", 20, spread(0.1, 0.1, 0.1, 0.0))) == []
    other = [{**one, "model": "big"} for one in seeded("code", 6, spread(0.1, 0.1, 0.1, 0.0))]
    assert everywhere(*seeded("lake", 20, spread(0.1, 0.1, 0.1, 0.0)), *other) == []


def test_without_common_seeds_the_mean_is_not_judged():
    lake, code = (seeded(env, 8, spread(0.1, 0.1, 0.1, 0.0)) for env in ("lake", "code"))
    alone = [one for one in code if one["policy"] not in ("budget_mix-s1", "budget_mix-s2")]
    (found,) = everywhere(*lake, *alone)
    assert found["verdict"] == "not run"
    assert "fewer than two training seeds" in found["detail"]
    (found,) = everywhere(*lake, *(one for one in code if "-s" not in one["policy"]))
    assert found["verdict"] == "not run"


def test_two_environments_are_judged_from_their_episodes():
    skills = {"grpo": GRPO, "budget_mix": Skill(1.5, loss=0.0)}
    trained = {f"{arm}-s{number}": one for arm, one in skills.items() for number in range(3)}
    settings = Settings(ks=[1, 8], k=8, shares=[1.0], draws=100, seed=1)
    parts = []
    for env, t_max in (("lake", 20), ("code", 6)):
        policies = {"base": Skill(-1.0), **trained}
        frames = study(t_max, tasks=40, episodes=8, t_max=t_max, policies=policies)
        frames = tuple(frame.assign(env=env) for frame in frames)
        parts += [one.estimate(*frames, settings) for one in (pass_at_kt, between_arms)]
    found = judge(pd.concat(parts), ARMS)
    (mean,) = [one for one in found if one["env"] == "all"]
    assert mean["verdict"] == "holds"
    single = [one for one in found if one["claim"] == "C7a" and one["env"] != "all"]
    assert {one["env"] for one in single} == {"lake", "code"}
