from dataclasses import replace
from typing import Any

import pytest

from tests.matched.played import hall_pair, lake_pair, play, state
from tests.toys import Speaker, hall
from turnscope import tables
from turnscope.environments import frozen_lake
from turnscope.matched.play import actions, continuations
from turnscope.matched.pool import choose, placed
from turnscope.types import Action


@pytest.fixture(scope="module")
def lakes(tmp_path_factory):
    """A pair and its pool."""
    pair = lake_pair()
    return pair, placed(choose(pair, play(pair, tmp_path_factory.mktemp("lakes")), 24, 4))


def test_every_action_is_graded_by_the_turns_that_are_left(lakes):
    pair, pool = lakes
    rows = actions(pair, pool, 5)
    assert [row["actor"] for row in rows] == ["base"] * 5 * len(pool) + ["trained"] * 5 * len(pool)
    for row in rows:
        one = pool[row["place"]]
        task = pair.tasks[one["task_id"]]
        graded = frozen_lake.step_quality(task, one["state_key"], row["action"], one["left"])
        assert row["quality"] == graded.value
    mean = {
        actor: sum(row["quality"] for row in rows if row["actor"] == actor)
        for actor in ("base", "trained")
    }
    # the players know only that one turn is left for them, so they differ where that matters
    assert mean["base"] != mean["trained"]
    assert len(tables.conform(rows, "actions")) == len(rows)


def test_batches_and_other_states_do_not_matter(lakes):
    pair, pool = lakes
    rows = actions(pair, pool, 3)
    assert actions(replace(pair, batch=7), pool, 3) == rows
    assert actions(pair, pool[3:5], 3) == [row for row in rows if row["place"] in (3, 4)]
    assert actions(pair, pool, 2) == [row for row in rows if row["sample"] < 2]


def test_policies_draw_independently_and_meet_the_same_noise():
    task = hall(30, slip=0.5)
    start = state(turn=0, left=6)
    same = hall_pair(task, go=(0.5, 0.5))
    rows = actions(same, [start], 200)
    said = {name: [r["action"] for r in rows if r["actor"] == name] for name in same.policies}
    together = sum(a == b for a, b in zip(said["base"], said["trained"], strict=True))
    assert 70 < together < 130  # of 200 pairs of independent coins
    sure = continuations(hall_pair(task, go=(1.0, 1.0)), [start], 50)
    names = ("sample", "success", "turns", "stop", "recovered")
    first, second = (
        [[row[name] for name in names] for row in sure if row["actor"] == actor]
        for actor in ("base", "trained")
    )
    assert first == second
    assert len({row[4] for row in first}) > 2


def test_a_policy_draws_otherwise_in_other_pairs_and_in_continuations():
    task, start = hall(30), state()
    one = hall_pair(task)
    other = replace(one, who=one.who | {"policy": "rl-s1"})
    said = [[row["action"] for row in actions(pair, [start], 40)] for pair in (one, other)]
    assert said[0][:40] != said[1][:40]
    turns = [row["recovered"] for row in continuations(one, [start], 40)]
    assert turns[:40] != [1 if word == "go" else None for word in said[0][:40]]


def test_actions_see_one_turn_and_the_tokens_of_the_study():
    seen: list[Any] = []
    pair = replace(hall_pair(hall(9)), policies={"base": Speaker(1.0, seen)})
    actions(pair, [state("hall", "go", "wait")], 2)
    assert seen == [(0, "at=1", 4, 1), (1, "at=1", 4, 1)]


def test_what_cannot_be_parsed_counts_with_its_own_quality():
    class Mute:
        def begin(self, seats: Any) -> Any:
            return Talk()

    class Talk:
        def act(self, rows: Any, observations: Any, limits: Any) -> Any:
            return [Action("mumble") for _ in rows]

    pair = replace(hall_pair(hall(9)), policies={"base": Mute()})
    (row,) = actions(pair, [state("hall", "go")], 1)
    assert (row["valid"], row["quality"], row["action"]) == (False, 0.1, "mumble")


def test_where_the_environment_fails_there_is_no_action_and_no_success():
    task = hall(9, breaks="step", at=2)
    pair = hall_pair(task, go=(1.0, 1.0))
    fine, broken = state("hall", "go"), state("hall", "go", "go", place=1)
    rows = actions(pair, [fine, broken], 2)
    assert {row["place"] for row in rows} == {0}
    ends = [row for row in continuations(pair, [fine], 1) if row["actor"] == "base"]
    assert [(row["success"], row["stop"], row["turns"]) for row in ends] == [(None, "error", 1)]


@pytest.mark.parametrize(
    "changes", [{"state_key": "p3"}, {"state_keys": ["p0", "p0"]}, {"actions": ["wait", "go"]}]
)
def test_a_replay_that_leads_elsewhere_ends_the_job(changes):
    one = state("hall", "go", "wait") | changes
    pair = hall_pair(hall(9))
    with pytest.raises(ValueError, match=r"task hall: replay of .* recorded was"):
        actions(pair, [one], 1)
    with pytest.raises(ValueError, match=r"task hall: replay of .* recorded was"):
        continuations(pair, [one], 1)


def test_a_replay_that_ends_the_episode_ends_the_job():
    with pytest.raises(ValueError, match="ended the episode, failure; recorded was 'p1'"):
        actions(hall_pair(hall(9)), [state("hall", "go") | {"actions": ["jump"]}], 1)


def test_only_errors_that_can_be_made_good_are_gone_on_from():
    pool = [
        state(place=0, errors=""),
        state(place=1, errors="", injected=True),
        state(place=2),
        state(place=3, best=0.0),
        state(place=4, best=None),
    ]
    rows = continuations(hall_pair(hall(9)), pool, 3)
    assert [row["place"] for row in rows] == [1, 1, 1, 2, 2, 2, 4, 4, 4] * 2
    assert [row["sample"] for row in rows] == [0, 1, 2] * 6
    assert len(tables.conform(rows, "continuations")) == len(rows)


def test_where_nothing_is_graded_quality_and_recovery_are_unknown():
    pair = hall_pair(hall(9))
    blind: Any = type("World", (), {"words": pair.world.words})
    pair = replace(pair, world=blind)
    assert {row["quality"] for row in actions(pair, [state()], 3)} == {None}
    assert {row["recovered"] for row in continuations(pair, [state()], 3)} == {None}
