"""Rows of DeepCoder-Preview, whose tests come in three formats, as problems."""

import contextlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from turnscope.environments.deepcoder._twins import Barred, Marks, marks
from turnscope.environments.deepcoder._values import is_name, parse
from turnscope.environments.deepcoder.problems import Case, Problem, line_of, split_tests

LEAST = 5
"""Fewest tests of a problem that is kept."""
SHOWN, KEPT, CHARS = 3, 15, 200_000
"""Most public tests, most private tests, and most characters of all tests of a problem."""


class Tests(NamedTuple):
    """The tests of a row."""

    entry: str | None
    cases: list[Case]


def tests_of(record: dict[str, Any]) -> Tests:
    """Read the tests of a row, whichever of the three formats they have.

    Lists of `{input, output, testtype}` (lcbv5, codeforces), where a function is called with one
    JSON value a line; dicts `{inputs, outputs, fn_name}` (taco) and lists of
    `{type, input, output, fn_name}` (primeintellect), where it is called with a list of arguments.

    Raises:
        ValueError: They cannot be read; a few words say why, the same for all such rows.
    """
    tests = _json(record.get("tests"), "unreadable tests")
    if isinstance(tests, dict):
        inputs, outputs = tests.get("inputs"), tests.get("outputs")
        if not isinstance(inputs, list) or not isinstance(outputs, list):
            raise ValueError("unreadable tests")
        if len(inputs) != len(outputs):
            raise ValueError("unequal numbers of inputs and outputs")
        name = tests.get("fn_name")
        tests = [
            {"input": given, "output": wanted, "fn_name": name}
            for given, wanted in zip(inputs, outputs, strict=True)
        ]
    if not isinstance(tests, list) or not all(isinstance(test, dict) for test in tests):
        raise ValueError("unreadable tests")
    if not tests:
        raise ValueError("no tests")
    names = {_entry(test, record) for test in tests}
    if len(names) > 1:
        raise ValueError("tests of several functions")
    entry = names.pop()
    cases = [_script(test) if entry is None else _call(test) for test in tests]
    return Tests(entry, cases if entry is None else _unwrapped(tests, cases))


def _json(value: Any, fault: str) -> Any:
    """Parse a value that may be spelled as JSON."""
    if not isinstance(value, str):
        return value
    try:
        return parse(value)
    except ValueError:
        raise ValueError(fault) from None


def _metadata(value: Any) -> dict[str, Any]:
    """Return metadata, which may be spelled as JSON or absent."""
    found = _json(value, "unreadable metadata") if value else {}
    return found if isinstance(found, dict) else {}


def _entry(test: dict[str, Any], record: dict[str, Any]) -> str | None:
    """Return the function that a test calls; None for a script."""
    kind = test.get("testtype") or test.get("type")
    name = test.get("fn_name") or _metadata(test.get("metadata")).get("func_name")
    if kind in ("functional", "function_call"):
        name = name or _metadata(record.get("metadata")).get("func_name")
    elif kind or not name:
        return None
    if not isinstance(name, str) or not is_name(name):
        raise ValueError("no name of a function")
    return name


def _script(test: dict[str, Any]) -> Case:
    """Read a test of a script; lists are lines."""
    texts = [test.get("input"), test.get("output")]
    for i, value in enumerate(texts):
        if isinstance(value, list) and all(isinstance(line, str) for line in value):
            texts[i] = "\n".join(value)
        elif not isinstance(value, str):
            raise ValueError("a script's input or output is no text")
    return Case(*texts)


def _call(test: dict[str, Any]) -> Case:
    """Read a test of a function."""
    given, wanted = test.get("input"), test.get("output")
    if isinstance(given, str):
        lines = [line for line in given.split("\n") if line.strip()]
        given = [_json(line, "arguments are not JSON") for line in lines]
    if not isinstance(given, list):
        raise ValueError("arguments are no list")
    if "testtype" in test:
        wanted = _json(wanted, "output is not JSON")
    return Case(given, wanted)


def _unwrapped(tests: list[dict[str, Any]], cases: list[Case]) -> list[Case]:
    """Take outputs out of the list of one that two of the formats put around them.

    The formats do not say whether they did. They are taken to have done so if all outputs of a
    problem look like it, for a function that always returns a list of one is rare.
    """
    if any("testtype" in test for test in tests):
        return cases
    if not all(isinstance(case.output, list) and len(case.output) == 1 for case in cases):
        return cases
    return [Case(case.input, case.output[0]) for case in cases]


def normalise(
    record: dict[str, Any],
    config: str,
    split: str,
    number: int,
    reasons: Counter[str],
    barred: Barred | None = None,
) -> Problem | None:
    """Make a problem of a row.

    Args:
        record: The row.
        config: Which part of the dataset it is from; the stratum.
        split: `train` or `test`.
        number: Number of the row in its config and split, from 0.
        reasons: Counts what became of rows; gets one more.
        barred: Test problems so far. A test problem is added, with all of its tests, and a train
            problem that is a twin of one is left out.

    Returns:
        The problem, or None where the row makes none.
    """
    try:
        problem = _problem(record, config, split, number, barred)
    except (ValueError, RecursionError) as reason:
        reasons[str(reason) if isinstance(reason, ValueError) else "too deeply nested"] += 1
        return None
    reasons["kept"] += 1
    return problem


def _problem(
    record: dict[str, Any], config: str, split: str, number: int, barred: Barred | None
) -> Problem:
    """Make a problem of a row, or refuse it with a reason that is the same for all such rows."""
    statement = record.get("problem")
    if not isinstance(statement, str) or not statement.strip():
        raise ValueError("no statement")
    entry, cases = tests_of(record)
    solution = _solution(record.get("solutions"))
    if barred is not None and _is_barred(marks(statement, solution, cases), split, barred):
        raise ValueError("equals a test problem")
    if len(cases) < LEAST:
        raise ValueError(f"fewer than {LEAST} tests")
    public, private = _chosen(statement, cases)
    problem = Problem(
        name=f"{config}-{split}-{number:05d}",
        statement=statement,
        entry=entry,
        starter=str(record.get("starter_code") or ""),
        public=public,
        private=private,
        solution=solution,
        stratum=config,
        split=split,
    )
    _check(problem)
    return problem


def _check(problem: Problem) -> None:
    """Refuse a problem that could not be written: one row must not end a conversion."""
    try:
        line_of(problem)
    except ValueError:
        raise ValueError("tests that JSON cannot carry") from None


def _chosen(statement: str, cases: Sequence[Case]) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """Choose tests, with a reason that does not depend on how many there are."""
    try:
        return split_tests(statement, cases, SHOWN, KEPT, CHARS)
    except ValueError as fault:
        if str(fault).endswith("that fit"):
            raise ValueError("fewer than two different tests of a fit size") from None
        raise ValueError("all tests stand in the statement") from None


def _is_barred(found: Marks, split: str, barred: Barred) -> bool:
    """Bar a test problem; say whether a train problem is a twin of one."""
    if split == "test":
        barred.add(found)
        return False
    return barred.holds(found)


def _solution(solutions: Any) -> str | None:
    """Return the first solution, without the fence around it."""
    with contextlib.suppress(ValueError):  # text that is not JSON is a solution itself
        solutions = _json(solutions, "not JSON")
    first = solutions[0] if isinstance(solutions, list) and solutions else solutions
    if not isinstance(first, str) or not first.strip():
        return None
    if first.strip().startswith("```"):
        first = "\n".join(first.strip().splitlines()[1:]).rstrip("`")
    return first.strip() + "\n"
