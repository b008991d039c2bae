import dataclasses
import itertools

import numpy as np
import pandas as pd
import pytest

from tests import simulated
from tests.claims import evidence
from tests.duels import actions, duel
from tests.metrics.by_hand import SETTINGS, cell, tasks
from turnscope import draws as seeds
from turnscope import intervals, schemas, tables
from turnscope.claims.step_quality import judge
from turnscope.metrics import Settings
from turnscope.metrics.step_quality import estimate

# T_max is 4: quarters of one turn each
HAND = pd.concat(
    [
        duel(0, [0.2, 0.4], [0.8, 0.8], task_id="a", turn=0, left=4, weight=3.0),
        duel(1, [0.5, 0.7], [0.5, 0.7], task_id="a", turn=3, left=1, errors="loss"),
        duel(2, [1.0, 0.0], [0.0, 0.0], task_id="b", turn=1, errors="loss away", source="trained"),
        duel(3, [0.4, 0.6], [0.6, 0.7], task_id="b", turn=2, left=2, source="trained", weight=5.0),
        duel(4, [1.0, 1.0], [1.0, 1.0], task_id="c", turn=2, left=2, decisive=False, weight=6.0),
        duel(5, [0.0, 1.0], [1.0, 1.0], task_id="c", injected=True, weight=None),
    ],
    ignore_index=True,
)
GAPS = [0.5, 0.0, -0.5, 0.15]
NAIVE = ("naive_error_win", "naive_error_win_null")
WINS = [1.0, 0.5, 0.25, (0.5 + 1 + 1 + 1) / 4]


def by_hand(frame=HAND, names="abcd", **settings):
    return estimate(tasks(names), frame, dataclasses.replace(SETTINGS, **settings))


def one(found, metric, part="mixture/all", policy="grpo-s0", t=None):
    return cell(found, metric, policy, against="base", part=part, k=None, t=t)


def values(found, metric, part="mixture/all", policy="grpo-s0"):
    return one(found, metric, part, policy)["value"]


@pytest.mark.parametrize(
    ("part", "states"),
    [
        ("mixture/all", [0, 1, 2, 3]),
        ("mixture/error", [1, 2]),
        ("mixture/clean", [0, 3]),
        ("mixture/loss", [1, 2]),
        ("mixture/away", [2]),
        ("base/all", [0, 1]),
        ("base/error", [1]),
        ("trained/all", [2, 3]),
        ("trained/clean", [3]),
    ],
)
def test_parts_by_hand(part, states):
    found = by_hand()
    gaps = np.array(GAPS)[states]
    assert values(found, "step_gap", part) == pytest.approx(gaps.mean())
    assert values(found, "step_win", part) == pytest.approx(np.array(WINS)[states].mean())
    assert values(found, "step_better", part) == pytest.approx((gaps > 0.01).mean())
    assert values(found, "step_tie", part) == pytest.approx((gaps == 0).mean())
    assert values(found, "step_worse", part) == pytest.approx((gaps < -0.01).mean())
    assert values(found, "step_states", part) == len(states)


def test_injected_states_are_in_no_other_part():
    found = by_hand()
    assert values(found, "step_gap", "mixture/injected") == 0.5
    assert values(found, "step_gap", "base/injected") == 0.5
    assert values(found, "step_states", "mixture/injected") == 1
    assert "trained/injected" not in set(found["part"])


def test_the_other_metrics_by_hand():
    found = by_hand()
    # the best action is worth 1: only base's first action in state 2 reaches it
    assert values(found, "step_optimal") == pytest.approx(-0.5 / 4)
    assert values(found, "step_structural_ties") == pytest.approx(1 / 5)
    assert values(found, "step_structural_ties", "base/all") == pytest.approx(1 / 3)
    contrast = values(found, "step_error_contrast", "mixture/error")
    assert contrast == pytest.approx((0.5 + 0.25) / 2 - (1.0 + 0.875) / 2)
    contrast = values(found, "step_error_contrast", "mixture/injected")
    assert contrast == pytest.approx(0.75 - (1.0 + 0.875) / 2)
    slope = np.polyfit([0, 3 / 4, 1 / 4, 2 / 4], GAPS, 1)[0]
    assert values(found, "step_slope") == pytest.approx(slope)
    slope = np.polyfit([0, 3 / 4, 1 / 4, 2 / 4], WINS, 1)[0]
    assert values(found, "step_win_slope") == pytest.approx(slope)
    # structural ties are visited too
    visited = (3 * 0.5 + 1 * 0.0 + 6 * 0.0) / 10
    assert values(found, "step_visited_gap", "base/all") == pytest.approx(visited)
    visited = (1 * -0.5 + 5 * 0.15) / 6
    assert values(found, "step_visited_gap", "trained/all") == pytest.approx(visited)
    assert values(found, "step_error_share", "base/all") == pytest.approx(1 / 10)
    assert values(found, "step_error_share", "trained/all") == pytest.approx(1 / 6)
    assert set(found.loc[found["metric"] == "step_visited_gap", "part"]) == {
        "base/all",
        "trained/all",
    }


