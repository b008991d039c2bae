from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.matched.played import TURNS, WHO, bad_is_an_error, lake_pair, made_up, play
from turnscope import tables
from turnscope.environments import frozen_lake
from turnscope.matched.pair import Pair
from turnscope.matched.pool import choose, distinct, draw, placed, quotas
from turnscope.matched.visits import KEY, errors
from turnscope.types import Budget, Task

REPEATS = 30


def random(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


@pytest.fixture(scope="module")
def pair() -> Pair:
    return lake_pair()


@pytest.fixture(scope="module")
def sources(pair, tmp_path_factory):
    return play(pair, tmp_path_factory.mktemp("lakes"))


@pytest.fixture(scope="module")
def pool(pair, sources):
    return choose(pair, sources, 40, 4)


def made_up_pair(seed: int) -> Pair:
    world: Any = SimpleNamespace(errors=bad_is_an_error)
    tasks = {name: Task(name, "test", "s", name, {}, None) for name in ("t0", "t1", "t2", "t3")}
    return Pair(world, frozen_lake.Environment, tasks, {}, Budget(TURNS, 4), seed, 1, WHO)


@given(st.lists(st.integers(0, 4), max_size=30), st.integers(1, 4), st.integers(0, 99))
def test_of_each_group_as_many_are_drawn_as_allowed(groups, most, seed):
    group_N = np.unique(np.array(groups, dtype=np.int64), return_inverse=True)[1]
    chosen_M, probability_M = draw(group_N, most, random(seed))
    assert sorted(set(chosen_M.tolist())) == chosen_M.tolist()
    sizes = Counter(group_N.tolist())
    assert Counter(group_N[chosen_M].tolist()) == {g: min(n, most) for g, n in sizes.items()}
    expected = [min(1, most / sizes[group]) for group in group_N[chosen_M].tolist()]
    assert probability_M.tolist() == expected


def test_each_of_a_group_is_drawn_as_often_as_said():
    group_N = np.array([2, 0, 1, 2, 2, 0, 2, 2])
    most_G, count_N = np.array([1, 3, 2]), np.zeros(8)
    for seed in range(4000):
        count_N[draw(group_N, most_G, random(seed)).chosen_M] += 1
    expected_N = np.array([0.4, 0.5, 1.0, 0.4, 0.4, 0.5, 0.4, 0.4])
    assert np.abs(count_N / 4000 - expected_N).max() < 4 * 0.5 / np.sqrt(4000)


@pytest.mark.parametrize(
    ("sizes", "total", "expected"),
    [
        ([9, 9, 9, 9], 8, [2, 2, 2, 2]),
        ([1, 9, 0, 9], 8, [1, 3, 0, 4]),
        ([1, 2, 1, 0], 99, [1, 2, 1, 0]),
        ([5, 5], 0, [0, 0]),
    ],
)
def test_quotas_by_hand(sizes, total, expected):
    assert quotas(np.array(sizes), total).tolist() == expected


def test_weights_make_up_for_the_choice():
    """Sums over the pool, weighted, are on average those over all visits, errors and others."""
    sources = [made_up("base", 1), made_up("trained", 2)]
    pools = [choose(made_up_pair(seed), sources, 16, 4) for seed in range(REPEATS)]

    def measured(task_id: Any, state_key: Any, turn: Any, wrong: bool) -> np.ndarray:
        value = 1 + int(task_id[1]) + 0.5 * turn + 2 * wrong + len(state_key)
        return np.array([value * wrong, value * (not wrong), wrong])

    for visits in sources:
        rows = range(len(visits.columns["turn"]))
        wrong = [name != "" for name in errors(made_up_pair(0), visits, rows)]
        keys = zip(*(visits.columns[name].tolist() for name in KEY), strict=True)
        true = sum(measured(*key, wrong=one) for key, one in zip(keys, wrong, strict=True))
        sums = np.zeros((REPEATS, 3))
        for number, pool in enumerate(pools):
            for one in pool:
                if one["source"] == visits.source:
                    key = {name: one[name] for name in KEY}
                    sums[number] += one["weight"] * measured(**key, wrong=one["errors"] != "")
        error = sums.std(axis=0, ddof=1) / np.sqrt(REPEATS)
        assert (np.abs(sums.mean(axis=0) - true) < 4 * error).all()
        assert (error < 0.15 * true).all()


def test_no_state_is_there_twice_and_of_a_task_no_more_than_allowed(pool):
    keys = [(one["task_id"], one["state_key"], one["left"]) for one in pool]
    assert len(set(keys)) == len(keys) > 30
    per_task = Counter((one["task_id"], one["source"]) for one in pool)
    assert max(per_task.values()) == 2
    sides = Counter(one["source"] for one in pool)
    assert abs(sides["base"] - sides["trained"]) <= 4


def test_states_are_spread_over_quarters_and_errors():
    sources = [made_up("base", 1, episodes=200), made_up("trained", 2, episodes=200)]
    chosen = choose(made_up_pair(3), sources, 16, 16)
    cells = Counter((one["turn"] // 2, one["errors"] != "") for one in chosen)
    assert set(cells.values()) <= {1, 2}
    assert len(cells) == 8


def test_visits_are_counted_per_source(sources):
    for visits in sources:
        found = distinct(visits, random(1))
        names = ("task_id", "state_key", "turn")
        rows = zip(*(visits.columns[name].tolist() for name in names), strict=True)
        counted = Counter(rows)
        listed = zip(*(found[name].tolist() for name in names), strict=True)
        assert dict(zip(listed, found["visits"].tolist(), strict=True)) == counted


def test_a_record_says_how_the_state_was_reached_and_what_it_is_worth(pair, pool):
    ties = 0
    for one in pool:
        task, left = pair.tasks[one["task_id"]], one["left"]
        assert one["left"] == TURNS - one["turn"] >= 1
        assert len(one["actions"]) == len(one["state_keys"]) == one["turn"]
        best = frozen_lake.step_quality(task, one["state_key"], "left", left).best
        assert one["best"] == best
        assert one["decisive"] == bool(frozen_lake.mistakes(task, one["state_key"], left))
        ties += not one["decisive"]
        if one["turn"]:
            key = one["state_keys"][-1]
            before = frozen_lake.step_quality(task, key, "left", left + 1).best
            assert one["before"] == before
        else:
            assert one["before"] is None
            assert one["errors"] == ""
        assert one["weight"] >= one["visits"] >= 1
    assert 0 < ties < len(pool)
    table = tables.conform(placed(pool), "pool").to_pandas()
    assert table["place"].tolist() == [*range(len(pool))]
    assert table["turn"].is_monotonic_increasing


def test_the_pool_is_the_same_every_time_and_another_for_another_pair(pair, sources, pool):
    assert str(choose(lake_pair(), sources, 40, 4)) == str(pool)
    assert str(choose(lake_pair(seed=2), sources, 40, 4)) != str(pool)


def test_what_the_environment_cannot_tell_is_unknown(sources):
    world: Any = SimpleNamespace()
    chosen = choose(lake_pair(world=world), sources, 16, 2)
    assert {one["decisive"] for one in chosen} == {None}
    assert {one["errors"] for one in chosen} == {""}


def test_a_task_needs_room_for_both_sources(pair, sources):
    with pytest.raises(ValueError, match="per_task is 1; legal is 2 or more"):
        choose(pair, sources, 16, 1)


def test_a_pool_without_room_for_every_cell_is_refused(pair, sources):
    """A cell from which nothing is ever taken would be missing from the weighted average."""
    with pytest.raises(ValueError, match="states is 15; legal is 16 or more"):
        choose(pair, sources, 15, 4)
