from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.played import batch_of, episode, turn
from turnscope import monitor
from turnscope.algorithms import grpo
from turnscope.types import Episode, Quality, StopReason


def test_curves_by_hand():
    first = [replace(turn([], [1, 2], key="a"), action="go"), turn([], [1], 1.0, "b")]
    solved = Episode("t", 0, 0, first, StopReason.SUCCESS, "", "")
    wasted = episode(replace(turn([], [1, 2, 3], key="a"), valid=False, action="sit"))
    failed = episode(stop=StopReason.ERROR)
    qualities = [[Quality(0.5, 1.0), None], [Quality(0.1, 0.1)], [], [None]]
    batch = batch_of(grpo.make(), [solved, wasted, failed, wasted], [5, 5, 3, 3], 2, qualities)
    assert monitor.measure(batch, 2) == {
        "success": 1 / 3,
        "turns": 4 / 3,
        "tokens": 3.0,
        "budget": 4.0,
        "quality": pytest.approx(0.3),
        "invalid_share": 0.5,
        "zero_variance_groups": 0.5,
        "distinct_actions": 1.0,  # the one pair in state a of the first task
        "anchor_size": pytest.approx(4 / 3),  # a twice and b in one task, a in the other
        "anchor_singletons": 0.5,
        "anchor_left_size": pytest.approx(4 / 3),
        "anchor_left_singletons": 0.5,
        "environment_errors": 1.0,
        "budget_T3": 0.5,
        "budget_T5": 0.5,
    }


def test_curves_where_nothing_was_scored_are_missing_not_zero():
    batch = batch_of(grpo.make(), [episode(stop=StopReason.ERROR)] * 2, [5, 5], 2)
    found = monitor.measure(batch, 2)
    for name in ("success", "invalid_share", "quality", "distinct_actions", "anchor_size"):
        assert np.isnan(found[name])
    assert found["environment_errors"] == 2


def test_distinct_actions_are_pairs_in_one_state_of_one_task():
    said = [("a", "left"), ("a", "left"), ("a", "up"), ("b", "up")]
    turns = [replace(turn([], [1], key=key), action=action) for key, action in said]
    other = episode(replace(turn([], [1], key="a"), action="down"))
    batch = batch_of(grpo.make(), [episode(*turns), episode(), other, other], [5] * 4, 2)
    # state a of the first task: 3 pairs, of which 2 differ; of the second: 1, which does not
    assert monitor.distinct(batch) == pytest.approx(2 / 4)


def curves(success: Any, distinct: Any = 0.5, invalid: Any = 0.0) -> dict[str, list[float]]:
    each = {"success": success, "distinct_actions": distinct, "invalid_share": invalid}
    size = max(len(one) for one in each.values() if isinstance(one, list))
    return {name: one if isinstance(one, list) else [one] * size for name, one in each.items()}


RISE = [0.2] * 10 + [0.6] * 10


@pytest.mark.parametrize(
    ("run", "about"),
    [
        (curves(RISE + [0.25] * 10), "success fell to 0.250 from 0.600"),
        (curves([0.1] * 30, [0.5] * 20 + [0.01] * 10), "repeats itself"),
        (curves([0.1] * 30, invalid=[0.1] * 20 + [0.7] * 10), "70% of the turns are invalid"),
    ],
)
def test_the_alarm_goes_off(run, about):
    assert about in monitor.collapse(run)
    assert monitor.collapse({name: values[:20] for name, values in run.items()}) is None


@pytest.mark.parametrize(
    "run",
    [
        curves(RISE + [0.35] * 10),  # worse, yet more than half as good
        curves([0.1] * 10 + [1.0] * 20, 0.0),  # one way in each state, and it is the right one
        curves([0.1] * 30, invalid=0.7),  # as mute as it always was
        curves([0.9] * 9 + [0.0] * 10),  # too short to be judged
        curves([float("nan")] * 30, [float("nan")] * 30, [float("nan")] * 30),
    ],
)
def test_the_alarm_stays_off(run):
    assert monitor.collapse(run) is None
