import pytest

from tests.claims.evidence import ARMS, BASIC, gap, table
from turnscope.claims.likelihood import judge
from turnscope.metrics._checks import CHECKS

SEEDS = ("grpo", "grpo-s0", "grpo-s1")


def ratio(low: float, high: float, policy: str = "grpo") -> dict:
    row = {**BASIC, "metric": "nll_ratio", "policy": policy, "seeds": 1 if "-s" in policy else 2}
    return row | {"value": (low + high) / 2, "low": low, "high": high}


def gaps(value: float, policy: str = "grpo") -> dict:
    return {**ratio(value - 1.0, value + 1.0, policy), "metric": "llr_gap"}


def level(metric: str, policy: str, value: float, part: str | None = None) -> dict:
    where = {"policy": policy, "against": None, "part": part, "seeds": int(policy != "base")}
    return {**BASIC, **where, "metric": metric, "value": value, "low": value - 1, "high": value + 1}


def checked(policy: str, **passed: float | None) -> list[dict]:
    rows = []
    for name in CHECKS:
        rows.append(level(f"sanity_{name}", policy, 0.25))
        rows.append(level(f"sanity_{name}_passed", policy, 1.0) | {"value": passed.get(name, 1.0)})
    return rows


def evidence(low: float = 1.1, high: float = 1.4, difference: float = 5.0) -> list[dict]:
    levels = [
        level(metric, policy, value)
        for metric in ("nll", "nll_median", "nll_token", "outside")
        for policy, value in (("grpo", 12.5), ("base", 10.25))
    ]
    parts = [
        level("llr", "grpo", value, f"{actor}/{subset}")
        for actor, value in (("trained", 228.0), ("base", 26.0))
        for subset in ("all", "success", "failure")
    ]
    seeds = [row for one in SEEDS[1:] for row in (ratio(low, high, one), gaps(difference, one))]
    checks = [row for one in SEEDS for row in checked(one)]
    divergence = {**gaps(9.0), "metric": "llr_divergence"}
    judged = [gap(8, 20, 0.1), ratio(low, high), gaps(difference), divergence]
    return [*judged, *seeds, *checks, *levels, *parts]


def verdicts(*rows: dict) -> dict[str, dict]:
    return {row["claim"]: row for row in judge(table(*rows), ARMS)}


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.1, 1.4, "holds"),
        (0.5, 0.9, "holds"),
        (1.3, 1.6, "inconclusive"),
        (1.4, 1.5, "inconclusive"),
        (1.6, 1.9, "contradicted"),
    ],
)
def test_actions_are_plausible_below_a_ratio(low, high, expected):
    row = verdicts(*evidence(low, high))["C4a"]
    assert row["verdict"] == expected
    assert (row["low"], row["high"], row["null_value"]) == (low, high, 1.0)
    assert "all that were sampled in the turn, its end included" in row["detail"]
    assert "12.500 of RL, 10.250 of base" in row["detail"]


def test_an_open_ratio_tells_which_power_it_had():
    # standard error 0.3 / 3.92; 0.15 + 0.8416 of it below 1.5
    detail = verdicts(*evidence(1.3, 1.6))["C4a"]["detail"]
    assert "a true ratio of at most 1.286 would be found with 80% power" in detail


@pytest.mark.parametrize(
    ("difference", "expected"), [(5.0, "holds"), (0.5, "inconclusive"), (-5.0, "contradicted")]
)
def test_successes_differ_from_base(difference, expected):
    row = verdicts(*evidence(difference=difference))["C4b"]
    assert row["verdict"] == expected
    assert (row["value"], row["null_value"]) == (difference, 0.0)
    assert (
        "+228.000 [+227.000, +229.000] of RL, +26.000 [+25.000, +27.000] of base" in row["detail"]
    )
    assert "here +9.000 [+8.000, +10.000]" in row["detail"]
    assert f"{difference:+.3f}, {difference:+.3f}" in row["detail"]
    assert ("would be found with 80% power" in row["detail"]) == (expected == "inconclusive")


@pytest.mark.parametrize("policy", SEEDS)
@pytest.mark.parametrize(
    ("passed", "why"),
    [(0.0, "failed: +0.25 [-0.75, +1.25]"), (None, "could not be made, for want of tasks")],
)
def test_a_check_that_did_not_pass_is_named(policy, passed, why):
    rows = [
        row for row in evidence() if not (row["policy"] == policy and "sanity" in row["metric"])
    ]
    row = verdicts(*rows, *checked(policy, martingale=passed))["C4b"]
    assert row["verdict"] == "not run"
    assert f"sanity check martingale of {policy} {why}" in row["detail"]


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_must_be_there(name):
    rows = [
        row
        for row in evidence()
        if (row["metric"], row["policy"]) != (f"sanity_{name}_passed", "grpo-s1")
    ]
    row = verdicts(*rows)["C4b"]
    assert row["verdict"] == "not run"
    assert f"sanity check {name} of grpo-s1 is missing" in row["detail"]


def test_no_other_check_stands_for_one():
    row = verdicts(*evidence(), level("sanity_new_passed", "grpo", 1.0))["C4b"]
    assert row["verdict"] == "not run"
    assert "sanity check new of grpo is none of base_mean, " in row["detail"]


def test_a_failed_check_is_named_before_one_that_could_not_be_made():
    rows = [row for row in evidence() if row["policy"] != "grpo" or "sanity" not in row["metric"]]
    row = verdicts(*rows, *checked("grpo", base_mean=None, temperature=0.0))["C4b"]
    assert "sanity check temperature of grpo failed" in row["detail"]


def test_without_checks_nothing_is_judged():
    rows = [row for row in evidence() if not row["metric"].startswith("sanity")]
    found = verdicts(*rows)
    assert found["C4b"]["verdict"] == "not run"
    assert "have no sanity checks" in found["C4b"]["detail"]
    assert found["C4a"]["verdict"] == "holds"


@pytest.mark.parametrize(("claim", "metric"), [("C4a", "nll_ratio"), ("C4b", "llr_gap")])
def test_without_an_interval_nothing_is_judged(claim, metric):
    none = {"low": float("nan"), "high": float("nan")}
    rows = [row | none if row["metric"] == metric else row for row in evidence()]
    assert verdicts(*rows)[claim]["verdict"] == "not run"


def test_only_arms_that_were_scored_are_judged():
    other = {**gap(8, 20, 0.1), "policy": "gigpo"}
    found = judge(table(*evidence(), other), ARMS)
    assert [(row["claim"], row["policy"]) for row in found] == [("C4a", "grpo"), ("C4b", "grpo")]
