import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.environments.deepcoder.rows import (
    CODEFORCES,
    LCB,
    PRIME,
    PRIME_SCRIPT,
    TACO,
    TACO_SCRIPT,
    numbered,
    parquet,
    stdin_tests,
)
from turnscope.environments.deepcoder import preview, problems
from turnscope.environments.deepcoder._twins import Barred
from turnscope.environments.deepcoder.problems import Case

KEYS = st.sampled_from(
    ["input", "output", "type", "testtype", "fn_name", "metadata", "func_name", "inputs", "outputs"]
)


def made(record: dict[str, Any], config: str = "taco", split: str = "train") -> problems.Problem:
    reasons: Counter[str] = Counter()
    problem = preview.normalise(record, config, split, 7, reasons)
    assert problem is not None, reasons
    assert reasons == {"kept": 1}
    assert problems.problem_of(json.loads(json.dumps(problems.payload(problem)))) == problem
    return problem


def test_a_script_of_codeforces():
    problem = made(CODEFORCES, "codeforces", "test")
    assert (problem.name, problem.stratum, problem.split) == (
        "codeforces-test-00007",
        "codeforces",
        "test",
    )
    assert (problem.entry, problem.starter, problem.solution) == (None, "", None)
    assert problem.public == (Case("echo 0\n", "0\n"), Case("echo 1\n", "1\n"))
    assert [case.output for case in problem.private] == ["2\n", "3\n", "4\n", "5\n"]


@pytest.mark.parametrize("metadata", [LCB["metadata"], {"func_name": "total"}])
def test_a_function_of_livecodebench_takes_one_json_value_a_line(metadata: Any):
    problem = made(LCB | {"metadata": metadata}, "lcbv5")
    assert problem.entry == "total"
    assert problem.starter.startswith("class Solution:")
    assert problem.public == (Case([[1, 2], 1], 4),)
    assert [case.input for case in problem.private] == [[[i, 2], i] for i in (0, 2, 3, 4)]


def test_only_line_feeds_end_a_line_of_arguments():
    test = {"input": '"a\u2028b"\n\n1\n', "output": "null", "testtype": "functional"}
    found = preview.tests_of(LCB | {"tests": json.dumps([test])})
    assert found == ("total", [Case(["a\u2028b", 1], None)])


def test_the_name_may_stand_with_the_test():
    tests = [test | {"metadata": {"func_name": "own"}} for test in json.loads(LCB["tests"])]
    assert made(LCB | {"metadata": None, "tests": json.dumps(tests)}).entry == "own"


def test_a_function_of_taco_keeps_its_name_and_its_arguments():
    problem = made(TACO)
    assert problem.entry == "twice"
    assert problem.public == (Case([0], 0), Case([1], 2))
    assert problem.private == (Case([2], 4), Case([3], 6), Case([4], 8))
    assert problem.solution == "def twice(x):\n    return 2 * x\n"


def test_a_list_that_is_no_wrapping_is_kept():
    tests = json.loads(TACO["tests"])
    tests["outputs"][3] = [6, 6]
    problem = made(TACO | {"tests": json.dumps(tests)})
    assert [case.output for case in problem.public] == [[0], [2]]


def test_lines_of_taco_are_joined():
    problem = made(TACO_SCRIPT)
    assert problem.entry is None
    assert problem.public[0] == Case("a\n0", "a0")


def test_a_function_of_primeintellect():
    problem = made(PRIME, "primeintellect")
    assert problem.entry == "back"
    assert problem.public[0] == Case([[0, 1]], [1, 0])
    assert problem.solution == "def back(x):\n    return x[::-1]\n"


def test_a_script_of_primeintellect():
    problem = made(PRIME_SCRIPT, "primeintellect")
    assert (problem.entry, problem.solution) == (None, None)
    assert problem.public[0] == Case("a0", "A0")


