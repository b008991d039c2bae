"""Problems with tests: what they are, how they are stored, and when an output is right.

The file format is JSON lines, one problem a line, described in `docs/problems.md`.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from turnscope import atomic
from turnscope.environments.deepcoder._agreement import agrees
from turnscope.environments.deepcoder._values import check, identity, is_name, parse, short

__all__ = [
    "Case",
    "Problem",
    "agrees",
    "line_of",
    "payload",
    "problem_of",
    "read",
    "spell",
    "split_tests",
    "stands_in",
    "write",
]

SPLITS = ("train", "test")
UNMATCHED = 2
"""Public tests of a problem whose statement shows none."""


class Case(NamedTuple):
    """One test."""

    input: Any
    """Arguments of the function, a list; or the text on standard input."""
    output: Any
    """What the function must return, or the text that must be printed."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A statement and the tests that a program must pass."""

    name: str
    """Unique within its file."""
    statement: str
    entry: str | None
    """The function that is called; None for a script that reads standard input."""
    starter: str
    """Code to begin with, such as a signature; may be empty."""
    public: tuple[Case, ...]
    """Tests whose outcome a policy is told."""
    private: tuple[Case, ...]
    """Tests that decide success; none has the input of a public one."""
    solution: str | None
    """A program that passes, if one is known."""
    stratum: str
    """Group within which the bootstrap resamples."""
    split: str | None = None
    """`train` or `test`; None where whoever loads the problem may choose."""


OPTIONAL = {"starter": "", "solution": None, "stratum": "all", "split": None}
FIELDS = ("name", "statement", "entry", "public", "private", *OPTIONAL)


def payload(problem: Problem) -> dict[str, Any]:
    """Return the problem as JSON values; `problem_of` is the inverse."""
    tests = {
        part: [{"input": case.input, "output": case.output} for case in getattr(problem, part)]
        for part in ("public", "private")
    }
    return {name: getattr(problem, name) for name in FIELDS} | tests


def problem_of(payload: Any) -> Problem:
    """Read a problem from JSON values.

    Raises:
        ValueError: They are not of the schema; the line says which field, and what is legal.
    """
    if not isinstance(payload, dict):
        raise ValueError(f"a problem is {short(payload)}; legal is an object")
    unknown = sorted(payload.keys() - set(FIELDS))
    missing = [name for name in FIELDS if name not in payload and name not in OPTIONAL]
    if unknown or missing:
        fault = f"unknown field {unknown[0]!r}" if unknown else f"no field {missing[0]!r}"
        raise ValueError(f"a problem has {fault}; known: {', '.join(FIELDS)}")
    value = OPTIONAL | payload
    for name in FIELDS:
        check(name, value[name])
    _check_texts(value)
    for part in ("public", "private"):
        value[part] = _cases(value[part], part, value["entry"])
    problem = Problem(**value)
    _check_apart(problem)
    return problem


def _check_texts(value: dict[str, Any]) -> None:
    """Check all fields but the tests."""
    entry, split = value["entry"], value["split"]
    texts = ("name", "statement", "starter", "stratum")
    checks = {
        **{name: (isinstance(value[name], str), "a text") for name in texts},
        "entry": (
            entry is None or (isinstance(entry, str) and is_name(entry)),
            "the name of a function, or null for a script",
        ),
        "solution": (isinstance(value["solution"], str | None), "a text or null"),
        "split": (split is None or split in SPLITS, "train, test or null"),
    }
    if value["name"] == "":
        checks["name"] = (False, "a text that is not empty")
    for name, (fine, legal) in checks.items():
        if not fine:
            raise ValueError(f"{name} is {short(value[name])}; legal is {legal}")


def _check_apart(problem: Problem) -> None:
    """Refuse an input that is both shown and hidden, and one with two outputs."""
    told = {identity(case.input) for case in problem.public}
    if any(identity(case.input) in told for case in problem.private):
        raise ValueError("private has an input of public; legal are inputs that are not shown")
    for part, cases in (("public", problem.public), ("private", problem.private)):
        known: dict[str, Case] = {}
        for case in cases:
            first = known.setdefault(identity(case.input), case)
            if not agrees(first.output, case.output, script=problem.entry is None):
                raise ValueError(f"{part} has two outputs for {short(case.input)}; legal is one")


def _cases(value: Any, part: str, entry: str | None) -> tuple[Case, ...]:
    """Read the tests of one part."""
    if not isinstance(value, list) or not value:
        raise ValueError(f"{part} is {short(value)}; legal is a list of at least one test")
    for test in value:
        if not isinstance(test, dict) or set(test) != {"input", "output"}:
            raise ValueError(f"{part} has {short(test)}; legal is an object of input and output")
        given, wanted = test["input"], test["output"]
        if entry is None and not (isinstance(given, str) and isinstance(wanted, str)):
            raise ValueError(f"{part} has {short(test)}; legal for a script are two texts")
        if entry is not None and not isinstance(given, list):
            raise ValueError(f"{part} has input {short(given)}; legal is a list of arguments")
    return tuple(Case(test["input"], test["output"]) for test in value)


