from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.matched.played import TURNS, hall_pair, lake_pair, play
from tests.toys import hall
from turnscope.environments import frozen_lake
from turnscope.matched.injected import inject
from turnscope.matched.play import continuations
from turnscope.matched.pool import placed
from turnscope.types import Turn


@pytest.fixture(scope="module")
def lakes(tmp_path_factory):
    """A pair and its visits."""
    pair = lake_pair()
    return pair, play(pair, tmp_path_factory.mktemp("lakes"))


@pytest.fixture(scope="module")
def made(lakes):
    pair, sources = lakes
    return inject(pair, sources, 10)


def test_half_of_the_prefixes_come_from_each_source_and_no_task_gives_two(made):
    assert Counter(one["source"] for one in made) == {"base": 5, "trained": 5}
    pairs = [(one["source"], one["task_id"]) for one in made]
    assert len(set(pairs)) == len(pairs)


def test_a_mistake_is_put_into_a_prefix_of_the_policy_that_is_free_of_errors(lakes, made):
    pair, sources = lakes
    for one in made:
        visits = sources[one["source"] == "trained"]
        rows = (visits.at(row) for row in range(len(visits.columns["turn"])))
        names = ("task_id", "sample")
        turns = [at for at in rows if all(at[name] == one[name] for name in names)]
        *kept, error = one["actions"]
        task = pair.tasks[one["task_id"]]
        assert [at["state_key"] for at in turns[: one["turn"]]] == one["state_keys"]
        assert [at["action"] for at in turns[: one["turn"] - 1]] == kept
        assert error in frozen_lake.mistakes(task, one["state_keys"][-1], one["left"] + 1)
        keys = one["state_keys"]
        for number, action in enumerate(kept):
            turn = Turn("", keys[number], action, 0.0, True)
            left = TURNS - number - 1
            assert frozen_lake.errors(task, turn, keys[number + 1], left) == []


def test_the_state_is_where_the_mistake_led_under_the_seed_of_the_episode(lakes, made):
    pair, _ = lakes
    for one in made:
        environment, task = pair.environment(), pair.tasks[one["task_id"]]
        environment.reset(task, one["seed"])
        assert not any(environment.step(action).terminated for action in one["actions"])
        assert environment.state_key() == one["state_key"]
        assert one["left"] == TURNS - one["turn"] == TURNS - len(one["actions"]) >= 1
        left = one["left"]
        best = frozen_lake.step_quality(task, one["state_key"], "left", left).best
        before = frozen_lake.step_quality(task, one["state_keys"][-1], "left", left + 1).best
        assert (one["best"], one["before"]) == (best, before)
        assert best > 0
        turn = Turn("", one["state_keys"][-1], one["actions"][-1], 0.0, True)
        names = frozen_lake.errors(task, turn, one["state_key"], left)
        assert one["errors"].split() == names
        assert (one["injected"], one["visits"], one["weight"], one["solved"]) == (
            True,
            None,
            None,
            None,
        )


def test_both_policies_can_go_on_from_all_of_them(lakes, made):
    rows = continuations(lakes[0], placed(made), 1)
    assert len(rows) == 2 * len(made)


def test_mistakes_are_equally_likely(tmp_path):
    """Four words are mistakes in a hall; seeds of the study are the draws."""
    words = ["a", "b", "c", "d"]
    tasks = [hall(9, f"hall{number}") for number in range(10)]
    pair = hall_pair(*tasks, mistakes=lambda *_: words)
    sources = play(pair, tmp_path, 1)
    said = Counter(
        one["actions"][-1]
        for seed in range(10)
        for one in inject(replace(pair, seed=seed), sources, 20)
    )
    assert sum(said.values()) == 200
    assert set(said) == set(words)
    assert max(abs(number - 50) for number in said.values()) < 4 * 50**0.5


def test_a_mistake_that_ends_the_episode_makes_no_error_state(tmp_path):
    tasks = [hall(9, f"hall{number}") for number in range(4)]
    pair = hall_pair(*tasks, mistakes=lambda *_: ["jump", "wait"])
    made = inject(pair, play(pair, tmp_path), 8)
    assert len(made) == 8
    assert {one["actions"][-1] for one in made} == {"wait"}
    assert inject(replace(pair, batch=1), play(pair, tmp_path), 8)
    nothing: Any = SimpleNamespace(mistakes=lambda *_: ["jump"], words=pair.world.words)
    assert inject(replace(pair, world=nothing), play(pair, tmp_path), 8) == []


def test_a_prefix_that_does_not_lead_where_it_did_ends_the_job(lakes):
    pair, sources = lakes
    columns = sources[0].columns
    moved = sources[0]._replace(columns=columns | {"seed": columns["seed"] + 1})
    with pytest.raises(ValueError, match=r"replay of turn \d+ reached state .* recorded was"):
        inject(pair, [moved, sources[1]], 14)


def test_where_no_mistakes_are_known_none_are_made(lakes):
    world: Any = SimpleNamespace(words=frozen_lake.words)
    assert inject(replace(lakes[0], world=world), lakes[1], 14) == []
