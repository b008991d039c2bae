from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from tests.environments.deepcoder.by_hand import RIGHT, WRONG, task
from tests.toys import Hall, Speaker, Talk, hall
from tests.walks import SLIPPERY, WIDE, many, noiseless, play, start
from turnscope import draws
from turnscope.environments import deepcoder
from turnscope.environments.deepcoder.judge import shared
from turnscope.rollout import Start, rollout
from turnscope.types import Budget, Episode, StopReason, Turn


def test_going_on_from_any_prefix_gives_the_same_episode():
    for whole in play(many(30)):
        origin = Start(SLIPPERY, whole.sample, draws.seed("many", whole.sample), WIDE)
        for cut in range(len(whole.turns) + 1):
            (again,) = play([replace(origin, prefix=tuple(whole.turns[:cut]))])
            assert again == whole


def test_a_told_prefix_goes_on_as_it_began():
    told = replace(WIDE, told=True)
    (whole,) = play([start(budget=told)])
    for cut in range(len(whole.turns) + 1):
        assert play([start(budget=told, prefix=tuple(whole.turns[:cut]))]) == [whole]


def test_a_whole_episode_as_prefix_asks_the_policy_nothing():
    (whole,) = play([start(hall(length=3))], Speaker(1.0))
    seen: list = []
    (again,) = play([start(hall(length=3), prefix=tuple(whole.turns))], Speaker(1.0, seen))
    assert again == whole
    assert seen == []


def test_branches_are_independent_of_each_other_and_of_the_trunk():
    (whole,) = play([start(hall(length=99, slip=0.5))])
    origin = start(hall(length=99, slip=0.5), prefix=tuple(whole.turns[:2]))
    branches = play([replace(origin, branch=draws.seed("branch", i)) for i in range(200)])
    assert all(episode.turns[:2] == whole.turns[:2] for episode in branches)
    words = [tuple(noiseless(episode)[2:]) for episode in [*branches, whole]]
    assert len(set(words)) > 30  # of the 2**6 continuations
    always = Speaker(1.0)
    (trunk,) = play([start(hall(length=99, slip=0.5))], always)
    origin = replace(origin, prefix=tuple(trunk.turns[:2]))
    noisy = play([replace(origin, branch=draws.seed("branch", i)) for i in range(200)], always)
    moves = [
        [a.state_key != b.state_key for a, b in pairwise(episode.turns[2:])] for episode in noisy
    ]
    assert len({tuple(move) for move in moves}) > 20  # of the 2**5 patterns of slips
    first = sum(move[0] for move in moves)
    assert abs(first - 100) < 4 * (200 * 0.25) ** 0.5


def test_equal_branches_are_equal():
    (whole,) = play([start()])
    origin = start(prefix=tuple(whole.turns[:1]), branch=7)
    assert play([origin]) == play([origin])


def test_a_wrong_prefix_is_refused_by_name():
    (whole,) = play([start(hall(length=9))], Speaker(1.0))
    wrong = (whole.turns[0], replace(whole.turns[1], state_key="p7"))
    with pytest.raises(ValueError, match=r"task hall: .*turn 1 .*'p1'.*'p7'") as caught:
        play([start(hall(length=9), prefix=wrong)])
    assert "\n" not in str(caught.value)


def test_a_prefix_that_leads_elsewhere_is_refused_by_name():
    origin = start(hall(length=9))
    (whole,) = play([origin])
    two = tuple(whole.turns[:2])
    there = whole.turns[2].state_key
    (again,) = play([replace(origin, prefix=two, state_key=there)])
    assert again == whole
    with pytest.raises(ValueError, match=r"replay of 2 turns reached state .*, recorded was 'far'"):
        play([replace(origin, prefix=two, state_key="far")])
    (short,) = play([start(hall(length=3))], Speaker(1.0))
    with pytest.raises(ValueError, match=r"replay of 3 turns ended the episode, success"):
        play([start(hall(length=3), prefix=tuple(short.turns), state_key="p2")])


def test_a_prefix_beyond_the_end_is_refused():
    (whole,) = play([start(hall(length=2))], Speaker(1.0))
    longer = (*whole.turns, replace(whole.turns[-1], state_key="p2"))
    with pytest.raises(ValueError, match="task hall"):
        play([start(hall(length=2), prefix=longer)])
    (slow,) = play([start(hall(length=9))], Speaker(0.0))
    with pytest.raises(ValueError, match="task hall"):
        play([start(hall(length=9), budget=replace(WIDE, turns=3), prefix=tuple(slow.turns))])