def test_depth_by_hand():
    found = by_hand()
    for t, gap, win in zip(
        (1, 2, 3, 4), [0.5, -0.5, 0.15, 0.0], [1, 0.25, 0.875, 0.5], strict=True
    ):
        assert one(found, "step_gap", t=t)["value"] == pytest.approx(gap)
        assert one(found, "step_win", t=t)["value"] == pytest.approx(win)
    known = found.loc[(found["part"] == "mixture/error") & found["t"].notna(), "t"]
    assert set(known) == {2, 4}


def test_relabelling_and_posterior_fill_their_shares():
    found = by_hand()
    for suffix, more in (("_null", 0.0), ("_sure", values(found, "step_undetermined"))):
        parts = [values(found, f"step_{name}{suffix}") for name in ("better", "tie", "worse")]
        assert sum(parts) + more == pytest.approx(1)
    # in state 1 four actions, twice each of two: dealt out, two of six ways differ in mean
    nulls = [values(found, f"step_{name}_null", "base/error") for name in ("better", "worse")]
    assert nulls == pytest.approx([1 / 6, 1 / 6], abs=0.15)
    assert min(nulls) > 0


@pytest.mark.parametrize(
    ("tie", "shares"),
    [
        (0.0, (2, 1, 1)),
        (0.125, (2, 1, 1)),
        (0.15, (1, 2, 1)),  # 0.15 itself is a tie
        (0.5, (0, 4, 0)),
    ],
)
def test_a_larger_margin_makes_more_ties_and_changes_nothing_else(tie, shares):
    found, usual = by_hand(tie=tie), by_hand()
    for name, share in zip(("better", "tie", "worse"), shares, strict=True):
        assert values(found, f"step_{name}") == pytest.approx(share / 4)
    told = found.loc[found["metric"] == "step_tie_margin"]
    assert set(told["value"]) == {tie}
    assert told[["low", "high"]].isna().to_numpy().all()
    assert set(told["part"]) == set(found.loc[found["metric"] == "step_states", "part"])
    for metric in ("step_gap", "step_win", "step_states", "step_slope", "step_structural_ties"):
        one, other = (
            rows.loc[rows["metric"] == metric].reset_index(drop=True) for rows in (found, usual)
        )
        pd.testing.assert_frame_equal(one, other)


def test_the_margin_counts_after_dealing_out_in_the_posterior_and_for_the_naive_protocol():
    # means differ by no more than 1
    found = by_hand(tie=1.0)
    for suffix in ("_null", "_sure"):
        parts = [values(found, f"step_{name}{suffix}") for name in ("better", "tie", "worse")]
        assert parts == [0, 1, 0]
    assert not set(NAIVE) & set(found["metric"])
    assert values(by_hand(), "step_tie_margin") == 0.01


def test_the_naive_protocol_by_hand():
    # base falls short by 0.7, 0.4, 0.5 and 0.5: the lowest quarter is state 0, where it loses
    found = by_hand()
    assert values(found, "naive_error_win") == 1.0
    assert 0.5 < values(found, "naive_error_win_null") <= 1.0


def test_counts_of_data():
    found = by_hand()
    row = one(found, "step_gap")
    assert (row["tasks"], row["samples"], row["seeds"]) == (2, 2, 1)
    assert one(found, "step_structural_ties")["tasks"] == 3
    short = HAND.loc[(HAND["place"] != 3) | (HAND["actor"] == "base") | (HAND["sample"] == 0)]
    assert one(by_hand(short), "step_gap")["samples"] == 1
    assert values(by_hand(short), "step_gap") == pytest.approx((0.5 + 0 - 0.5 + 0.1) / 4)


def test_a_state_without_a_quality_on_one_side_does_not_count():
    gone = HAND.copy()
    gone.loc[(gone["place"] == 0) & (gone["actor"] == "base"), "quality"] = np.nan
    found = by_hand(gone)
    assert values(found, "step_gap") == pytest.approx((0 - 0.5 + 0.15) / 3)
    assert values(found, "step_states") == 3
    assert values(found, "step_visited_gap", "base/all") == 0


