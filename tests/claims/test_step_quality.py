import pytest

from tests.claims.evidence import ARMS, gap, table
from turnscope.claims import step_quality

CELLS = {
    ("step_better", "all"): 0.4,
    ("step_tie", "all"): 0.3,
    ("step_worse", "all"): 0.3,
    ("step_tie_margin", "all"): 0.125,
    ("step_better_null", "all"): 0.35,
    ("step_tie_null", "all"): 0.3,
    ("step_worse_null", "all"): 0.35,
    ("step_better_sure", "all"): 0.2,
    ("step_gap", "all"): 0.01,
    ("step_win", "all"): 0.52,
    ("step_win", "error"): 0.61,
    ("step_win", "clean"): 0.54,
    ("step_error_contrast", "error"): 0.07,
    ("step_error_contrast", "loss"): 0.05,
    ("step_error_contrast", "injected"): 0.01,
    ("step_slope", "all"): 0.08,
    ("step_win_slope", "all"): 0.09,
    ("naive_error_win", "all"): 0.66,
    ("naive_error_win_null", "all"): 0.64,
}
DEPTH = {5: -0.01, 10: 0.02, 15: 0.03, 20: 0.05}
HALF = 0.02


def evidence(policy="grpo", half=HALF, **changed):
    """Write the rows of one policy; `changed` holds values by metric, those of part `all`."""
    cells = CELLS | {(name, "all"): value for name, value in changed.items()}
    rows = [
        {**gap(0, 0, value, half, metric), "part": f"mixture/{subset}", "k": None, "t": None}
        for (metric, subset), value in cells.items()
        if value is not None
    ]
    rows += [
        {**gap(0, t, value, half, "step_gap"), "part": "mixture/all", "k": None}
        for t, value in DEPTH.items()
    ]
    return [{**row, "policy": policy} for row in rows]


def judge(*rows):
    compared = {**gap(8, 20, 0.1), "part": None}
    policies = {row["policy"] for row in rows} | {"grpo"}
    passes = [{**compared, "policy": policy} for policy in sorted(policies)]
    found = step_quality.judge(table(*rows, *passes), ARMS)
    return {row["claim"]: row for row in found if row["policy"] == "grpo"}


@pytest.mark.parametrize(
    ("better", "win", "half", "expected"),
    [
        (0.4, 0.52, 0.01, "holds"),  # better, but by less than the margin
        (0.4, 0.48, 0.1, "inconclusive"),  # 0.5 is inside, but so is 0.55: too wide
        (0.4, 0.52, 0.02, "holds"),
        (0.4, 0.54, 0.02, "inconclusive"),
        (0.4, 0.58, 0.02, "contradicted"),
        (0.56, 0.52, 0.02, "contradicted"),
        (0.49, 0.5, 0.02, "inconclusive"),  # the share may be a majority
        (0.1, 0.4, 0.02, "holds"),  # worse, so not better
        (0.1, 0.47, 0.01, "holds"),
    ],
)
def test_better_in_no_majority_and_alike(better, win, half, expected):
    row = judge(*evidence(half=half, step_better=better, step_win=win))["C3a"]
    assert row["verdict"] == expected
    assert (row["value"], row["low"]) == pytest.approx((better, better - half))
    assert row["null_value"] == 0.35
    assert f"better {better:.3f} [" in row["detail"]
    assert "mean qualities up to 0.125 apart tie" in row["detail"]
    assert "identical policies with these actions: better 0.350" in row["detail"]
    assert f"Mann-Whitney probability {win:.3f}" in row["detail"]
    assert ("with 80% power" in row["detail"]) == (expected == "inconclusive")
    assert ("worse than base's" in row["detail"]) == (win + half < 0.5)


@pytest.mark.parametrize("half", [0.01, 0.04, 0.1, 0.3])
def test_measuring_less_never_makes_better_states_a_minority(half):
    row = judge(*evidence(half=half, step_better=0.4, step_win=0.53))["C3a"]
    assert row["verdict"] == ("inconclusive" if half > 0.01 else "holds")


@pytest.mark.parametrize(
    ("contrast", "expected"),
    [(0.07, "holds"), (0.01, "inconclusive"), (-0.07, "contradicted")],
)
def test_better_after_errors(contrast, expected):
    rows = [
        row | {name: row[name] + contrast - 0.07 for name in ("value", "low", "high")}
        if row["metric"] == "step_error_contrast" and row["part"] == "mixture/error"
        else row
        for row in evidence()
    ]
    row = judge(*rows)["C3b"]
    assert row["verdict"] == expected
    assert row["value"] == pytest.approx(contrast)
    assert (row["null_value"], row["naive_value"]) == (0, 0.66)
    assert "better in 0.660 [0.640, 0.680]" in row["detail"]
    assert "identical policies show 0.640 [" in row["detail"]
    assert "injected +0.010 [-0.010, +0.030], loss +0.050 [" in row["detail"]
    assert ("80% power" in row["detail"]) == (expected == "inconclusive")


