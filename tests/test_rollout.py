from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.toys import Hall, Speaker, Talk, hall
from tests.walks import SLIPPERY, WIDE, many, noiseless, play, start
from turnscope.rollout import in_batches
from turnscope.types import Budget, StopReason


def test_an_episode_by_hand():
    (episode,) = play([start(hall(length=2))], Speaker(1.0))
    assert [turn.observation for turn in episode.turns] == ["at=0", "at=1"]
    assert [turn.state_key for turn in episode.turns] == ["p0", "p1"]
    assert [turn.reward for turn in episode.turns] == [0.0, 1.0]
    assert (episode.stop, episode.success) == (StopReason.SUCCESS, True)
    assert (episode.final_observation, episode.final_state_key) == ("at=2", "p2")
    assert episode.error is None


class Jumping(Talk):
    def act(self, rows, observations, limits):
        return [replace(action, text="jump") for action in super().act(rows, observations, limits)]


class Jumper(Speaker):
    def begin(self, seats):
        return Jumping(self, seats)


def test_stop_reasons():
    assert play([start(hall(length=1))], Speaker(1.0))[0].stop is StopReason.SUCCESS
    (lost,) = play([start()], Jumper())
    assert (lost.stop, lost.success, len(lost.turns)) == (StopReason.FAILURE, False, 1)
    (slow,) = play([start(hall(length=99))])
    assert (slow.stop, slow.success, len(slow.turns)) == (StopReason.BUDGET, False, 8)
    (talkative,) = play([start(hall(length=99), budget=replace(WIDE, tokens=5))])
    assert (talkative.stop, talkative.success) == (StopReason.TOKENS, False)


def test_success_in_the_last_turn_is_success():
    (episode,) = play([start(hall(length=3), budget=replace(WIDE, turns=3))], Speaker(1.0))
    assert episode.stop is StopReason.SUCCESS


def test_a_solved_last_token_is_success():
    (probe,) = play([start(hall(length=2))], Speaker(1.0))
    tokens = sum(len(turn.action_ids) for turn in probe.turns)
    (episode,) = play([start(hall(length=2), budget=replace(WIDE, tokens=tokens))], Speaker(1.0))
    assert episode.stop is StopReason.SUCCESS


@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 10))
def test_the_token_budget_is_used_up_and_never_exceeded(tokens, turn_tokens, seed):
    seen: list = []
    budget = Budget(turns=50, turn_tokens=turn_tokens, tokens=tokens)
    (episode,) = play([start(hall(length=99), seed, budget)], Speaker(0.5, seen))
    assert sum(len(turn.action_ids) for turn in episode.turns) == tokens
    assert episode.stop is StopReason.TOKENS
    assert all(1 <= limit <= turn_tokens for _, _, limit, _ in seen)
    used = 0
    for turn, (_, _, limit, _) in zip(episode.turns, seen, strict=True):
        assert limit == min(turn_tokens, tokens - used)
        used += len(turn.action_ids)


def test_a_told_policy_reads_the_turns_left_and_the_record_says_so():
    seen: list = []
    (episode,) = play([start(budget=replace(WIDE, turns=3, told=True))], Speaker(0.0, seen))
    texts = ["at=0\nturns left 3", "at=0\nturns left 2", "at=0\nturns left 1"]
    assert [text for _, text, _, _ in seen] == texts
    assert [turn.observation for turn in episode.turns] == texts
    assert [left for *_, left in seen] == [3, 2, 1]


def test_a_blind_policy_reads_nothing_of_the_budget():
    texts = []
    for turns in (3, 8):
        seen: list = []
        play([start(budget=replace(WIDE, turns=turns))], Speaker(0.0, seen))
        texts.append([text for _, text, _, _ in seen][:3])
    assert texts[0] == texts[1] == ["at=0"] * 3


BROKEN = [
    hall(breaks="reset"),
    hall(breaks="step", at=0),
    hall(breaks="step", at=1),
    hall(breaks="key", at=0),
    hall(breaks="key", at=2),
]


@pytest.mark.parametrize("bad", BROKEN, ids=lambda task: str(task.payload))
def test_an_environment_that_raises_ends_its_own_episode_and_no_other(bad):
    healthy = many(6)
    mixed = [*healthy[:3], start(bad), *healthy[3:]]
    expected = play(healthy, Speaker(1.0))
    *_, episode = played = play(mixed[:4], Speaker(1.0))
    assert (episode.stop, episode.success) == (StopReason.ERROR, None)
    assert episode.error
    assert "\n" not in episode.error
    assert (episode.final_observation, episode.final_state_key) == ("", "")
    assert played[:3] == expected[:3]
    both = play(mixed, Speaker(1.0))
    assert both[:3] + both[4:] == expected


def test_the_turn_in_which_an_environment_fails_is_not_recorded():
    (episode,) = play([start(hall(breaks="step", at=1))], Speaker(1.0))
    assert [turn.state_key for turn in episode.turns] == ["p0"]
    assert episode.error == "RuntimeError: the floor gave way at the action 'go'"
    (episode,) = play([start(hall(breaks="reset"))])
    assert episode.turns == []
    assert episode.error == "OSError: the door is locked"