def test_unknown_decisions_are_compared():
    found = by_hand(HAND.assign(decisive=pd.array([None] * len(HAND), "boolean")))
    assert values(found, "step_gap") == pytest.approx(sum(GAPS) / 5)
    assert "step_structural_ties" not in set(found["metric"])


def test_an_arm_pools_the_states_of_its_seeds():
    more = pd.concat(
        [
            duel(0, [0.0], [1.0], "grpo-s1", task_id="a", errors="fall"),
            duel(7, [1.0], [0.5], "grpo-s1", task_id="d", turn=2, left=2),
        ]
    )
    found = by_hand(pd.concat([HAND, more]))
    assert values(found, "step_gap", policy="grpo-s1") == 0.25
    assert values(found, "step_gap", policy="grpo") == pytest.approx((sum(GAPS) + 0.5) / 6)
    assert values(found, "step_gap", "mixture/fall", "grpo") == 1.0
    row = one(found, "step_gap", policy="grpo")
    assert (row["tasks"], row["samples"], row["seeds"]) == (3, 1, 2)
    assert list(dict.fromkeys(found["policy"])) == ["grpo-s0", "grpo-s1", "grpo"]


def test_tasks_are_drawn_with_all_their_states():
    frame = actions(3, tasks("abcdefgh"), ["grpo-s0"], samples=4)
    found = by_hand(frame, "abcdefgh")
    kept = frame.loc[~frame["injected"] & frame["decisive"]]
    means = kept.pivot_table(index=["task_id", "place"], columns="actor", values="quality")
    gaps = means["trained"] - means["base"]
    total, count = (gaps.groupby("task_id").agg(how).to_numpy() for how in ("sum", "count"))
    seed = seeds.seed(SETTINGS.seed, "bootstrap", "lake", "nano")
    weights = intervals.resample(np.arange(8), np.zeros(8, int), SETTINGS.draws, seed)
    expected = np.quantile(weights @ total / (weights @ count), [0.025, 0.975])
    row = one(found, "step_gap")
    assert (row["low"], row["high"]) == pytest.approx(tuple(expected))


def test_a_single_task_has_no_interval():
    found = by_hand(HAND.loc[HAND["task_id"] == "a"])
    assert values(found, "step_gap") == 0.25
    assert np.isnan([one(found, "step_gap")[end] for end in ("low", "high")]).all()


def test_a_part_at_few_tasks_has_an_interval_where_most_draws_hold_one():
    names = [f"task {number:02}" for number in range(40)]
    states = [
        duel(number, [0.5], [0.6], task_id=name, errors="loss" if number < 5 else "")
        for number, name in enumerate(names)
    ]
    some = [duel(50 + n, [0.5], [0.9], task_id=names[n], errors="rare") for n in range(2)]
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=2000, seed=1)
    found = estimate(tasks(names), pd.concat([*states, *some]), settings)
    # of samples of 40 tasks, 0.5% hold none of 5, and 13% none of 2
    row = one(found, "step_gap", "mixture/loss")
    assert (row["low"], row["high"]) == pytest.approx((0.1, 0.1))
    assert np.isnan(one(found, "step_gap", "mixture/rare")["low"])


def test_shares_of_all_and_none_have_wilsons_interval():
    frame = pd.concat(
        [duel(n, [0.2] * 4, [0.8] * 4, task_id=name) for n, name in enumerate("abcd")]
    )
    found = by_hand(frame)
    ends = intervals.wilson(4, 4)
    row = one(found, "step_better")
    assert (row["value"], row["low"], row["high"]) == pytest.approx((1.0, *ends))
    row = one(found, "step_worse")
    assert (row["low"], row["high"]) == pytest.approx((0, 1 - ends[0]))


def test_a_contrast_counts_the_side_with_fewer_tasks():
    names = "abcdefgh"
    states = [
        duel(n, [0.1 * n], [0.5] * (2 + n % 2), task_id=name, errors="loss")
        for n, name in enumerate(names)
    ]
    clean = [duel(20 + n, [0.4, 0.6], [0.5, 0.7], task_id=name) for n, name in enumerate("abcde")]
    two = one(by_hand(pd.concat(states + clean), names), "step_error_contrast", "mixture/error")
    assert (two["tasks"], two["samples"]) == (5, 1)
    assert np.isfinite([two["low"], two["high"]]).all()
    single = one(
        by_hand(pd.concat(states + clean[:1]), names), "step_error_contrast", "mixture/error"
    )
    assert single["tasks"] == 1
    assert np.isnan([single["low"], single["high"]]).all()