def test_an_environment_that_fails_in_a_replay_is_data():
    (whole,) = play([start(hall(length=9))], Speaker(1.0))
    prefix = tuple(whole.turns[:4])
    for bad in (hall(length=9, breaks="step", at=1), hall(length=9, breaks="key", at=2)):
        (episode,) = play([start(bad, prefix=prefix)], Speaker(1.0))
        assert episode.stop is StopReason.ERROR
        assert len(episode.turns) < 4
    (episode,) = play([start(hall(length=9, breaks="reseed"), prefix=prefix, branch=3)])
    assert (episode.stop, episode.success) == (StopReason.ERROR, None)


class Doubted(Hall):
    """A hall in which nobody trusts that what was said leads to the same place again."""

    untrusted = True


def moved(turns: Sequence[Turn], at: int, key: str) -> tuple[Turn, ...]:
    """Turns of which one was recorded in another state."""
    return tuple(replace(turn, state_key=key) if n == at else turn for n, turn in enumerate(turns))


@pytest.fixture
def walked() -> tuple[Turn, ...]:
    """Four turns of a walk through a long hall: `p0` to `p3`."""
    return tuple(play([start(hall(length=9))], Speaker(1.0))[0].turns[:4])


@pytest.mark.parametrize("at", [0, 1, 3])
def test_where_actions_are_not_trusted_a_replay_to_another_state_is_an_error(walked, at):
    stray = start(hall(length=9), prefix=moved(walked, at, "far"), branch=3)
    (episode,) = play([stray], Speaker(1.0), make=Doubted)
    assert (episode.stop, episode.success) == (StopReason.ERROR, None)
    assert episode.turns == list(walked[:at])
    assert (episode.final_observation, episode.final_state_key) == ("", "")
    assert episode.error == (
        f"ValueError: task hall: replay of turn {at} reached state 'p{at}', recorded was 'far'"
    )
    with pytest.raises(ValueError, match=r"reached state .*, recorded was 'far'") as refusal:
        play([stray], Speaker(1.0))
    assert f"ValueError: {refusal.value}" == episode.error


def test_where_actions_are_not_trusted_to_arrive_elsewhere_is_an_error(walked):
    stray = start(hall(length=9), prefix=walked, state_key="far", branch=3)
    (episode,) = play([stray], Speaker(1.0), make=Doubted)
    assert (episode.stop, episode.success) == (StopReason.ERROR, None)
    assert episode.turns == list(walked)
    assert episode.error == (
        "ValueError: task hall: replay of 4 turns reached state 'p4', recorded was 'far'"
    )
    with pytest.raises(ValueError, match="replay of 4 turns reached state 'p4'"):
        play([stray], Speaker(1.0))


@pytest.mark.parametrize("length", [2, 3])
def test_where_actions_are_not_trusted_an_end_before_the_prefix_ends_is_an_error(walked, length):
    stray = start(hall(length=length), prefix=walked, state_key="p4")
    (episode,) = play([stray], Speaker(1.0), make=Doubted)
    assert (episode.stop, episode.success) == (StopReason.ERROR, None)
    assert episode.turns[:-1] == list(walked[: length - 1])
    assert f"replay of turn {length} is impossible: the episode ended before it" in str(
        episode.error
    )
    with pytest.raises(ValueError, match="is impossible: the episode ended before it, success"):
        play([stray], Speaker(1.0))


def test_where_actions_are_not_trusted_an_end_in_the_last_turn_is_an_error(walked):
    stray = start(hall(length=4), prefix=walked, state_key="p4")
    (episode,) = play([stray], Speaker(1.0), make=Doubted)
    assert (episode.stop, episode.success) == (StopReason.ERROR, None)
    assert str(episode.error).endswith("ended the episode, success; recorded was 'p4'")
    with pytest.raises(ValueError, match="replay of 4 turns ended the episode, success"):
        play([stray], Speaker(1.0))


def test_a_prefix_beyond_the_budget_is_a_fault_whoever_is_trusted(walked):
    for budget in (replace(WIDE, turns=3), replace(WIDE, tokens=1)):
        long = start(hall(length=9), budget=budget, prefix=walked)
        for make in (Hall, Doubted):
            with pytest.raises(ValueError, match=r"the episode ended before it, (budget|tokens)"):
                play([long], make=make)


