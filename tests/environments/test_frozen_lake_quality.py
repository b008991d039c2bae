import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import MAPS, FrozenLakeEnv, generate_random_map
from hypothesis import given, settings
from hypothesis import strategies as st

from turnscope import draws
from turnscope.environments import frozen_lake
from turnscope.environments.frozen_lake import lake, quality
from turnscope.types import Task

GYMNASIUM_SLIP = 2 / 3


def from_gymnasium(desc: list[str]) -> list[str]:
    return [row.translate(str.maketrans("SFHG", "P_OG")) for row in desc]


def transitions(rows: list[str], slip: float) -> np.ndarray:
    """P(next cell | cell, action), shape (S, 4, S), from the operator that values are made of."""
    moves_SA = np.array(lake.parse(tuple(rows), slip).moves)
    cells = len(moves_SA)
    moves_NSA = np.broadcast_to(moves_SA, (cells, *moves_SA.shape))
    return np.moveaxis(quality.backup(np.eye(cells), moves_NSA, slip), 0, 2)


def best_from_start(rows: list[str], slip: float, horizon: int) -> np.ndarray:
    return np.array(quality.success_bound(rows, slip, horizon))


@pytest.mark.parametrize("slip", [0.0, 0.2, GYMNASIUM_SLIP, 1.0])
@pytest.mark.parametrize(
    "desc",
    [MAPS["4x4"], MAPS["8x8"], *(generate_random_map(5, 0.7, seed) for seed in range(4))],
    ids=["4x4", "8x8", "a", "b", "c", "d"],
)
def test_transitions_are_those_of_gymnasium(desc: list[str], slip: float):
    table = FrozenLakeEnv(desc=desc, is_slippery=slip > 0, success_rate=1 - slip).P
    expected = np.zeros((len(table), 4, len(table)))
    for cell, actions in table.items():
        for action, outcomes in actions.items():
            for probability, target, _, _ in outcomes:
                expected[cell, action, target] += probability
    np.testing.assert_allclose(transitions(from_gymnasium(desc), slip), expected, atol=1e-12)


def test_played_moves_follow_the_transitions():
    rows, slip, number = ["____", "_O__", "_P__", "___G"], 0.3, 3000
    expected_SAS = transitions(rows, slip)
    env = frozen_lake.Environment()
    task = Task("t", "test", "4x4", "t", {"map": rows, "slip": slip}, None)
    for cell in (0, 3, 6, 8, 9, 13):
        for action, word in enumerate(lake.WORDS):
            counts = np.zeros(16)
            for i in range(number):
                env.reset(task, draws.seed("played", cell, action, i))
                env.cell = cell
                env.step(word)
                counts[env.cell] += 1
            expected_S = expected_SAS[cell, action]
            deviation_S = counts - number * expected_S
            assert np.all(np.abs(deviation_S) <= 4.5 * np.sqrt(number * expected_S))


@pytest.mark.parametrize(
    ("name", "turns", "golden"),
    [
        (
            "4x4",
            [6, 10, 15, 20, 30, 50, 100],
            [0.0041, 0.0414, 0.1158, 0.1991, 0.3479, 0.5459, 0.7442],
        ),
        ("8x8", [20, 30, 50, 100, 200], [0.0023, 0.0366, 0.2284, 0.6407, 0.9132]),
    ],
)
def test_known_values_of_gymnasiums_maps(name: str, turns: list[int], golden: list[float]):
    bound_T = best_from_start(from_gymnasium(MAPS[name]), GYMNASIUM_SLIP, max(turns))
    np.testing.assert_allclose(bound_T[np.array(turns) - 1], golden, atol=5.1e-5)


def test_known_limits_and_pass_at_8():
    rows = from_gymnasium(MAPS["4x4"])
    bound_T = best_from_start(rows, GYMNASIUM_SLIP, 2000)
    assert bound_T[-1] == pytest.approx(0.8235, abs=5e-5)
    pass_at_8 = 1 - (1 - bound_T[[9, 19, 29]]) ** 8
    np.testing.assert_allclose(pass_at_8, [0.287, 0.831, 0.967], atol=6e-4)
    assert best_from_start(from_gymnasium(MAPS["8x8"]), GYMNASIUM_SLIP, 3000)[-1] > 0.9999


