import pytest

from turnscope.environments.frozen_lake import errors, mistakes, step_quality
from turnscope.types import Task, Turn

ROWS = ["P_G", "___", "___"]


def lake(slip: float) -> Task:
    return Task("t", "test", "3x3", "t", {"map": ROWS, "slip": slip}, 2)


def said(action: str, cell: str = "r0c1") -> Turn:
    return Turn("", cell, action, 0.0, True)


@pytest.mark.parametrize(
    ("action", "after", "left", "names"),
    [
        ("right", "r0c1", 1, []),  # the best action, and the ice held it up
        ("right", "r1c1", 1, ["away"]),  # the best action, but it slid away from the goal
        ("left", "r0c1", 1, ["loss"]),  # worth 0.08 and not 0.88; by luck it stayed where it was
        ("left", "r0c0", 2, ["loss", "away"]),
        ("left", "r0c0", 1, ["away"]),  # two moves away with one turn left: it cannot be made good
        ("jump", "r0c1", 1, ["loss"]),  # a wasted turn: 0.8 and not 0.88
    ],
)
def test_errors_by_hand(action, after, left, names):
    assert errors(lake(0.2), said(action), after, left) == names


def test_a_loss_is_one_hundredth_at_least():
    assert step_quality(lake(0.0), "r0c1", "left", 3) == (1.0, 1.0)
    assert errors(lake(0.0), said("left"), "r0c0", 2) == ["away"]
    lost = [step_quality(lake(0.02), "r0c1", "up", left) for left in (2, 3)]
    # Of two turns, 0.9704 instead of 0.9898; a third one makes most of it good, 0.989608 of 0.9996
    assert [round(one.best - one.value, 6) for one in lost] == [0.0194, 0.009992]
    names = [errors(lake(0.02), said("up"), "r0c1", left - 1) for left in (2, 3)]
    assert names == [["loss"], []]


def test_mistakes_by_hand():
    assert mistakes(lake(0.2), "r0c1", 2) == ["left", "down", "up"]
    assert mistakes(lake(0.0), "r2c0", 3) == []  # four moves away
    assert mistakes(lake(0.0), "r2c0", 4) == ["left", "down"]
