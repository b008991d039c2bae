from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.toys import Hall, Speaker, hall
from tests.walks import WIDE, many, play, start
from turnscope import draws
from turnscope.types import StopReason


class Foreseen(Hall):
    """A hall that is shown what will be said in it."""

    shown: ClassVar[list[list[tuple[str, str]]]] = []
    fails: ClassVar[bool] = False

    @staticmethod
    def ahead(asked: Sequence[tuple["Foreseen", str]]) -> None:
        if Foreseen.fails:
            raise OSError("the crystal ball is cracked")
        Foreseen.shown.append([(hall.state_key(), action) for hall, action in asked])


class Unforeseen(Foreseen):
    ahead = None  # type: ignore[assignment]


@pytest.fixture
def shown() -> Iterator[list[list[tuple[str, str]]]]:
    Foreseen.shown.clear()
    yield Foreseen.shown
    Foreseen.fails = False


def test_an_environment_is_shown_the_actions_of_each_round_before_they_are_played(shown):
    starts = [start(hall(length=2)), start(hall(length=9)), start(hall(length=3))]
    (short, wide, middle) = play(starts, Speaker(1.0), make=Foreseen)
    assert shown[:3] == [
        [("p0", "go"), ("p0", "go"), ("p0", "go")],
        [("p1", "go"), ("p1", "go"), ("p1", "go")],
        [("p2", "go"), ("p2", "go")],
    ]
    assert shown[3:] == [[(f"p{place}", "go")] for place in range(3, 8)]
    assert [len(episode.turns) for episode in (short, wide, middle)] == [2, 8, 3]


@given(st.integers(1, 9), st.floats(0, 1), st.integers(0, 5))
def test_what_is_shown_are_the_turns_that_are_recorded(number, go, seed):
    Foreseen.shown.clear()
    starts = [start(seed=draws.seed(seed, place)) for place in range(number)]
    episodes = play(starts, Speaker(go), make=Foreseen)
    rounds = [
        [(e.turns[at].state_key, e.turns[at].action) for e in episodes if at < len(e.turns)]
        for at in range(max(len(e.turns) for e in episodes))
    ]
    assert Foreseen.shown == rounds


def test_to_be_shown_changes_no_episode(shown):
    expected = play(many(20))
    assert play(many(20), make=Foreseen) == expected
    assert shown
    shown.clear()
    assert play(many(20), make=Unforeseen) == expected
    assert not shown


def test_a_failure_to_prepare_is_logged_once_a_round_and_spoils_nothing(shown, caplog):
    Foreseen.fails = True
    starts = many(5, replace(WIDE, turns=2))
    assert play(starts, make=Foreseen) == play(starts)
    assert [record.getMessage() for record in caplog.records] == [
        "no actions were prepared: OSError: the crystal ball is cracked"
    ] * 2


def test_a_replay_and_an_episode_that_failed_are_not_shown(shown):
    (whole,) = play([start(hall(length=4))], Speaker(1.0), make=Foreseen)
    shown.clear()
    bad = start(hall(length=4, breaks="reset"))
    starts = [start(hall(length=4), prefix=tuple(whole.turns[:2])), bad]
    again, failed = play(starts, Speaker(1.0), make=Foreseen)
    assert again == whole
    assert failed.stop is StopReason.ERROR
    assert shown == [[("p2", "go")], [("p3", "go")]]


def test_nothing_is_shown_where_no_episode_can_go_on(shown):
    play([start(hall(breaks="reset"))], make=Foreseen)
    assert not shown
