import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.environments.deepcoder.by_hand import (
    DOUBLE,
    task,
)
from turnscope.environments.deepcoder import judge
from turnscope.environments.deepcoder.judge import (
    Exercise,
    exercise,
    workers,
)
from turnscope.environments.deepcoder.problems import Case


@pytest.mark.parametrize(
    ("given", "number"),
    [("1", 1), ("3", 3), ("0", 1), ("", 1), ("2,1", 1), ("-2", 1), ("two", 1), ("²", 1)],
)
def test_as_many_programs_run_as_a_job_has_threads(monkeypatch, given, number):
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert workers() == number


def test_one_program_at_a_time_runs_if_nothing_is_said_of_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert workers() == 1


def test_a_task_keeps_its_problem_and_how_it_is_run():
    posed = task(cpu=0.7, memory=300)
    found = exercise(replace(posed, payload=json.loads(json.dumps(posed.payload))))
    assert found.problem == DOUBLE
    assert (found.settings.limits.cpu, found.settings.limits.memory) == (0.7, 300)
    assert not found.settings.allow_unsandboxed
    assert found == exercise(posed)


def test_a_payload_that_is_no_problem_is_refused():
    posed = task()
    bad = replace(posed, payload=posed.payload | {"public": []})
    with pytest.raises(ValueError, match="public is a list of 0"):
        exercise(bad)


def test_a_payload_that_does_not_say_how_to_run_programs_is_refused_in_one_line():
    posed = task()
    bare = {name: value for name, value in posed.payload.items() if name != "sandbox"}
    for _ in range(2):
        with pytest.raises(
            ValueError, match="sandbox of a task is None; legal is what `tasks` writes"
        ) as refusal:
            exercise(replace(posed, payload=bare))
        assert "\n" not in str(refusal.value)


@pytest.fixture
def few(monkeypatch) -> Iterator[int]:
    """Three problems are kept ready, at first none."""
    monkeypatch.setattr(judge, "READ", 3)
    judge._exercises.cache_clear()
    yield judge.READ
    judge._exercises.cache_clear()


def named(*names: str) -> list[Exercise]:
    return [exercise(task(replace(DOUBLE, name=name))) for name in names]


def test_a_problem_is_read_once_for_equal_payloads(few):
    first, again = named("a", "a")
    assert again is first
    copied = json.loads(json.dumps(task(replace(DOUBLE, name="a")).payload))
    turned = dict(reversed(copied.items()))
    assert list(turned) != list(copied)
    assert exercise(replace(task(), payload=turned)) is first
    assert exercise(replace(task(), task_id="other", payload=copied)) is first


def test_payloads_that_differ_in_anything_are_not_one(few):
    changed = replace(DOUBLE, public=(*DOUBLE.public[:1], Case([2], 5)))
    found = [exercise(task()), exercise(task(changed)), exercise(task(memory=300))]
    assert [one.problem for one in found] == [DOUBLE, changed, DOUBLE]
    assert found[2].settings.limits.memory == 300
    assert found[0].settings.limits.memory != 300


def test_at_most_so_many_problems_are_kept_and_the_one_used_longest_ago_goes(few):
    first, second, third = named("a", "b", "c")
    assert named("a")[0] is first
    (fourth,) = named("d")  # forgets b
    assert len(judge._exercises()._known) == few
    for name, known in zip("acd", (first, third, fourth), strict=True):
        assert named(name)[0] is known
    again = named("b")[0]
    assert again == second
    assert again is not second
    named(*map(str, range(9)))
    assert len(judge._exercises()._known) == few


def test_a_payload_that_was_refused_is_not_kept(few):
    posed = task()
    for _ in range(2):
        with pytest.raises(ValueError, match="public is a list of 0"):
            exercise(replace(posed, payload=posed.payload | {"public": []}))
    assert not judge._exercises()._known
