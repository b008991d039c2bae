import numpy as np
import pandas as pd
import pytest

from tests.metrics.by_hand import ERROR, SETTINGS, cell, episodes, tasks
from tests.simulated import Skill, study
from turnscope import intervals, schemas, survival, tables
from turnscope.metrics import Settings, pass_at_kt
from turnscope.metrics._outcomes import read
from turnscope.metrics.survival import ends, estimate

LOST = "lost"


def played(outcomes, budget=4):
    """Write episodes; (LOST, t) is lost for good at turn t, a number solved, None neither."""
    plain = {
        policy: {
            task: [None if isinstance(turn, tuple) else turn for turn in turns]
            for task, turns in by_task.items()
        }
        for policy, by_task in outcomes.items()
    }
    frame = episodes(plain, budget)
    ends = [turn for by_task in outcomes.values() for turns in by_task.values() for turn in turns]
    lost = np.array([isinstance(turn, tuple) for turn in ends])
    turns = [
        end[1] if isinstance(end, tuple) else turn
        for end, turn in zip(ends, frame["turns"], strict=True)
    ]
    reasons = np.where(frame["success"].fillna(False), "success", "budget")
    reasons[frame["success"].isna()] = "error"
    reasons[lost] = "failure"
    return frame.assign(turns=turns, stop=reasons)


HAND = played(
    {
        "base": {"a": [1, 3, (LOST, 2), None], "b": [(LOST, 1), (LOST, 3)]},
        "grpo-s0": {"a": [1, 1, (LOST, 4), 2], "b": [2, ERROR]},
        "grpo-s1": {"a": [2, None], "b": [(LOST, 2), 3]},
    }
)


def by_hand(frame=HAND, names="ab"):
    return estimate(tasks(names), frame, SETTINGS)


def column(found, metric, policy="base", against=None):
    return [
        cell(found, metric, policy, against=against, k=None, t=t)["value"] for t in (1, 2, 3, 4)
    ]


def test_levels_by_hand():
    found = by_hand()
    # every task counts once: shares of a and of b, halved
    assert column(found, "cif_solved") == pytest.approx([1 / 8, 1 / 8, 2 / 8, 2 / 8])
    assert column(found, "cif_failed") == pytest.approx([2 / 8, 3 / 8, 5 / 8, 5 / 8])
    risk = [1, 5 / 8, 4 / 8, 1 / 8]
    solved, lost = np.array([1, 0, 1, 0]) / 8, np.array([2, 1, 2, 0]) / 8
    assert column(found, "hazard_solved") == pytest.approx(list(solved / risk))
    assert column(found, "hazard_failed") == pytest.approx(list(lost / risk))
    naive = 1 - np.cumprod(1 - solved / risk)
    assert column(found, "survival_naive") == pytest.approx(list(naive))
    assert naive[-1] == pytest.approx(1 - 7 / 8 * 3 / 4)


def test_an_arm_is_the_mean_of_its_seeds_and_errors_are_left_out():
    found = by_hand()
    assert column(found, "cif_solved", "grpo-s0")[1] == pytest.approx((3 / 4 + 1) / 2)
    assert column(found, "cif_solved", "grpo-s1")[1] == pytest.approx((1 / 2 + 0) / 2)
    assert column(found, "cif_solved", "grpo")[1] == pytest.approx((7 / 8 + 1 / 4) / 2)
    one = cell(found, "cif_solved", "grpo", k=None, t=4)
    assert (one["tasks"], one["samples"], one["seeds"]) == (2, 1, 2)


def test_gaps_are_those_of_the_levels():
    found = by_hand()
    for name in ("cif_failed", "survival_naive", "hazard_solved", "hazard_failed"):
        mine, theirs = column(found, name, "grpo"), column(found, name)
        expected = np.array(mine) - theirs
        # the arm has nothing at risk at turn 4 of task b, base has: pooled, both have some
        assert column(found, f"{name}_gap", "grpo", "base") == pytest.approx(list(expected))
    assert "cif_solved_gap" not in set(found["metric"])