def read(path: str | Path) -> Iterator[Problem]:
    """Read problems one by one.

    Raises:
        ValueError: A line is not of the schema, or a name comes twice; says file and line.
    """
    seen: set[str] = set()
    with open(path, encoding="utf-8", newline="\n") as lines:
        number = 0
        try:
            for line in lines:
                number += 1
                if not line.strip():
                    continue
                problem = problem_of(parse(line))
                if problem.name in seen:
                    raise ValueError(f"the name {problem.name!r} comes twice; legal is once")
                seen.add(problem.name)
                yield problem
        except UnicodeDecodeError:
            # The reader decodes ahead, so the number of the line is not known.
            raise ValueError(f"{path}: not UTF-8 text after line {number}") from None
        except ValueError as fault:
            raise ValueError(f"{path}, line {number}: {fault}") from None


def write(problems: Iterable[Problem], path: str | Path) -> int:
    """Write problems one by one; the file appears only when all are written.

    Returns:
        How many there were.

    Raises:
        ValueError: A problem is not of the schema, for a test holds NaN or the like.
    """
    path, number = Path(path), 0
    atomic.sweep(path)
    with (
        atomic.replacing(path) as draft,
        draft.open("w", encoding="utf-8", newline="\n") as file,
    ):
        for problem in problems:
            file.write(line_of(problem))
            number += 1
    return number


def line_of(problem: Problem) -> str:
    """Return the line that stands for a problem in a file.

    Raises:
        ValueError: It is not of the schema, for a test holds NaN or the like.
    """
    fields = payload(problem)
    try:
        problem_of(fields)
    except (ValueError, RecursionError) as fault:
        raise ValueError(f"problem {problem.name!r}: {fault}") from None
    return json.dumps(fields, sort_keys=True) + "\n"


def split_tests(
    statement: str,
    cases: Sequence[Case],
    public: int = 3,
    private: int = 15,
    most_chars: int | None = None,
) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """Choose tests to show and tests to keep back.

    Shown are tests whose input stands in the statement, see `stands_in`; if there is none, the
    first `UNMATCHED`. Kept back are those with the longest inputs among the others, but never one
    that stands in the statement. Of tests with one input the first counts.

    Args:
        statement: The problem as a policy reads it.
        cases: Tests in the order of their source.
        public: Most tests to show, >= 1.
        private: Most tests to keep back, >= 1.
        most_chars: Most characters of all chosen tests together; None is no limit.

    Returns:
        Public tests and private tests, both in the order of `cases`.

    Raises:
        ValueError: Fewer than two different inputs fit, or all of them stand in the statement.

    Source:
        rLLM, `CompetitionCodingAgent` with `public_test_only`, and its 15 longest tests.
        Differs: at most `public` tests are shown, and all tests are different.
    """
    different: dict[str, Case] = {}
    for case in cases:
        different.setdefault(identity(case.input), case)
    lengths = {key: len(spell(case.input)) for key, case in different.items()}
    sizes = {key: lengths[key] + len(spell(case.output)) for key, case in different.items()}
    room = math.inf if most_chars is None else most_chars
    fitting = [key for key in different if sizes[key] <= room]
    matched = [key for key in fitting if stands_in(different[key], statement)]
    wanted = matched[:public] or fitting[: max(1, min(public, UNMATCHED, len(fitting) - 1))]
    others = [key for key in fitting if key not in {*matched, *wanted}]
    longest = sorted(others, key=lengths.__getitem__, reverse=True)
    shown, room = _within(wanted, sizes, len(wanted), room)
    kept, _ = _within(longest, sizes, private, room)
    if not shown or not kept:
        said = ", all in the statement" if matched and not others else " that fit"
        raise ValueError(f"{len(cases)} tests have {len(fitting)} inputs{said}")
    chosen = [[different[key] for key in fitting if key in part] for part in (shown, kept)]
    return tuple(chosen[0]), tuple(chosen[1])


def _within(
    keys: Sequence[str], sizes: dict[str, int], most: int, room: float
) -> tuple[set[str], float]:
    """Take the keys that have room, one after the other; return them and the room left."""
    taken: set[str] = set()
    for key in keys:
        if len(taken) < most and sizes[key] <= room:
            taken.add(key)
            room -= sizes[key]
    return taken, room


def spell(value: Any) -> str:
    """Write a value down as a policy reads it: a text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def stands_in(case: Case, statement: str) -> bool:
    """Say whether each line of an input, or each argument, stands in a statement, blanks apart.

    Arguments may be spelled as JSON or as Python does.
    """
    if isinstance(case.input, str):
        parts = [(line,) for line in case.input.splitlines() if line.strip()]
    else:
        parts = [(json.dumps(argument), repr(argument)) for argument in case.input]
    text = "".join(statement.split())
    return bool(parts) and all(
        any("".join(spelling.split()) in text for spelling in spellings) for spellings in parts
    )