@pytest.mark.parametrize(("name", "fewest"), [("4x4", 6), ("8x8", 14)])
def test_without_slip_the_bound_is_one_step(name: str, fewest: int):
    bound_T = best_from_start(from_gymnasium(MAPS[name]), 0.0, 20)
    np.testing.assert_array_equal(bound_T, np.arange(1, 21) >= fewest)


def test_values_worked_by_hand():
    # P G over _ _, slip .2: with one turn left, right wins unless it slips (.8); down and up win
    # when they slip to the right (.1); left never does.
    rows = ["PG", "__"]
    q_HSA = quality.q_values(rows, 0.2, 2)
    np.testing.assert_allclose(q_HSA[0, 0], [0.0, 0.1, 0.8, 0.1])
    # Below the goal, up wins with .8. Below the start nothing wins in one turn.
    np.testing.assert_allclose(q_HSA[0, 2], 0.0)
    np.testing.assert_allclose(q_HSA[0, 3], [0.1, 0.0, 0.1, 0.8])
    # Two turns: right is .8 + .1 (wall, then .8) + .1 (down: from r1c0 nothing wins in one).
    np.testing.assert_allclose(q_HSA[1, 0, 2], 0.8 + 0.1 * 0.8)
    np.testing.assert_allclose(q_HSA[1, 1], 1.0)


maps = st.builds(
    lake.draw,
    st.integers(0, 2**64 - 1),
    st.integers(2, 6),
    st.floats(0.3, 1.0),
)


@given(maps, st.floats(0, 1), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_values_are_probabilities_that_grow_with_the_turns_left(rows, slip, horizon):
    q_HSA = quality.q_values(rows, slip, horizon)
    assert q_HSA.min() >= 0
    assert q_HSA.max() <= 1
    assert np.all(np.diff(q_HSA, axis=0) >= -1e-12)
    holes = [cell for cell, tile in enumerate("".join(rows)) if tile == "O"]
    assert not q_HSA[:, holes].any()


@given(maps, st.floats(0, 0.99))
@settings(max_examples=60, deadline=None)
def test_the_goal_can_be_reached_from_its_distance_on_and_not_before(rows, slip):
    path = lake.shortest_path(lake.parse(rows, slip))
    bound_T = best_from_start(rows, slip, 36)
    if path is None:
        assert not bound_T.any()
    else:
        assert not bound_T[: len(path) - 1].any()
        assert bound_T[len(path) - 1] > 0


def test_many_maps_at_once_equal_one_by_one():
    maps = [list(lake.draw(seed, 5, 0.8)) for seed in range(20)]
    together = quality.q_values_of_maps(maps, 0.2, 9)
    apart = np.stack([quality.q_values(rows, 0.2, 9) for rows in maps])
    np.testing.assert_array_equal(together, apart)


def test_maps_of_several_sizes_are_refused():
    with pytest.raises(ValueError, match=r"one size; these have sizes \[2, 3\]"):
        quality.q_values_of_maps([["PG", "__"], ["PG_", "___", "___"]], 0.2, 3)


@pytest.mark.parametrize("turns_left", [1, 2, 32, 33, 70])
def test_looked_up_values_are_the_computed_ones(turns_left: int):
    rows = from_gymnasium(MAPS["4x4"])
    pond = lake.parse(tuple(rows), 0.2)
    looked_up = quality.action_values(pond, 4, turns_left)
    computed = quality.q_values(rows, 0.2, turns_left)[-1, 4]
    np.testing.assert_array_equal(looked_up, computed)


def test_no_turn_left_is_refused():
    with pytest.raises(ValueError, match="turns_left is 0"):
        quality.action_values(lake.parse(("PG", "__"), 0.2), 0, 0)


def test_the_quality_of_a_step_by_hand():
    """No slip, the goal two moves to the right, a hole below the start."""
    task = Task("t", "test", "3x3", "t", {"map": ["P_G", "O__", "___"], "slip": 0.0}, 2)
    found = {
        (word, left): frozen_lake.step_quality(task, "r0c0", word, left)
        for word in ("right", "down", "left", "jump")
        for left in (1, 2, 3)
    }
    assert found["right", 2] == found["right", 3] == (1.0, 1.0)
    assert found["down", 3] == (0.0, 1.0)
    # staying at the wall, or saying nothing legal, is a wasted turn
    for word in ("left", "jump"):
        assert found[word, 3] == (1.0, 1.0)
        assert found[word, 2] == (0.0, 1.0)
        assert found[word, 1] == (0.0, 0.0)
