from collections import Counter

import pytest

from turnscope import draws
from turnscope.environments import frozen_lake
from turnscope.policies import expert, oracle, uniform
from turnscope.types import Seat, Task, Turn

PAST = Turn("", "r0c0", "up", 0.0, True)


def make_seat(
    rows: list[str], policy_seed: int = 0, turns_left: int = 4, past: int = 0, slip: float = 0.0
) -> Seat:
    task = Task("t", "test", "3x3", "t", {"map": rows, "slip": slip}, None)
    environment = frozen_lake.Environment()
    environment.reset(task, 0)
    return Seat(task, environment, policy_seed, turns_left, [PAST] * past)


def say(conversation, rows: list[int]) -> list[str]:
    return [a.text for a in conversation.act(rows, [""] * len(rows), [4] * len(rows))]


OPEN = ["P__", "___", "__G"]
"""In the 4 turns that are left, only right and down lead to the goal."""


def test_uniform_says_each_word_equally_often():
    seats = [make_seat(OPEN, policy_seed) for policy_seed in range(500)]
    conversation = uniform.Policy(words=["a", "b", "c", "d"]).begin(seats)
    said = Counter(word for _ in range(8) for word in say(conversation, list(range(500))))
    assert all(abs(said[w] - 1000) < 4 * (4000 * 0.25 * 0.75) ** 0.5 for w in "abcd")


@pytest.mark.parametrize(
    "policy",
    [uniform.Policy(words=list("abcdefgh")), expert.Policy(env="frozen_lake", skill=[0, 0.2])],
    ids=["uniform", "expert"],
)
def test_draws_depend_on_seat_and_turn_alone(policy):
    """Neither the batch, nor who has finished, nor the replay of a prefix matters."""
    seeds = [draws.seed("seat", i) for i in range(6)]
    together = policy.begin([make_seat(OPEN, seed) for seed in seeds])
    first = say(together, [0, 1, 2, 3, 4, 5])
    later = [say(together, [1, 4]) for _ in range(9)]
    alone = policy.begin([make_seat(OPEN, seeds[4])])
    assert [say(alone, [0])[0] for _ in range(10)] == [first[4]] + [pair[1] for pair in later]
    resumed = policy.begin([make_seat(OPEN, seeds[4], past=6)])
    assert [say(resumed, [0])[0] for _ in range(4)] == [pair[1] for pair in later[5:]]
    assert len({word for pair in later for word in pair}) > 1


def test_oracle_takes_the_first_of_the_best():
    conversation = oracle.Policy(env="frozen_lake").begin([make_seat(OPEN)])
    assert say(conversation, [0]) == ["down"]  # down and right are equally good; left comes first


def test_oracle_acts_for_the_turns_that_are_left():
    # With slip, the short way passes between holes; the long way is safe, but 4 turns do not do.
    rows = ["_____", "_OOO_", "P___G", "_OOO_", "_____"]
    hurried = make_seat(rows, turns_left=4, slip=0.5)
    patient = make_seat(rows, turns_left=60, slip=0.5)
    conversation = oracle.Policy(env="frozen_lake").begin([hurried, patient])
    short, long = say(conversation, [0, 1])
    assert short == "right"
    assert long != "right"


def test_expert_of_full_skill_is_optimal_and_of_none_is_not():
    able, unable = (
        expert.Policy(env="frozen_lake", skill=skill).begin(
            [make_seat(OPEN, seed) for seed in range(400)]
        )
        for skill in (1, 0)
    )
    assert set(say(able, list(range(400)))) == {"down", "right"}
    assert set(say(unable, list(range(400)))) == {"left", "down", "right", "up"}


def test_expert_draws_its_skill_for_each_episode():
    # skill uniform on [.2, 1]: an episode whose first action is bad has less of it, so its second
    # action is bad more often than in general.
    seats = [make_seat(OPEN, seed) for seed in range(6000)]
    conversation = expert.Policy(env="frozen_lake", skill=[0.2, 1.0]).begin(seats)
    everyone = list(range(6000))
    bad = [[word in ("left", "up") for word in say(conversation, everyone)] for _ in range(2)]
    share = sum(bad[1]) / 6000
    assert share == pytest.approx(0.2, abs=0.02)  # half of 1 - .6
    after_bad = [second for first, second in zip(*bad, strict=True) if first]
    # E[(1-s)^2] / (2 E[1-s]) = (.16 + .64/12) / .8
    assert sum(after_bad) / len(after_bad) == pytest.approx(0.2667, abs=0.045)


@pytest.mark.parametrize("skill", [-0.1, 1.1, [0.5], [0.8, 0.2], [0, 2]])
def test_bad_skill_is_refused(skill):
    with pytest.raises(ValueError, match="skill is"):
        expert.Policy(env="frozen_lake", skill=skill)


@pytest.mark.parametrize("words", [[], "left"])
def test_bad_words_are_refused(words):
    with pytest.raises(ValueError, match="words is"):
        uniform.Policy(words=words)


@pytest.mark.parametrize("make", [oracle.Policy, lambda env: expert.Policy(env=env, skill=1)])
def test_unknown_environment_is_refused(make):
    with pytest.raises(ValueError, match=r"unknown environments 'pond'; known: .*frozen_lake"):
        make(env="pond")
