import numpy as np
import pandas as pd
import pytest

from tests.metrics.by_hand import SETTINGS, cell, tasks
from tests.metrics.continued import continuations
from turnscope import schemas, tables
from turnscope.metrics import Settings
from turnscope.metrics.recovery import estimate

T_MAX = 8
ARM = {"k": None, "t": None}


def state(place, task, source, base, trained, **columns):
    """Write continuations of both policies from one state.

    Each is (success, turns) or (success, turns, recovered).
    """
    given = {
        "errors": "loss",
        "injected": False,
        "solved": False,
        "turn": 4,
        "best": 0.8,
        "before": 0.9,
    }
    given |= columns
    return [
        {
            "place": place,
            "task_id": task,
            "source": source,
            "actor": actor,
            "sample": sample,
            "success": one[0],
            "turns": one[1],
            "recovered": one[2] if len(one) > 2 else None,
            **given,
            "left": T_MAX - given["turn"],
        }
        for actor, played in (("base", base), ("trained", trained))
        for sample, one in enumerate(played)
    ]


def table(*states, policy="grpo-s0"):
    rows = pd.DataFrame([row for one in states for row in one])
    types = {"success": "boolean", "solved": "boolean", "recovered": "Int32", "best": float}
    rows = rows.assign(env="lake", model="nano", policy=policy, stop="budget")
    return rows.astype(types | {"before": float})


YES, NO = (True, 2), (False, 4)
HAND = table(
    state(0, "a", "base", [YES, NO], [YES, YES]),
    state(1, "b", "base", [NO, NO], [YES, NO], errors="away", solved=True),
    state(2, "b", "trained", [YES, NO], [NO, NO], errors="away loss"),
    state(3, "a", "base", [NO, NO], [(True, 3), (True, 4)], injected=True, solved=None, turn=2),
    state(4, "a", "trained", [(None, 1), YES], [NO, NO], injected=True, solved=None, best=0.6),
    state(5, "a", "trained", [(None, 1), (None, 2)], [YES, YES]),
)


def by_hand(frame=HAND, names="abc"):
    return estimate(tasks(names), frame, SETTINGS)


def value(found, metric, part, policy="grpo-s0", **labels):
    against = "base" if "gap" in metric or "both" in metric or "inter" in metric else None
    return cell(found, metric, policy, part=part, **{"against": against, **ARM, **labels})["value"]


@pytest.mark.parametrize(
    ("part", "base", "trained", "bound"),
    [
        ("base/error", 1 / 4, 3 / 4, 0.8),
        ("trained/error", 1 / 2, 0, 0.8),
        ("mixture/error", 1 / 3, 1 / 2, 0.8),
        ("mixture/loss", 1 / 2, 1 / 2, 0.8),
        ("mixture/away", 1 / 4, 1 / 4, 0.8),
        ("base/injected", 0, 1, 0.8),
        ("mixture/injected", 1 / 2, 1 / 2, 0.7),
    ],
)
def test_levels_gaps_and_bounds_by_hand(part, base, trained, bound):
    found = by_hand()
    assert value(found, "continuation_base", part) == pytest.approx(base)
    assert value(found, "continuation", part) == pytest.approx(trained)
    assert value(found, "continuation_gap", part) == pytest.approx(trained - base)
    assert value(found, "continuation_bound", part) == pytest.approx(bound)
    assert value(found, "continuation", part, "base") == pytest.approx(base)
    assert value(found, "continuation_bound", part, "bound") == pytest.approx(bound)


def test_both_sources_count_alike_however_many_states_they_have():
    found = by_hand()
    assert value(found, "continuation_both", "both/error") == pytest.approx((1 / 2 - 1 / 2) / 2)
    assert value(found, "continuation_interaction", "both/error") == pytest.approx(-1)
    one = cell(found, "continuation_both", "grpo-s0", against="base", part="both/error", **ARM)
    # the trained policy's errors are at one task, which has no interval
    assert (one["tasks"], one["samples"], one["seeds"]) == (1, 2, 1)
    assert np.isnan([one["low"], one["high"]]).all()


def test_the_naive_gap_is_that_after_lost_episodes_of_one_side():
    found = by_hand()
    assert value(found, "naive_continuation_gap", "base/error") == pytest.approx(1 / 2)
    assert value(found, "naive_continuation_mirror", "trained/error", against="base") == -1 / 2


def test_with_fewer_turns_only_states_count_that_have_them():
    found = by_hand()
    assert value(found, "continuation", "base/error", t=2) == pytest.approx(3 / 4)
    assert value(found, "continuation", "base/injected", t=4) == 1
    assert value(found, "continuation", "base/injected", t=6) == 1
    # of the injected states, one has 6 turns left and the other 4
    assert value(found, "continuation_gap", "mixture/injected", t=6) == 1
    assert "base/error" not in set(found.loc[found["t"] == 6, "part"])