def test_a_batch_of_failures_alone_comes_back():
    episodes = play([start(hall(breaks="reset"))] * 3)
    assert [episode.stop for episode in episodes] == [StopReason.ERROR] * 3


class Failing(Talk):
    def act(self, rows, observations, limits):
        raise RuntimeError("out of memory")


class Mute(Speaker):
    def begin(self, seats):
        return Failing(self, seats)


def test_a_policy_that_raises_ends_the_call_and_environments_are_closed():
    opened: list[Hall] = []
    with pytest.raises(RuntimeError, match="out of memory"):
        play(many(4), Mute(), make=lambda: Hall(opened))
    assert [environment.closed for environment in opened] == [1] * 4


class Losing(Talk):
    def act(self, rows, observations, limits):
        return super().act(rows, observations, limits)[1:]


class Short(Speaker):
    def begin(self, seats):
        return Losing(self, seats)


def test_a_policy_that_loses_an_answer_is_refused():
    with pytest.raises(ValueError, match="zip"):
        play(many(4), Short())


def test_environments_are_closed_whatever_happens():
    opened: list[Hall] = []
    play([*many(3), *(start(bad) for bad in BROKEN)], make=lambda: Hall(opened))
    assert [environment.closed for environment in opened] == [1] * 8
    opened.clear()
    wrong = (replace(play([start()])[0].turns[0], state_key="nowhere"),)
    with pytest.raises(ValueError, match="nowhere"):
        play([start(), start(prefix=wrong), start()], make=lambda: Hall(opened))
    assert [environment.closed for environment in opened] == [1] * 2  # the third was never made


def test_an_environment_that_cannot_be_made_ends_its_own_episode_and_no_other():
    made: list[Hall] = []

    def make() -> Hall:
        made.append(Hall())
        if len(made) == 2:
            raise OSError("no server")
        return made[-1]

    episodes = play(many(3), make=make)
    assert [episode.stop for episode in episodes][1] is StopReason.ERROR
    assert episodes[1].error == "OSError: no server"
    assert episodes[0] == play(many(3))[0]
    assert episodes[2] == play(many(3))[2]


def test_a_failure_to_close_spoils_no_episode():
    tasks = [SLIPPERY, hall(length=4, slip=0.3, breaks="close"), SLIPPERY]
    opened: list[Hall] = []
    episodes = play([start(task) for task in tasks], make=lambda: Hall(opened))
    assert episodes == play([start()] * 3)
    assert [environment.closed for environment in opened] == [1] * 3


def test_equal_calls_give_equal_episodes():
    assert play(many(40)) == play(many(40))


def test_streams_differ_in_the_policy_and_share_the_noise():
    one, two = play(many(60), stream=1), play(many(60), stream=2)
    assert [noiseless(episode) for episode in one] != [noiseless(episode) for episode in two]
    always = Speaker(1.0)  # its words do not depend on the stream, so only the noise is seen
    states = [
        [[turn.state_key for turn in e.turns] for e in play(many(60), always, stream)]
        for stream in (1, 2)
    ]
    assert states[0] == states[1]


def test_attempts_differ():
    episodes = play(many(60))
    assert len({tuple(noiseless(episode)) for episode in episodes}) > 20


def test_the_batch_does_not_matter():
    starts = many(64)
    together = play(starts)
    assert [play([alone])[0] for alone in starts] == together
    assert play(starts[::-1]) == together[::-1]


def test_a_smaller_budget_is_a_prefix_of_a_larger_one():
    large = play(many(50, replace(WIDE, turns=20)))
    for turns in range(1, 20):
        for small, episode in zip(play(many(50, replace(WIDE, turns=turns))), large, strict=True):
            assert small.turns == episode.turns[:turns]
            solved = episode.success and len(episode.turns) <= turns
            assert small.success == solved


def test_success_without_an_end_is_a_failure_of_the_environment():
    class Endless(Hall):
        def step(self, action):
            return super().step(action)._replace(terminated=False)

    (episode,) = play([start(hall(length=2))], Speaker(1.0), make=Endless)
    assert episode.stop is StopReason.ERROR
    assert "success" in str(episode.error)


def test_the_worlds_of_a_batch_are_its_own():
    opened: list[Hall] = []
    play(many(5), make=lambda: Hall(opened))
    assert len({id(environment) for environment in opened}) == 5


@pytest.mark.parametrize("size", [1, 3, 7, 9])
def test_batches_are_the_same_episodes_in_the_same_order(size):
    starts = many(7)
    parts = list(in_batches(Hall, starts, Speaker(0.7), size, 5))
    assert [len(part) for part in parts] == [min(size, 7 - at) for at in range(0, 7, size)]
    assert [episode for part in parts for episode in part] == play(starts, stream=5)
