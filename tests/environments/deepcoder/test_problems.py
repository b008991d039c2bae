import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnscope.environments.deepcoder import problems
from turnscope.environments.deepcoder.problems import Case, Problem, split_tests

ADD: dict[str, Any] = {
    "name": "add",
    "statement": "Add two numbers.",
    "entry": "add",
    "public": [{"input": [1, 2], "output": 3}],
    "private": [{"input": [0, 0], "output": 0}, {"input": [-1, 1], "output": 0}],
}


def test_a_problem_survives_the_file(tmp_path: Path):
    made = problems.problem_of(ADD)
    script = Problem(
        name="echo",
        statement="Print it: \u00e4 \u2028",
        entry=None,
        starter="import sys\n",
        public=(Case("1\n", "1\n"),),
        private=(Case("\x00", "\x00"),),
        solution="print(input())",
        stratum="scripts",
        split="test",
    )
    path = tmp_path / "problems.jsonl"
    assert problems.write([made, script], path) == 2
    assert list(problems.read(path)) == [made, script]
    assert [found.name for found in tmp_path.iterdir()] == ["problems.jsonl"]
    first = path.read_bytes()
    problems.write([made, script], path)
    assert path.read_bytes() == first


@pytest.mark.parametrize("value", [math.inf, math.nan, "\ud83d", {1}])
def test_values_that_no_file_carries_are_refused(value: Any):
    with pytest.raises(ValueError, match="private has"):
        problems.problem_of(ADD | {"private": [{"input": [5, 5], "output": [value]}]})


def test_what_is_written_can_be_read():
    good = problems.problem_of(ADD)
    for change in ({"statement": "\ud83d"}, {"entry": "if"}, {"private": good.public}):
        with pytest.raises(ValueError, match="problem 'add': "):
            problems.line_of(dataclasses.replace(good, **change))


def test_equal_tests_and_outputs_that_agree_are_no_contradiction():
    twice = [{"input": [5, 5], "output": output} for output in (10, 10, 10.0)]
    assert len(problems.problem_of(ADD | {"private": twice}).private) == 3


def test_fields_may_be_left_out():
    made = problems.problem_of(ADD)
    assert (made.starter, made.solution, made.stratum, made.split) == ("", None, "all", None)
    assert made.private == (Case([0, 0], 0), Case([-1, 1], 0))
    assert problems.problem_of(json.loads(json.dumps(problems.payload(made)))) == made


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"title": "x"}, "unknown field 'title'"),
        ({"name": ""}, "name is ''"),
        ({"statement": 3}, "statement is 3"),
        ({"entry": "not a name"}, "entry is 'not a name'"),
        ({"split": "dev"}, "split is 'dev'"),
        ({"solution": 1}, "solution is 1"),
        ({"public": []}, "public is a list of 0"),
        ({"private": {}}, "private is an object of 0"),
        ({"private": [{"input": [1]}]}, "an object of input and output"),
        ({"private": [{"input": 1, "output": 1}]}, "a list of arguments"),
        ({"entry": None}, "legal for a script are two texts"),
        ({"private": [{"input": [1, 2], "output": 3}]}, "private has an input of public"),
        ({"private": [{"input": [1.0, 2], "output": 3}]}, "private has an input of public"),
        ({"private": [{"input": [True, 2], "output": 3}]}, "private has an input of public"),
        (
            {"private": [{"input": [[0]], "output": 0}, {"input": [[0.0]], "output": 1}]},
            "private has two outputs for a list of 1",
        ),
        ({"entry": "lambda"}, "entry is 'lambda'"),
        ({"entry": "None"}, "entry is 'None'"),
        ({"name": "\ud83d"}, "name has half of a surrogate pair"),
        ({"statement": "\udc00"}, "statement has half of a surrogate pair"),
        ({"solution": "\udc00"}, "solution has half of a surrogate pair"),
        ({"private": [{"input": [{"\ud83d": 1}], "output": 3}]}, "private has half of"),
    ],
)
def test_what_is_not_of_the_schema_is_refused(change: dict[str, Any], said: str, tmp_path: Path):
    path = tmp_path / "bad.jsonl"
    second = {"name": "second"} | change
    path.write_text(json.dumps(ADD) + "\n" + json.dumps(ADD | second) + "\n")
    with pytest.raises(ValueError, match=r"bad\.jsonl, line 2: ") as fault:
        list(problems.read(path))
    assert said in str(fault.value)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (json.dumps(ADD), "comes twice"),
        ("{", "not JSON"),
        ("[1]", "a problem is a list of 1"),
        ("[" * 100_000, "too deeply nested"),
        ('{"name": ' + "1" * 5000 + "}", "not JSON"),
        ('{"name": "x"}', "no field 'statement'"),
        ('{"name": "x", "name": "y"}', "the key 'name' comes twice"),
        (json.dumps(ADD | {"name": "b"}).replace("-1", "1e999"), "1e999 is beyond all floats"),
        (json.dumps(ADD | {"name": "b"}).replace("-1", "NaN"), "NaN is no number of JSON"),
        (json.dumps(ADD | {"name": "b"}).replace("[-1, 1]", '[{"a": 1, "a": 2}]'), "'a' comes"),
    ],
)
def test_lines_that_are_no_problem_are_refused(second: str, said: str, tmp_path: Path):
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(ADD) + "\n\n" + second + "\n")
    with pytest.raises(ValueError, match="line 3: ") as fault:
        list(problems.read(path))
    assert said in str(fault.value)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="not UTF-8"):
        list(problems.read(path))


