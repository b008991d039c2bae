from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.matched.played import hall_pair, state
from tests.toys import hall
from turnscope.environments import deepcoder
from turnscope.matched.pair import Pair
from turnscope.matched.play import continuations
from turnscope.types import Action, Budget, Task, Turn


def gone_on(pair: Pair, one: dict[str, Any]) -> list[Any]:
    """What base did once: success, turns, stop, recovered."""
    row = next(row for row in continuations(pair, [one], 1) if row["actor"] == "base")
    return [row[name] for name in ("success", "turns", "stop", "recovered")]


@pytest.mark.parametrize(
    ("length", "go", "before", "expected"),
    [
        (9, 1.0, 0.4, [False, 5, "budget", 2]),  # best at place p is worth (p + 1) / 10
        (9, 1.0, 0.2, [False, 5, "budget", 0]),  # nothing was lost
        (9, 1.0, 0.9, [False, 5, "budget", None]),  # p7 needs 7 actions of 5
        (9, 0.0, 0.4, [False, 5, "budget", None]),
        (3, 1.0, 0.9, [True, 2, "success", 2]),  # success is recovery
        (9, 1.0, None, [False, 5, "budget", None]),
    ],
)
def test_recovery_by_hand(length, go, before, expected):
    pair = hall_pair(hall(length), go=(go, go))
    assert gone_on(pair, state("hall", "go", before=before)) == expected


def mending(go: float, least: int, task: Task | None = None) -> tuple[Pair, list[Any]]:
    """A pair in a world of which each quality is of an action by itself, and what it was asked.

    An action is an error there unless it leads to place `least` or beyond.
    """
    asked: list[Any] = []

    def errors(task: Task, turn: Turn, state_key: str, turns_left: int) -> list[str]:
        asked.append((task.task_id, turn.state_key, turn.action, state_key, turns_left))
        return [] if int(state_key[1:]) >= least else ["short"]

    pair = hall_pair(task or hall(9), go=(go, go), errors=errors)
    world: Any = SimpleNamespace(**vars(pair.world), IMMEDIATE=True)
    return replace(pair, world=world), asked


@pytest.mark.parametrize(
    ("go", "least", "expected"),
    [
        (1.0, 2, 1),  # the first action leads from p1 to p2
        (1.0, 3, 2),
        (1.0, 6, 5),  # the last action of five
        (1.0, 7, None),
        (0.0, 1, 1),  # to wait is no error there
        (0.0, 2, None),
    ],
)
def test_where_a_quality_is_of_an_action_the_first_that_is_no_error_is_recovery(
    go, least, expected
):
    pair, _ = mending(go, least)
    for before in (0.3, 0.9, None):
        assert gone_on(pair, state("hall", "go", before=before)) == [False, 5, "budget", expected]


def test_an_action_is_an_error_by_the_states_around_it_and_the_turns_left_after_it():
    pair, asked = mending(1.0, 4)
    assert gone_on(pair, state("hall", "wait", "go"))[-1] == 3
    seen = [("hall", f"p{at}", "go", f"p{at + 1}", 4 - at) for at in (1, 2, 3)]
    assert asked == seen * 2, "both policies went on alike, and nothing is asked behind recovery"


def test_an_action_that_solves_the_task_is_recovery_unless_it_is_an_error():
    pair, _ = mending(1.0, 3, hall(3))
    assert gone_on(pair, state("hall", "go")) == [True, 2, "success", 2]
    pair, _ = mending(1.0, 4, hall(3))
    assert gone_on(pair, state("hall", "go")) == [True, 2, "success", None]


def test_where_the_environment_fails_nobody_recovers():
    pair, asked = mending(1.0, 2, hall(9, breaks="step", at=3))
    assert gone_on(pair, state("hall", "go")) == [None, 2, "error", None]
    assert asked == []


class Says:
    """A policy of few words: one of its lines in each turn, the last one for ever."""

    def __init__(self, *lines: str):
        self.lines = lines

    def begin(self, seats: Any) -> "Says":
        self.said = [0] * len(seats)
        return self

    def act(self, rows: Any, observations: Any, limits: Any) -> list[Action]:
        found = []
        for row in rows:
            found.append(Action(self.lines[min(self.said[row], len(self.lines) - 1)]))
            self.said[row] += 1
        return found


def test_an_action_that_ends_the_episode_unsolved_is_no_recovery():
    for lines, expected in ((("jump",), None), (("wait", "jump"), 1)):
        pair, _ = mending(1.0, 1)
        pair = replace(pair, policies={"base": Says(*lines)})
        row = gone_on(pair, state("hall", "go"))
        assert row == [False, len(lines), "failure", expected]


def test_recovery_of_a_program_by_hand():
    (posed,) = deepcoder.tasks(4, train=0, test=1)
    (right,), wrong = deepcoder.gold(posed, 0), "def f(x): return None"
    world = deepcoder.Environment()
    world.reset(posed, 0)
    world.step(wrong)
    one = state(posed.task_id, wrong, state_keys=["start"], state_key=world.state_key())
    for lines, expected in (
        ((right,), [True, 1, "success", 1]),
        ((wrong, "", right), [True, 3, "success", 3]),
        ((wrong,), [False, 5, "budget", None]),
        ((wrong, "submit"), [False, 2, "failure", None]),
    ):
        pair = Pair(
            deepcoder,
            deepcoder.Environment,
            {posed.task_id: posed},
            {"base": Says(*lines)},
            Budget(6, 4),
            1,
            3,
            {"env": "deepcoder", "model": "m", "policy": "rl-s0"},
        )
        assert gone_on(pair, one) == expected
