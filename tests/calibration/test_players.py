import numpy as np
from scipy import stats

from tests.calibration.lakes import T_MAX, lakes, tasks
from turnscope.calibration import players
from turnscope.calibration.players import Places
from turnscope.calibration.worlds import SLIP
from turnscope.environments.frozen_lake import grading
from turnscope.environments.frozen_lake import lake as parsing
from turnscope.types import Turn

TASKS, WORLDS = tasks(), lakes()
COUNT = len(TASKS)


def skill(value):
    return np.full((1, COUNT, 2, T_MAX), value)


def starts(episodes):
    world = np.repeat(np.arange(COUNT), episodes)
    nothing = np.zeros_like(world)
    return Places(world, nothing, WORLDS.start_W[world], nothing)


def test_errors_are_those_of_the_environment():
    met = set()
    for row, task in enumerate(TASKS[:6]):
        lake = parsing.parse(tuple(task.payload["map"]), SLIP)
        for cell in np.flatnonzero(~WORLDS.ends_WS[row, : lake.size**2]):
            for way, word in enumerate(parsing.WORDS):
                for turn, there in ((0, lake.moves[cell][way]), (T_MAX - 1, lake.moves[cell][way])):
                    at = Places(*(np.array([one]) for one in (row, turn, cell, 0)))
                    flags = players.errors(WORLDS, at, np.array([way]), np.array([there]))
                    said = Turn("", lake.names[cell], word, 0.0, True)
                    left = T_MAX - turn - 1
                    known = grading.errors(task, said, lake.names[there], left)
                    assert [bool(flag[0]) for flag in flags] == [
                        name in known for name in grading.ERRORS
                    ]
                    met |= set(known)
    assert met == {"loss", "away"}


def test_a_perfect_player_reaches_the_bound():
    solved = players.solved(WORLDS, skill(1.0)[0])
    best = WORLDS.value_WHS[np.arange(COUNT), T_MAX, WORLDS.start_W]
    np.testing.assert_allclose(solved[:, -1], best, atol=1e-12)


def test_an_unskilled_player_takes_each_action_equally_often():
    at = starts(1)
    chances = players.probabilities(WORLDS, skill(0.0), np.zeros(COUNT, int), at)
    assert (chances == 0.25).all()


def test_skill_is_the_probability_of_a_best_action_beyond_chance():
    at = starts(1)
    chances = players.probabilities(WORLDS, skill(0.6), np.zeros(COUNT, int), at)
    best = WORLDS.best_WHSA[np.arange(COUNT), T_MAX - 1, WORLDS.start_W]
    share = (chances * best).sum(axis=1)
    np.testing.assert_allclose(share, 0.6 + 0.4 * best.sum(axis=1) / 4)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)


def test_episodes_are_solved_as_often_as_computed():
    some = skill(0.3)
    some[0, :, 1] = 0.8  # better after an error, so that both memories matter
    at = starts(400)
    played = players.play(
        WORLDS, some, np.zeros(len(at.world_R), int), at, np.random.default_rng(3)
    )
    exact = players.solved(WORLDS, some[0])
    for turns in (3, T_MAX):
        hits = np.bincount(at.world_R, played.success_R & (played.turns_R <= turns))
        spread = np.sqrt(400 * exact[:, turns - 1] * (1 - exact[:, turns - 1]))
        z = (hits - 400 * exact[:, turns - 1])[spread > 1] / spread[spread > 1]
        assert stats.chi2.sf((z**2).sum(), len(z)) > 1e-4


def test_an_episode_ends_in_one_way():
    at = starts(50)
    player = np.zeros(len(at.world_R), int)
    played = players.play(WORLDS, skill(0.5), player, at, np.random.default_rng(0))
    assert not (played.success_R & played.failure_R).any()
    assert (played.turns_R[~played.success_R & ~played.failure_R] == T_MAX).all()
    assert {True, False} == set(played.success_R) == set(played.failure_R)


def test_play_goes_on_from_a_place_with_the_turns_that_are_left():
    at = starts(20)
    late = Places(at.world_R, np.full_like(at.turn_R, T_MAX - 2), at.cell_R, at.error_R)
    player = np.zeros(len(at.world_R), int)
    played = players.play(WORLDS, skill(0.5), player, late, np.random.default_rng(0))
    assert played.turns_R.max() == 2
    assert (played.cell_RT[:, 0] == at.cell_R).all()