def without(tests: Any, **change: Any) -> dict[str, Any]:
    return {"problem": "Some problem.", "tests": tests} | change


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (CODEFORCES | {"problem": " "}, "no statement"),
        (CODEFORCES | {"problem": None}, "no statement"),
        (without("[]"), "no tests"),
        (without(None), "unreadable tests"),
        (without("{"), "unreadable tests"),
        (without("[" * 100_000), "unreadable tests"),
        (without("[NaN]"), "unreadable tests"),
        (without("[1]"), "unreadable tests"),
        (without(json.dumps({"inputs": ["1"]})), "unreadable tests"),
        (without(json.dumps({"inputs": ["1"], "outputs": []})), "unequal numbers"),
        (without(json.dumps(stdin_tests("x", 4))), "fewer than 5 tests"),
        (without(json.dumps(stdin_tests("x", 1) * 5)), "fewer than two different tests"),
        (without(json.dumps(stdin_tests("x" * 200_000))), "fewer than two different tests"),
        (TACO | {"tests": TACO["tests"].replace("8", "1e999")}, "unreadable tests"),
        (TACO | {"tests": TACO["tests"].replace("8", '"\\ud83d"')}, "that JSON cannot carry"),
        (TACO | {"tests": TACO["tests"].replace("twice", "lambda")}, "no name of a function"),
        (CODEFORCES | {"problem": "echo 0, 1, echo 1 echo2 echo3 echo4 echo5"}, "all tests stand"),
        (LCB | {"metadata": None}, "no name of a function"),
        (LCB | {"metadata": "{"}, "unreadable metadata"),
        (LCB | {"metadata": '{"func_name": "a.b"}'}, "no name of a function"),
        (without(json.dumps([{"input": 1, "output": "", "testtype": "stdin"}])), "is no text"),
        (
            LCB | {"tests": json.dumps([{"input": "x", "output": "1", "testtype": "functional"}])},
            "arguments are not JSON",
        ),
        (
            LCB | {"tests": json.dumps([{"input": "1", "output": "x", "testtype": "functional"}])},
            "output is not JSON",
        ),
        (
            without(json.dumps({"inputs": [{"x": 1}], "outputs": [1], "fn_name": "f"})),
            "arguments are no list",
        ),
        (
            without(json.dumps(json.loads(PRIME["tests"]) + json.loads(PRIME_SCRIPT["tests"]))),
            "tests of several functions",
        ),
    ],
)
def test_rows_that_make_no_problem_are_counted(record: dict[str, Any], reason: str):
    reasons: Counter[str] = Counter()
    assert preview.normalise(record, "taco", "train", 0, reasons) is None
    assert [count for said, count in reasons.items() if reason in said] == [1]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("f"),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(KEYS, values, max_size=3),
    max_leaves=8,
)


CALLS = st.fixed_dictionaries(
    {
        "type": st.just("function_call"),
        "fn_name": st.just("f"),
        "input": st.lists(JSON, max_size=2),
        "output": JSON,
    }
)


TABLES = st.integers(5, 7).flatmap(
    lambda size: st.fixed_dictionaries(
        {
            "inputs": st.lists(st.lists(JSON, max_size=2), min_size=size, max_size=size),
            "outputs": st.lists(JSON, min_size=size, max_size=size),
        },
        optional={"fn_name": st.sampled_from(["f", "f", "f", "", "a b", 1])},
    )
)


@settings(max_examples=60, deadline=None)
@given(st.lists(CALLS, min_size=4, max_size=7) | TABLES | st.lists(st.dictionaries(KEYS, JSON)))
def test_whatever_the_tests_are_there_is_a_sound_problem_or_a_reason(tests: Any):
    reasons: Counter[str] = Counter()
    problem = preview.normalise(without(json.dumps(tests)), "taco", "train", 0, reasons)
    assert reasons.total() == 1
    assert (problem is not None) == (reasons["kept"] == 1)
    if problem is not None:
        assert problems.problem_of(json.loads(problems.line_of(problem))) == problem


def test_train_problems_that_equal_a_test_problem_are_left_out():
    reasons: Counter[str] = Counter()
    barred = Barred()
    assert preview.normalise(CODEFORCES, "codeforces", "test", 0, reasons, barred)
    same_tests = CODEFORCES | {
        "problem": "In other words.",
        "tests": json.dumps(stdin_tests("echo")[::-1]),
    }
    same_text = CODEFORCES | {
        "problem": "ECHO  the *number*",
        "tests": json.dumps(stdin_tests("other")),
    }
    shared = CODEFORCES | {
        "problem": "It shares some tests.",
        "tests": json.dumps(stdin_tests("other") + stdin_tests("echo", 3)),
    }
    other = CODEFORCES | {"problem": "Other.", "tests": json.dumps(stdin_tests("other"))}
    assert preview.normalise(same_tests, "taco", "train", 0, reasons, barred) is None
    assert preview.normalise(same_text, "taco", "train", 1, reasons, barred) is None
    assert preview.normalise(shared, "taco", "train", 2, reasons, barred) is None
    assert preview.normalise(other, "taco", "train", 3, reasons, barred)
    assert reasons == {"kept": 2, "equals a test problem": 3}


def test_rows_are_read_a_few_at_a_time(tmp_path: Path):
    path = tmp_path / "many.parquet"
    many = [numbered(CODEFORCES, number) for number in range(11)]
    parquet(many, path)
    reading = preview.rows(path)
    assert next(reading) == many[0]
    assert list(reading) == many[1:]