def test_a_prefix_as_long_as_the_budget_that_arrives_elsewhere_is_an_error(walked):
    stray = start(hall(length=9), budget=replace(WIDE, turns=4), prefix=walked, state_key="far")
    (episode,) = play([stray], make=Doubted)
    assert (episode.stop, episode.success) == (StopReason.ERROR, None)
    with pytest.raises(ValueError, match="recorded was 'far'"):
        play([stray])


def test_a_replay_that_went_astray_spoils_no_other_episode(walked):
    seen: list = []
    fine = start(hall(length=9), prefix=walked)
    starts = [fine, start(hall(length=9), prefix=moved(walked, 1, "far")), fine]
    first, stray, last = play(starts, Speaker(1.0, seen), make=Doubted)
    assert first == last == play([fine], Speaker(1.0))[0]
    assert stray.stop is StopReason.ERROR
    assert {row for row, *_ in seen} == {0, 2}


def test_where_actions_are_not_trusted_a_faithful_replay_goes_on_as_ever():
    for whole in play(many(12)):
        origin = Start(SLIPPERY, whole.sample, draws.seed("many", whole.sample), WIDE)
        for cut, turn in enumerate(whole.turns):
            again = replace(origin, prefix=tuple(whole.turns[:cut]), state_key=turn.state_key)
            assert play([again], make=Doubted) == [whole]


class Reading(Talk):
    """Says the next line of a text in each turn."""

    def act(self, rows, observations, limits):
        said = super().act(rows, observations, limits)
        lines = self.speaker.lines  # type: ignore[attr-defined]
        turns = [len(lines) - self.seats[row].turns_left for row in rows]
        return [replace(one, text=lines[turn]) for turn, one in zip(turns, said, strict=True)]


class Reader(Speaker):
    def __init__(self, *lines: str):
        super().__init__()
        self.lines = lines

    def begin(self, seats):
        return Reading(self, seats)


CLOCK = "def f(x): import time; return time.time_ns()"


@pytest.fixture
def forgetful() -> Iterator[Callable[[], None]]:
    """Makes the judge of this process forget, as that of another process knows nothing."""
    shared.cache_clear()
    yield shared.cache_clear
    shared.cache_clear()


def coded(*lines: str, **more: Any) -> Episode:
    """Read lines to the problem of doubling a number, behind a prefix."""
    begun = Start(task(), 0, 1, Budget(len(lines), 4), **more)
    (episode,) = rollout(deepcoder.Environment, [begun], Reader(*lines))
    return episode


def test_a_program_that_reads_a_clock_is_an_error_when_it_is_replayed(forgetful):
    lines = (CLOCK, WRONG["double"], RIGHT["double"])
    whole = coded(*lines)
    assert (whole.success, len(whole.turns)) == (True, 3)
    keys = [turn.state_key for turn in whole.turns]
    one, two = tuple(whole.turns[:1]), tuple(whole.turns[:2])
    for prefix, key in ((one, keys[1]), (two, keys[2]), (two, None)):
        assert coded(*lines, prefix=prefix, state_key=key) == whole, "the judge remembers"
    for prefix, key in ((one, keys[1]), (two, keys[2]), (two, None)):
        forgetful()
        stray = coded(*lines, prefix=prefix, state_key=key)
        assert (stray.stop, stray.success) == (StopReason.ERROR, None)
        assert [turn.action for turn in stray.turns] == [CLOCK]
        assert "reached state 'failed 0/2 0/4 " in str(stray.error)
        assert str(stray.error).endswith(f"recorded was {keys[1]!r}")
        assert "\n" not in str(stray.error)


def test_programs_that_read_no_clock_are_replayed_by_another_judge(forgetful):
    lines = (WRONG["double"], "def f(x): return object()", "def f(x): return 1 / 0", "def f(x:")
    whole = coded(*lines)
    for cut in range(len(lines)):
        forgetful()
        key = whole.turns[cut].state_key
        assert coded(*lines, prefix=tuple(whole.turns[:cut]), state_key=key) == whole


def test_a_program_that_passes_only_when_it_is_replayed_is_an_error(forgetful):
    # As one that reads a clock may: what is replayed here is right, but was recorded as wrong.
    failed = coded(WRONG["double"], WRONG["double"])
    keys = [turn.state_key for turn in failed.turns]
    now_right = tuple(replace(turn, action=RIGHT["double"]) for turn in failed.turns[:1])
    for prefix in (now_right, (*now_right, failed.turns[1])):
        stray = coded("", "", "", prefix=prefix, state_key=keys[1])
        assert (stray.stop, stray.success) == (StopReason.ERROR, None)
        assert "ended" in str(stray.error)
