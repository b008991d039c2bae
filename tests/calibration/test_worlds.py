import numpy as np

from tests.calibration.lakes import T_MAX, lakes, tasks
from turnscope.calibration import worlds
from turnscope.environments import frozen_lake
from turnscope.environments.frozen_lake import grading
from turnscope.environments.frozen_lake import lake as parsing

TASKS, WORLDS = tasks(), lakes()


def test_qualities_are_those_of_the_environment():
    for row, task in enumerate(TASKS):
        lake = parsing.parse(tuple(task.payload["map"]), worlds.SLIP)
        for cell in np.flatnonzero(~WORLDS.ends_WS[row, : lake.size**2]):
            for left in (1, T_MAX):
                for way, word in enumerate(parsing.WORDS):
                    known = grading.step_quality(task, lake.names[cell], word, left)
                    assert WORLDS.quality_WHSA[row, left - 1, cell, way] == known.value
                    assert WORLDS.value_WHS[row, left, cell] == known.best


def test_the_bound_of_a_task_is_that_of_the_environment():
    for task, bound in zip(TASKS, WORLDS.tasks["bound"], strict=True):
        assert list(bound) == frozen_lake.bound(task, T_MAX)


def test_moves_to_the_goal_are_counted_as_the_environment_does():
    for row, task in enumerate(TASKS):
        assert WORLDS.away_WS[row, WORLDS.start_W[row]] == task.min_turns
        assert WORLDS.away_WS[row, WORLDS.goal_W[row]] == 0


def test_an_episode_ends_on_the_goal_and_in_holes_only():
    for row, task in enumerate(TASKS):
        tiles = "".join(task.payload["map"])
        ends = [tile in "OG" for tile in tiles]
        assert WORLDS.ends_WS[row].tolist() == ends + [False] * (16 - len(tiles))


def test_choosing_worlds_keeps_all_that_is_known_of_them():
    some = WORLDS.chosen(np.array([7, 2]))
    assert list(some.tasks["task_id"]) == [TASKS[7].task_id, TASKS[2].task_id]
    assert (some.quality_WHSA[1] == WORLDS.quality_WHSA[2]).all()
    assert some.start_W.tolist() == WORLDS.start_W[[7, 2]].tolist()
