from collections import Counter
from typing import Any

import pytest

from turnscope import draws
from turnscope.environments import frozen_lake
from turnscope.environments.frozen_lake import Environment, lake, views
from turnscope.environments.frozen_lake.lake import WORDS
from turnscope.types import Task

SMALL = ["P__", "_O_", "_OG"]


def make_task(rows: list[str], slip: float = 0.0) -> Task:
    return Task("test-00000", "test", "3x3", "test-00000", {"map": rows, "slip": slip}, None)


def seed_with(noise: float, slip: float) -> int:
    """Find a seed whose first turn drifts by `noise` quarter turns."""
    return next(seed for seed in range(10_000) if lake.drift(seed, 0, slip) == noise)


def test_position_view_reads_as_documented():
    env = Environment(view="position")
    assert env.reset(make_task(SMALL), 0) == "at=r0c0 size=3 goal=r2c2 hole=r1c1 hole=r2c1"
    assert [tuple(env.step(a)) for a in ["up", "right", "right", "down", "down"]] == [
        ("at=r0c0", 0.0, False, False, True),
        ("at=r0c1", 0.0, False, False, True),
        ("at=r0c2", 0.0, False, False, True),
        ("at=r1c2", 0.0, False, False, True),
        ("at=r2c2 goal", 1.0, True, True, True),
    ]


def test_a_lake_without_holes_names_none():
    assert Environment().reset(make_task(["P_", "_G"]), 0) == ("at=r0c0 size=2 goal=r1c1")


def test_a_hole_ends_the_episode_unsolved():
    env = Environment()
    env.reset(make_task(SMALL), 0)
    env.step("right")
    assert tuple(env.step("down")) == ("at=r1c1 hole", 0.0, True, False, True)
    assert env.state_key() == "r1c1"


def test_text_that_is_no_action_wastes_the_turn():
    env = Environment()
    env.reset(make_task(SMALL, slip=1.0), 0)
    assert tuple(env.step("go left")) == (
        "at=r0c0 say left, down, right or up",
        0.0,
        False,
        False,
        False,
    )


def test_grid_view_draws_the_lake_every_turn():
    env = Environment(view="grid")
    first = env.reset(make_task(SMALL, slip=0.2), 0)
    asked = "\nAnswer with one word: left, down, right or up."
    assert first.endswith("\nP__\n_O_\n_OG" + asked)
    assert "probability 0.2" in first
    env.reset(make_task(SMALL), 0)
    assert env.step("right").observation == "_P_\n_O_\n_OG"
    assert env.step("?").observation == "_P_\n_O_\n_OG" + asked
    assert env.step("down").observation == "___\n_X_\n_OG"
    env.reset(make_task(SMALL), 0)
    for action in ["right", "right", "down"]:
        env.step(action)
    assert env.step("down").observation == "___\n_O_\n_O√"


def test_map_view_draws_the_lake_once():
    env = Environment(view="map")
    assert env.reset(make_task(SMALL), 0) == "P__\n_O_\n_OG\nat=r0c0 goal=r2c2"
    assert env.step("right").observation == "at=r0c1"


def test_unknown_view_is_refused():
    with pytest.raises(ValueError, match="unknown view 'ascii'; known: position, map, grid"):
        Environment(view="ascii")


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("left", 0),
        (" Down\n", 1),
        ("RIGHT", 2),
        ("I think the goal is above me.\nup", 3),
        ("<think>left or down?</think><answer> Down </answer>", 1),
        ("<answer>left</answer> no: <answer>up</answer>\n", 3),
        ("left.", None),
        ("lefts", None),
        ("go left", None),
        ("left down", None),
        ("left\nbecause", None),
        ("<answer>left</answer> or not", None),
        ("<answer>left", None),
        ("ｌｅｆｔ", None),
        ("left\x00", None),
        ("", None),
    ],
)
def test_actions_are_read_strictly(text: str, way: int | None):
    assert views.way_of(text) == way


@pytest.mark.parametrize(("noise", "reached"), [(-1, "r1c0"), (0, "r0c1"), (1, "r0c0")])
def test_slipping_goes_to_a_side(noise: int, reached: str):
    # Of "right", one quarter turn back is down and one forward is up, where a wall is.
    env = Environment()
    env.reset(make_task(["P__", "___", "__G"], slip=0.5), seed_with(noise, 0.5))
    env.step("right")
    assert env.state_key() == reached


def test_drift_has_its_probabilities():
    counts = Counter(lake.drift(seed, turn, 0.3) for seed in range(200) for turn in range(100))
    for noise, share in [(-1, 0.15), (0, 0.7), (1, 0.15)]:
        sd = (20_000 * share * (1 - share)) ** 0.5
        assert abs(counts[noise] - 20_000 * share) < 4 * sd


def test_noise_does_not_depend_on_what_was_said_before():
    rows = ["____", "_P__", "___G", "____"]
    for seed in range(100):
        ends = set()
        for prefix in (["left", "right"], ["nonsense", "nonsense"], ["up", "nonsense"]):
            env = Environment()
            env.reset(make_task(rows, slip=0.4), seed)
            for action in prefix:
                env.step(action)
            env.cell = 5  # back to the start by hand: only the noise can now differ
            env.step("up")
            ends.add(env.state_key())
        assert len(ends) == 1


def test_stepping_outside_an_episode_is_an_error():
    env = Environment()
    with pytest.raises(RuntimeError, match="call reset first"):
        env.step("left")
    env.reset(make_task(["PG", "__"]), 0)
    assert env.step("right").success
    with pytest.raises(RuntimeError, match="call reset first"):
        env.step("left")