@pytest.mark.parametrize(
    ("slope", "raw", "expected"),
    [
        (0.08, 0.07, "holds"),
        (0.01, 0.07, "inconclusive"),  # only how much an action can change grows
        (0.08, 0.01, "inconclusive"),
        (-0.08, 0.07, "inconclusive"),
        (-0.08, -0.01, "inconclusive"),
        (-0.08, -0.07, "contradicted"),
    ],
)
def test_a_larger_advantage_later(slope, raw, expected):
    row = judge(*evidence(step_win_slope=slope, step_slope=raw))["C3d"]
    assert row["verdict"] == expected
    assert (row["value"], row["null_value"]) == (slope, 0)
    assert f"of the difference in quality {raw:+.3f} [" in row["detail"]
    assert "Difference in quality to turn 5: -0.010; to turn 10: +0.020" in row["detail"]
    assert ("80% power" in row["detail"]) == (expected == "inconclusive")


@pytest.mark.parametrize(
    ("metric", "part", "claim"),
    [
        ("step_better", "all", "C3a"),
        ("step_win", "all", "C3a"),
        ("step_error_contrast", "error", "C3b"),
        ("step_slope", "all", "C3d"),
        ("step_win_slope", "all", "C3d"),
    ],
)
def test_without_its_interval_a_claim_is_not_judged(metric, part, claim):
    rows = evidence()
    for row in rows:
        if row["metric"] == metric and row["part"] == f"mixture/{part}" and row["t"] is None:
            row["low"] = row["high"] = None
    found = judge(*rows)
    assert [name for name, row in found.items() if row["verdict"] == "not run"] == [claim]


def test_what_is_missing_beside_the_value_is_said():
    named = ("naive_error_win", "naive_error_win_null", "step_better_null")
    found = judge(*evidence(**dict.fromkeys(named)))
    assert found["C3b"]["naive_value"] is None
    assert "better in not estimated" in found["C3b"]["detail"]
    assert found["C3a"]["null_value"] is None
    assert "By training seed, slope of the probability: not estimated" in found["C3d"]["detail"]


def test_the_training_seeds_are_told():
    seeds = [
        row
        for number, shift in ((0, 0.06), (1, -0.04))
        for row in evidence(f"grpo-s{number}", step_win=0.5 + shift, step_win_slope=shift)
    ]
    found = judge(*evidence(), *seeds)
    words = "+0.060, -0.040 (1 above 0 and 1 below of 2)"
    assert f"By training seed, Mann-Whitney minus 0.5: {words}" in found["C3a"]["detail"]
    assert f"By training seed, slope of the probability: {words}" in found["C3d"]["detail"]
    assert "difference: +0.070, +0.070 (2 above 0" in found["C3b"]["detail"]


def test_the_papers_shares_are_checked_against_each_other():
    shares = [
        {**gap(0, 0, value, HALF, "step_error_share"), "part": part, "k": None, "t": None}
        for part, value in (("base/all", 0.1), ("trained/all", 0.3))
    ]
    assert "visited states" not in judge(*evidence(), *shares)["C3b"]["detail"]
    lake = [row | {"env": "frozen_lake"} for row in [*evidence(), *shares]]
    passes = {**gap(8, 20, 0.1), "part": None, "env": "frozen_lake"}
    found = {row["claim"]: row for row in step_quality.judge(table(*lake, passes), ARMS)}
    assert "20% are after an error; the paper's 42.8% of all" in found["C3b"]["detail"]
    assert "65.7% of error states would leave 37.1% of the others" in found["C3b"]["detail"]


def test_arms_that_were_not_compared_in_matched_states_have_no_rows():
    rows = table(*evidence(), *({**gap(8, 20, 0.1), "policy": arm} for arm in ("grpo", "ppo")))
    assert [(row["policy"], row["claim"]) for row in step_quality.judge(rows, ARMS)] == [
        ("grpo", "C3a"),
        ("grpo", "C3b"),
        ("grpo", "C3d"),
    ]
    assert step_quality.judge(table(gap(8, 20, 0.1)).assign(part=None), ARMS) == []


@pytest.mark.parametrize(("clean", "said"), [([5, 20], False), ([5], True), ([], False)])
def test_states_without_errors_that_are_all_early_are_told(clean, said):
    deep = [("clean", t) for t in clean] + [("error", t) for t in (5, 10, 20)]
    rows = [
        {**gap(0, t, 0.5, HALF, "step_win"), "part": f"mixture/{subset}", "k": None}
        for subset, t in deep
    ]
    detail = judge(*evidence(), *({**row, "policy": "grpo"} for row in rows))["C3b"]["detail"]
    assert ("among the first 5 turns, so this is a matter of depth as well" in detail) is said
