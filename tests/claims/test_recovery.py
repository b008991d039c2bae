import pytest

from tests.claims.evidence import ARMS, gap, table
from turnscope.claims.recovery import judge

WHO = {"k": None, "t": None}


def estimate(metric, part, value, half=0.02, **columns):
    return {**gap(8, 20, value, half, metric), **WHO, "part": part, **columns}


def evidence(value=0.1):
    rows = [
        gap(8, 20, 0.2),
        estimate("continuation_both", "both/error", value),
        estimate("continuation_both", "both/error", 0.9, t=5),
        estimate("continuation_both", "both/loss", 0.07),
        estimate("continuation_both", "both/away", 0.12),
        estimate("continuation_both", "both/injected", 0.05),
        estimate("continuation_interaction", "both/error", -0.03),
        estimate("naive_continuation_gap", "base/error", 0.18),
        estimate("naive_continuation_mirror", "trained/error", -0.06),
    ]
    for source, levels in (("base", (0.4, 0.55, 0.9)), ("trained", (0.5, 0.6, 0.95))):
        part = f"{source}/error"
        names = ("continuation_base", "continuation", "continuation_bound")
        rows += [
            estimate(name, part, level, against=None)
            for name, level in zip(names, levels, strict=True)
        ]
        rows.append(estimate("continuation_gap", part, levels[1] - levels[0]))
    seeds = ((0, 0.15), (1, -0.05))
    rows += [
        estimate("continuation_both", "both/error", seed, policy=f"grpo-s{number}")
        for number, seed in seeds
    ]
    return rows


def verdict(*rows):
    (found,) = judge(table(*rows), ARMS)
    return found


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.1, "holds"), (0.01, "inconclusive"), (-0.01, "inconclusive"), (-0.1, "contradicted")],
)
def test_the_mean_over_both_sources_decides(value, expected):
    row = verdict(*evidence(value))
    assert (row["claim"], row["verdict"]) == ("C3c", expected)
    assert (row["value"], row["low"], row["high"]) == pytest.approx(
        (value, value - 0.02, value + 0.02)
    )
    assert (row["null_value"], row["naive_value"]) == (0.0, 0.18)


def test_all_that_stands_behind_it_is_told():
    detail = verdict(*evidence())["detail"]
    for words in (
        "after base's errors: base 0.400, grpo 0.550, bound 0.900; difference +0.150 [+0.130, ",
        "after its own errors: base 0.500, grpo 0.600, bound 0.950; difference +0.100",
        "interaction: -0.030 [-0.050, -0.010]",
        "away: +0.120 [+0.100, +0.140]; loss: +0.070 [+0.050, +0.090]; injected: +0.050",
        "after base's lost episodes alone: +0.180",
        "after its own lost episodes alone: -0.060",
        "By training seed: +0.150, -0.050 (1 above 0 and 1 below of 2)",
    ):
        assert words in detail
    assert "power" not in detail


def test_an_open_case_tells_which_power_it_had():
    detail = verdict(*evidence(0.01))["detail"]
    assert "a true difference of at least 0.029 would be found with 80% power" in detail


def test_the_headline_alone_is_enough():
    row = verdict(*evidence()[:2])
    assert row["verdict"] == "holds"
    assert row["naive_value"] is None


@pytest.mark.parametrize("lost", ["low", "value"])
def test_without_an_interval_nothing_is_judged(lost):
    rows = evidence()
    rows[1] = rows[1] | {lost: None}
    assert verdict(*rows)["verdict"] == "not run"


def test_only_arms_that_went_on_are_judged():
    others = [{**gap(8, 20, 0.2), "policy": "gigpo"}]
    assert [row["policy"] for row in judge(table(*evidence(), *others), ARMS)] == ["grpo"]
    assert judge(table(*others), ARMS) == []


def test_an_arm_that_was_trained_told_is_not_judged():
    told = [
        row | {"policy": row["policy"].replace("grpo", "budget_mix_told")} for row in evidence()
    ]
    assert verdict(*told)["verdict"] == "not run"


def test_the_rule_says_that_it_is_conditional_on_the_seeds():
    row = verdict(*evidence())
    assert "onditional on the training seeds" in row["rule"]
    assert "equal weights" in row["statistic"]