def test_recovery_by_turn():
    frame = table(
        state(
            0, "a", "base", [(False, 3, 2), (False, 4), (True, 3), (False, 1)], [(False, 2, 0)] * 4
        ),
        state(1, "b", "trained", [(True, 2, 1)], [NO]),
        state(2, "c", "trained", [YES], [YES], before=None),
    )
    found = by_hand(frame)
    base = [value(found, "recovered_base", "mixture/error", t=t) for t in range(5)]
    assert base == pytest.approx([0, 1 / 2, (1 / 4 + 1) / 2, (1 / 2 + 1) / 2, 3 / 4])
    assert value(found, "recovered", "mixture/error", t=0) == 1 / 2
    assert value(found, "recovered_gap", "mixture/error", t=1) == 0
    hazard = [value(found, "recovery_hazard_base", "mixture/error", t=t) for t in (1, 2, 3, 4)]
    assert hazard == pytest.approx([1 / 2, 1 / 3, 1 / 2, 0])
    own = [value(found, "recovery_hazard", "mixture/error", t=t) for t in (1, 2, 3, 4)]
    assert own == [0, 0, 0, 0]


def test_an_arm_has_the_states_of_all_its_seeds():
    other = table(
        state(0, "c", "base", [NO] * 2, [YES] * 2),
        state(1, "c", "base", [NO] * 2, [YES] * 2),
        policy="grpo-s1",
    )
    found = by_hand(pd.concat([HAND, other]))
    assert value(found, "continuation_gap", "base/error", "grpo") == pytest.approx(3 / 4)
    one = cell(found, "continuation_gap", "grpo", against="base", part="base/error", **ARM)
    assert (one["tasks"], one["seeds"]) == (3, 2)
    assert value(found, "continuation", "base/error", "base") == pytest.approx(1 / 8)
    # the second seed came to no state after errors of its own
    assert "both/error" not in set(found.loc[found["policy"] == "grpo-s1", "part"])
    assert value(found, "continuation_both", "both/error", "grpo") == pytest.approx(1 / 8)


def test_states_without_an_error_are_left_out():
    clean = table(state(9, "a", "base", [NO], [YES], errors=""))
    pd.testing.assert_frame_equal(by_hand(pd.concat([HAND, clean])), by_hand())
    assert by_hand(clean).empty
    assert by_hand(names="xyz").empty


def test_rows_are_those_of_the_table_and_of_any_order():
    found = by_hand()
    assert tables.conform(found, "estimates").num_rows == len(found)
    assert list(found.columns) == schemas.ESTIMATES.names
    pd.testing.assert_frame_equal(by_hand(HAND[::-1]), found)


@pytest.mark.filterwarnings("error")
def test_one_source_and_one_subset_are_enough():
    found = by_hand(table(state(0, "a", "base", [YES], [NO]), state(1, "b", "base", [YES], [YES])))
    assert value(found, "continuation_gap", "base/error") == -1 / 2
    assert "continuation_both" not in set(found["metric"])


@pytest.mark.parametrize(("rho", "expected"), [(0.0, 1 / 6), (0.25, 1 / 8), (0.5, 1 / 12)])
def test_lost_episodes_make_equal_policies_differ_and_both_sources_do_not(rho, expected):
    names = [f"t{number}" for number in range(1200)]
    frame = continuations(11, names, {"grpo-s0": 0.0}, rho=rho, samples=4)
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=300, seed=5)
    found = estimate(tasks(names), frame, settings)

    def away(metric, part, truth):
        one = cell(found, metric, "grpo-s0", against="base", part=part, **ARM)
        return abs(one["value"] - truth) / ((one["high"] - one["low"]) / 3.92)

    assert away("naive_continuation_gap", "base/error", expected) < 3
    assert away("naive_continuation_mirror", "trained/error", -expected) < 3
    assert away("continuation_both", "both/error", 0) < 3
    # the trap is wider than the noise
    assert away("naive_continuation_gap", "base/error", 0) > 3


@pytest.mark.slow
def test_intervals_cover_no_difference_between_equal_policies():
    names = [f"t{number}" for number in range(60)]
    covered, hit = 0, 0
    for seed in range(100):
        frame = continuations(seed, names, {"grpo-s0": 0.0}, states=90, samples=4)
        settings = Settings(ks=[1], k=1, shares=[1.0], draws=400, seed=seed)
        found = estimate(tasks(names), frame, settings)
        one, naive = (
            cell(found, metric, "grpo-s0", against="base", part=part, **ARM)
            for metric, part in (
                ("continuation_both", "both/error"),
                ("naive_continuation_gap", "base/error"),
            )
        )
        covered += one["low"] <= 0 <= one["high"]
        hit += naive["low"] > 0
    # 95 of 100 expected, standard deviation 2.2
    assert 88 <= covered <= 99
    assert hit > 15  # 2.5 expected if there were no trap


def test_a_better_policy_is_found_from_either_source():
    names = [f"t{number}" for number in range(300)]
    frame = continuations(3, names, {"grpo-s0": 0.3, "grpo-s1": 0.3}, injected=100)
    found = estimate(tasks(names), frame, SETTINGS)
    # 0.3 of the way to 1 from values of mean 1/2
    for part in ("both/error", "both/injected"):
        one = cell(found, "continuation_both", "grpo", against="base", part=part, **ARM)
        assert one["low"] < 0.15 < one["high"]
        assert one["low"] > 0
    shares = found.loc[found["metric"].isin(["continuation", "recovered", "recovery_hazard"])]
    assert shares["value"].between(0, 1).all()
    recovered = found.loc[(found["metric"] == "recovered") & (found["policy"] == "grpo")]
    for _, rows in recovered.groupby("part"):
        assert (np.diff(rows.sort_values("t")["value"]) >= 0).all()