def test_solving_is_pass_at_1():
    frames = study(3, tasks=40, episodes=8, t_max=6, errors=0.05)
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=300, seed=2)
    mine, theirs = estimate(*frames, settings), pass_at_kt.estimate(*frames, settings)
    keys = ["policy", "t"]
    mine = mine[mine["metric"] == "cif_solved"].set_index(keys).sort_index()
    theirs = theirs[(theirs["metric"] == "pass_at_k") & theirs["against"].isna()]
    theirs = theirs.set_index(keys).sort_index()
    for name in ("value", "low", "high"):
        np.testing.assert_allclose(mine[name], theirs[name], atol=1e-9)
    assert mine["tasks"].tolist() == theirs["tasks"].tolist()


def test_a_task_whose_environment_always_failed_is_not_paired():
    frame = played(
        {"base": {"a": [1, None], "b": [(LOST, 1), 2]}, "grpo-s0": {"a": [2, 2], "b": [ERROR] * 2}}
    )
    found = by_hand(frame)
    gap = cell(found, "cif_failed_gap", "grpo-s0", against="base", k=None, t=1)
    assert (gap["value"], gap["tasks"]) == (0, 1)
    assert cell(found, "cif_failed", "base", k=None, t=1)["value"] == 1 / 4
    assert cell(found, "hazard_solved_gap", "grpo-s0", against="base", k=None, t=1)[
        "value"
    ] == pytest.approx(-1 / 2)


def test_running_out_of_tokens_is_being_lost():
    frame = played({"base": {"a": [1, None]}, "grpo-s0": {"a": [None, None]}})
    out = (frame["policy"] == "base") & (frame["sample"] == 1)
    frame = frame.assign(stop=frame["stop"].mask(out, "tokens"), turns=frame["turns"].mask(out, 3))
    assert column(by_hand(frame, "a"), "cif_failed") == [0, 0, 1 / 2, 1 / 2]


def test_where_nothing_was_ever_solved_the_interval_is_wilsons():
    found = by_hand()
    one = cell(found, "cif_failed", "grpo-s0", k=None, t=1)
    assert one["value"] == one["low"] == 0
    assert one["high"] > 0.3


def test_odds_within_tasks_are_free_of_who_is_left():
    # every turn has the same odds ratio in each task; half of the tasks are hard
    ratio, policies = 2.0, {"base": 1.0, "grpo-s0": 2.0}
    rng = np.random.Generator(np.random.PCG64(4))
    parts = []
    for policy, scale in policies.items():
        odds = np.where(np.arange(60) % 2, 0.03, 0.8)[:, None] * scale
        turn = rng.geometric(np.repeat(odds / (1 + odds), 100, axis=1))
        outcomes = {
            f"t{task}": [int(t) if t <= 12 else None for t in row] for task, row in enumerate(turn)
        }
        parts.append(played({policy: outcomes}, budget=12))
    frame = pd.concat(parts, ignore_index=True)
    found = estimate(tasks([f"t{task}" for task in range(60)]), frame, SETTINGS)
    within, pooled = (
        cell(found, name, "grpo-s0", against="base", k=None, t=None)
        for name in ("hazard_odds_within", "hazard_odds")
    )
    assert within["low"] < np.log(ratio) < within["high"]
    assert pooled["high"] < np.log(ratio)


def test_rows_are_those_of_the_table():
    found = by_hand()
    assert tables.conform(found, "estimates").num_rows == len(found)
    assert list(found.columns) == schemas.ESTIMATES.names


@pytest.mark.slow
def test_intervals_of_odds_cover_none_between_equal_policies():
    covered = np.zeros(3)
    policies = {"base": Skill(), "grpo-s0": Skill()}
    for seed in range(150):
        tasks_frame, frame = study(seed, tasks=60, episodes=8, t_max=8, policies=policies)
        settings = Settings(ks=[1], k=1, shares=[1.0], draws=400, seed=seed)
        whole = read(tasks_frame, frame, settings)
        test = tasks_frame.loc[tasks_frame["split"] == "test", "task_id"]
        base, one, _ = ends(whole, frame, list(test))
        weights = whole.weights()
        mine, theirs = one.drawn(weights), base.drawn(weights)
        up, down = survival.crossed(one.counts("solved"), base.counts("solved"))
        draws = [
            survival.log_odds(mine["solved"], theirs["solved"]),
            survival.log_odds(mine["failed"], theirs["failed"]),
            np.log((weights @ up) / (weights @ down)),
        ]
        low, high = intervals.percentile(np.stack(draws))
        covered += (low <= 0) & (high >= 0)
    # 142.5 of 150 expected, standard deviation 2.7
    assert (covered >= 133).all(), covered
    assert (covered <= 149).all(), covered