@pytest.mark.parametrize(
    "rows",
    [["P_", "__"], ["PG"], ["PG", "G_"], ["PG", "_?"], ["PG_", "__"], []],
    ids=["no goal", "no square", "two goals", "symbol", "ragged", "empty"],
)
def test_bad_maps_are_refused(rows: list[str]):
    with pytest.raises(ValueError, match="is not a square of P _ O G"):
        lake.parse(tuple(rows), 0.0)


def test_shortest_path_goes_around_the_holes():
    found = lake.shortest_path(lake.parse(("P_O", "O_O", "G__"), 0.0))
    assert found is not None
    assert [WORDS[way] for way in found] == ["right", "down", "down", "left"]


def test_no_path_is_none():
    assert lake.shortest_path(lake.parse(("PO", "OG"), 0.0)) is None
    with pytest.raises(ValueError, match="no way leads from start to goal"):
        frozen_lake.gold(make_task(["PO", "OG"]), 0)


def test_gold_is_as_short_as_can_be():
    for task in frozen_lake.tasks(3, train=0, test=30):
        assert all(len(frozen_lake.gold(task, seed)) == task.min_turns for seed in range(5))


def test_tasks_share_sizes_equally_and_keep_the_distance():
    made = frozen_lake.tasks(1, train=9, test=7, sizes=[3, 4, 6], distance=4)
    assert [task.task_id for task in made[:2]] == ["train-00000", "train-00001"]
    assert made[9].task_id == "test-00000"
    assert [task.stratum for task in made[:4]] == ["3x3", "4x4", "6x6", "3x3"]
    assert all(len(task.payload["map"]) == int(task.stratum[0]) for task in made)
    assert all(task.min_turns is not None and task.min_turns >= 4 for task in made)


def test_start_goal_and_ice_are_drawn_evenly():
    number = 4000
    maps = [lake.draw(draws.seed("even", i), 3, 0.7) for i in range(number)]
    pairs = Counter(("".join(m).index("P"), "".join(m).index("G")) for m in maps)
    assert len(pairs) == 72  # 9 starts, 8 goals each
    share, chances = 1 / 72, number / 72
    assert max(abs(n - chances) for n in pairs.values()) < 5 * (chances * (1 - share)) ** 0.5
    ice = sum("".join(m).count("_") for m in maps)
    assert abs(ice - 0.7 * 7 * number) < 4 * (0.7 * 0.3 * 7 * number) ** 0.5


def test_test_tasks_do_not_depend_on_the_number_of_train_tasks():
    few, many = (frozen_lake.tasks(1, train=n, test=20) for n in (3, 40))
    assert few[3:] == many[40:]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": [1, 4]}, "sizes is"),
        ({"sizes": []}, "sizes is"),
        ({"slip": 1.1}, "slip is 1.1; legal is between 0 and 1"),
        ({"frozen": 0}, "frozen is 0"),
        ({"train": -1}, "train is -1"),
        ({"distance": 7}, "distance is 7; legal is from 1 to 6"),
    ],
)
def test_bad_options_are_refused_before_and_by_tasks(options: dict, message: str):
    given: dict[str, Any] = {"train": 1, "test": 1} | options
    for call in (frozen_lake.least_turns, lambda **o: frozen_lake.tasks(0, **o)):
        with pytest.raises(ValueError, match=message):
            call(**given)


def test_more_tasks_than_lakes_are_refused():
    # 2x2 without holes has 4 starts x 3 goals = 12 lakes.
    assert len(frozen_lake.tasks(0, train=0, test=12, sizes=[2], frozen=1, distance=1)) == 12
    with pytest.raises(ValueError, match="no new 2x2 lake"):
        frozen_lake.tasks(0, train=0, test=13, sizes=[2], frozen=1, distance=1)


def test_no_train_lake_is_a_test_lake_with_another_start():
    made = frozen_lake.tasks(0, train=900, test=300, sizes=[4], frozen=0.8, distance=2)
    maps = {"train": set(), "test": set()}
    for task in made:
        maps[task.split].add(lake.startless(tuple(task.payload["map"])))
    assert len(maps["train"]) > 500
    assert not maps["train"] & maps["test"]


def test_expert_of_skill_one_says_only_best_words_and_skill_zero_says_all():
    env = Environment()
    env.reset(make_task(SMALL, slip=0.2), 0)
    values = frozen_lake.values(env, 20)
    best = {word for word, value in values.items() if value >= max(values.values()) - 1e-9}
    said = Counter(frozen_lake.expert(env, seed, 3, 1.0, 20) for seed in range(300))
    assert set(said) == best
    said = Counter(frozen_lake.expert(env, seed, 3, 0.0, 20) for seed in range(4000))
    assert all(abs(said[word] - 1000) < 4 * (4000 * 0.25 * 0.75) ** 0.5 for word in WORDS)


def test_expert_chooses_among_ties_evenly_and_by_its_skill():
    env = Environment()
    env.reset(make_task(["___", "_P_", "__G"]), 0)  # right and down are equally good
    number, skill = 8000, 0.6
    said = Counter(frozen_lake.expert(env, seed, 0, skill, 2) for seed in range(number))
    for word, share in [("right", 0.4), ("down", 0.4), ("left", 0.1), ("up", 0.1)]:
        assert abs(said[word] - number * share) < 4 * (number * share * (1 - share)) ** 0.5