def test_problems_are_read_one_by_one(tmp_path: Path):
    path = tmp_path / "problems.jsonl"
    path.write_text(json.dumps(ADD) + "\n{\n")
    reading = problems.read(path)
    assert next(reading).name == "add"
    with pytest.raises(ValueError, match="line 2"):
        next(reading)


def test_a_failed_write_leaves_what_was_there(tmp_path: Path):
    path = tmp_path / "problems.jsonl"
    path.write_text("before")
    good = problems.problem_of(ADD)
    bad = dataclasses.replace(good, public=(Case([math.nan], 1),))
    with pytest.raises(ValueError, match="problem 'add': public has what JSON cannot carry"):
        problems.write([good, bad], path)
    assert path.read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 1


def scripts(*inputs: str) -> list[Case]:
    return [Case(text, text.upper()) for text in inputs]


def test_tests_in_the_statement_are_shown():
    statement = "Read n.\nExample:\n  3 4\n  ab\nThen print."
    cases = scripts("9 9 9", "34\nab\n", "3 4", "zz", "x" * 50)
    public, private = split_tests(statement, cases)
    assert [case.input for case in public] == ["34\nab\n", "3 4"]
    assert [case.input for case in private] == ["9 9 9", "zz", "x" * 50]


def test_arguments_in_the_statement_are_shown():
    cases = [Case([[1, 2], 7], 1), Case([[3], 8], 2), Case([[1, 2], 8], 3)]
    public, private = split_tests("f(nums = [1,2], k = 7)", cases)
    assert public == (cases[0],)
    assert private == (cases[1], cases[2])


def test_without_a_match_the_first_two_are_shown():
    public, private = split_tests("Nothing.", scripts("a", "b", "c", "d"))
    assert [case.input for case in public] == ["a", "b"]
    assert [case.input for case in private] == ["c", "d"]


def test_the_longest_are_kept_back_in_their_order():
    cases = scripts("a", "b", "1", "333", "22", "4444")
    _, private = split_tests("Nothing.", cases, private=2)
    assert [case.input for case in private] == ["333", "4444"]


def test_of_equal_inputs_the_first_counts_and_one_test_is_kept_back():
    cases = [Case("a", "1"), Case("a", "2"), Case("b", "3")]
    assert split_tests("x", cases) == ((Case("a", "1"),), (Case("b", "3"),))
    with pytest.raises(ValueError, match="2 tests have 1 inputs that fit"):
        split_tests("x", cases[:2])
    numbers = [Case([1], 1), Case([1.0], 2), Case([True], 3), Case([2], 4)]
    assert split_tests("x", numbers) == ((numbers[0],), (numbers[3],))


def test_what_stands_in_the_statement_is_never_kept_back():
    cases = scripts("aaaaa", "bbbb", "ccc", "dd", "e", "f")
    public, private = split_tests("aaaaa bbbb ccc dd", cases)
    assert (public, private) == (tuple(cases[:3]), tuple(cases[4:]))
    with pytest.raises(ValueError, match="4 tests have 4 inputs, all in the statement"):
        split_tests("aaaaa bbbb ccc dd", cases[:4])
    spelled = [Case([["x"], True], 1), Case([["y"]], 2), Case([["z"]], 3)]
    assert split_tests("f(['x'], True) is 1", spelled) == ((spelled[0],), (*spelled[1:],))


def test_tests_that_are_too_large_are_not_chosen():
    cases = scripts("a", "b", "c" * 50, "d" * 20, "e" * 10)
    public, private = split_tests("Nothing.", cases, most_chars=60)
    # Input and output together have 2, 2, 100, 40 and 20 characters.
    assert [case.input for case in public] == ["a", "b"]
    assert [case.input for case in private] == ["d" * 20]
    public, _ = split_tests("Nothing.", cases[2:], most_chars=60)
    assert [case.input for case in public] == ["d" * 20]
    with pytest.raises(ValueError, match="inputs that fit"):
        split_tests("Nothing.", cases[2:3] * 3 + cases[3:4], most_chars=60)


@settings(deadline=None)
@given(
    st.lists(st.builds(Case, st.text(max_size=5), st.text(max_size=3)), max_size=30),
    st.integers(1, 4),
    st.integers(1, 20),
    st.text(max_size=20),
)
def test_shown_and_kept_are_apart(cases: list[Case], public: int, private: int, statement: str):
    bare = "".join(statement.split())
    lines = {case.input: [*map("".join, map(str.split, case.input.splitlines()))] for case in cases}
    told = {
        text for text, parts in lines.items() if any(parts) and all(part in bare for part in parts)
    }
    if len(lines) < 2 or told == set(lines):
        with pytest.raises(ValueError, match=r"inputs that fit|all in the statement"):
            split_tests(statement, cases, public, private)
        return
    shown, kept = split_tests(statement, cases, public, private)
    assert 1 <= len(shown) <= public
    assert 1 <= len(kept) <= private
    inputs = [case.input for case in (*shown, *kept)]
    assert len(set(inputs)) == len(inputs)
    assert all(case in cases for case in (*shown, *kept))
    assert told.isdisjoint(case.input for case in kept)
    left = {case.input for case in cases} - set(inputs) - told
    if len(kept) == private:
        assert all(len(text) <= min(len(case.input) for case in kept) for text in left)