def test_equally_better_actions_that_matter_more_later_are_no_growing_advantage():
    rng = np.random.Generator(np.random.PCG64(1))
    names = [f"task {number:02}" for number in range(60)]
    states = []
    for place, name in enumerate(np.repeat(names, 8)):
        turn = int(rng.integers(0, 20))
        # the better of two actions is taken with 0.5 and 0.7, and is worth more and more
        worth = (1 + turn) / 20
        base, trained = ((worth * (rng.random(8) < share)).tolist() for share in (0.5, 0.7))
        where = {"task_id": name, "turn": turn, "left": 20 - turn, "best": worth}
        states.append(duel(place, base, trained, **where))
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=500, seed=1)
    found = estimate(tasks(names), pd.concat(states), settings)
    raw, fair = (one(found, name) for name in ("step_slope", "step_win_slope"))
    assert raw["low"] > 0.1
    assert fair["low"] < 0 < fair["high"]
    assert fair["value"] == pytest.approx(0, abs=0.06)
    arm = found.assign(policy="grpo").loc[found["policy"] == "grpo-s0"]
    passes = pd.DataFrame([{**evidence.gap(8, 20, 0.1), "part": None}])
    rows = pd.concat([arm, passes.assign(env="lake", model="nano", policy="grpo")])
    verdicts = {row["claim"]: row["verdict"] for row in judge(rows, evidence.ARMS)}
    assert verdicts["C3d"] == "inconclusive"


def test_without_qualities_or_states_there_is_nothing():
    empty = schemas.ACTIONS.empty_table().to_pandas()
    for frame in (empty, HAND.assign(quality=np.nan), HAND.assign(task_id="gone")):
        assert tables.conform(by_hand(frame), "estimates").num_rows == 0


def test_an_action_twice_is_refused():
    with pytest.raises(ValueError, match="grpo-s0: some actions in matched states occur twice"):
        by_hand(pd.concat([HAND, HAND.iloc[:1]]))


def test_the_order_of_the_rows_does_not_matter():
    shuffled = HAND.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(by_hand(shuffled), by_hand())


@pytest.fixture(scope="module")
def identical():
    test_tasks, _ = simulated.study(1, tasks=120, episodes=1)
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=1000, seed=1)
    return estimate(test_tasks, actions(1, test_tasks), settings)


def test_identical_policies_show_the_artefact_by_the_naive_protocol_alone(identical):
    naive, null = (one(identical, name, policy="grpo") for name in NAIVE)
    assert min(naive["low"], null["low"]) > 0.5
    assert naive["low"] < null["value"] < naive["high"]
    better, worse = (one(identical, f"step_{name}", policy="grpo") for name in ("better", "worse"))
    assert max(better["high"], worse["high"]) < 0.5
    for part in ("mixture/all", "mixture/error", "mixture/clean", "mixture/injected"):
        win, gap = (one(identical, name, part, "grpo") for name in ("step_win", "step_gap"))
        assert win["low"] < 0.5 < win["high"]
        assert gap["low"] < 0 < gap["high"]
        for share in ("better", "tie", "worse"):
            row = one(identical, f"step_{share}", part, "grpo")
            assert row["low"] < values(identical, f"step_{share}_null", part, "grpo") < row["high"]
    for metric, part in (
        ("step_error_contrast", "mixture/error"),
        ("step_slope", "mixture/all"),
        ("step_win_slope", "mixture/all"),
    ):
        row = one(identical, metric, part, "grpo")
        assert row["low"] < 0 < row["high"]


def test_a_lift_is_found():
    test_tasks, _ = simulated.study(1, tasks=60, episodes=1)
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=300, seed=1)
    found = estimate(test_tasks, actions(1, test_tasks, lift=0.15), settings)
    for policy, part in itertools.product(("grpo-s0", "grpo-s1", "grpo"), ("mixture", "base")):
        assert one(found, "step_win", f"{part}/all", policy)["low"] > 0.5
        assert one(found, "step_gap", f"{part}/all", policy)["low"] > 0
        assert one(found, "step_optimal", f"{part}/all", policy)["low"] > 0


@pytest.mark.slow
def test_intervals_of_the_contrast_hold_identical_policies():
    covered, replications = 0, 60
    test_tasks, _ = simulated.study(1, tasks=50, episodes=1)
    for seed in range(replications):
        settings = Settings(ks=[1], k=1, shares=[1.0], draws=400, seed=seed)
        frame = actions(seed, test_tasks, ["grpo-s0"], per_task=4, samples=8)
        row = one(estimate(test_tasks, frame, settings), "step_error_contrast", "mixture/error")
        covered += row["low"] <= 0 <= row["high"]
    # 95% of 60 is 57, standard deviation 1.7
    assert covered >= 51
