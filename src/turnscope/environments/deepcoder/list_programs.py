"""Small functions on lists and integers: problems from which `nano` can learn to program.

A problem says in words what the function does, but for its constants, which only examples tell.
Every function is one line of Python whose symbols stand apart, so that a small tokenizer has one
token for each::

    sorted numbers above C plus K
    def f(x): return sorted( [ a + 3 for a in x if a > 4 ] )

Two functions are the same if they agree on `arguments`; train and test share none.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from turnscope import draws
from turnscope.environments.deepcoder.problems import Case, Problem

ENTRY = "f"
KINDS = ("list", "sorted", "sum", "integer")
"""What is returned: numbers of a list, the same in order, their sum; or of a single number."""
OPERATORS = {"+": "plus", "-": "minus", "*": "times"}
CHECKS = {">": "above", "<": "below", "even": "even", "odd": "odd"}
CONSTANTS = range(1, 7)
LOW, HIGH = 0, 7
"""Numbers in the lists of tests."""
MOST = 20
"""Largest single number."""
LENGTH = 4
"""Numbers in a list that is shown; hidden ones have up to twice as many."""
PUBLIC, PRIVATE = 3, 8
"""Tests of a problem."""
NEAR = 3
"""Most by which a constant is mistaken."""
ATTEMPTS = 1000
"""Draws of public tests before a function is declared used up."""
SIMPLE = 0.4
"""Share of problems with one part only, as far as there are such functions of the kind."""
HELD_OUT = 0.3
"""Share of functions that are kept for test."""


class Code(NamedTuple):
    """A function, by its parts."""

    kind: str
    operator: str
    """One of `OPERATORS`, or nothing."""
    number: int
    """What is added, taken away or multiplied by; 0 without an operator."""
    check: str
    """One of `CHECKS`, or nothing; of a single number, one of `OPERATORS` that comes second."""
    bound: int
    """What goes with it; 0 if nothing does."""


def render(code: Code) -> str:
    """Write a function down."""
    kind, operator, number, check, bound = code
    if kind == "integer":
        body = " ".join(["( x", *_pair(operator, number), *_pair(check, bound), ")"])
    else:
        value = " ".join(["a", *_pair(operator, number)])
        odd = {"even": "a % 2 == 0", "odd": "a % 2 == 1"}
        kept = f" if {odd.get(check, f'a {check} {bound}')}" if check else ""
        body = f"[ {value} for a in x{kept} ]"
        body = body if kind == "list" else f"{kind}( {body} )"
    return f"def {ENTRY}(x): return {body}"


def _pair(operator: str, number: int) -> list[str]:
    return [operator, str(number)] if operator else []


def describe(code: Code) -> str:
    """Say what a function does, without its constants."""
    step = f" {OPERATORS[code.operator]} K" if code.operator else ""
    if code.kind == "integer":
        return f"number{step}{f' {OPERATORS[code.check]} C' if code.check else ''}"
    which = {"": "numbers", "even": "even numbers", "odd": "odd numbers"}
    words = which.get(code.check) or f"numbers {CHECKS[code.check]} C"
    return {"list": "", "sorted": "sorted ", "sum": "sum of "}[code.kind] + words + step


def run(code: Code, x: Any) -> Any:
    """Compute what a function returns, without running the text of `render`."""
    if code.kind == "integer":
        return _apply(_apply(x, code.operator, code.number), code.check, code.bound)
    kept = [_apply(a, code.operator, code.number) for a in x if _passes(a, code)]
    return {"list": list, "sorted": sorted, "sum": sum}[code.kind](kept)


def _apply(a: int, operator: str, number: int) -> int:
    return {"": a, "+": a + number, "-": a - number, "*": a * number}[operator]


def _passes(a: int, code: Code) -> bool:
    comparisons = {">": a > code.bound, "<": a < code.bound, "even": a % 2 == 0, "odd": a % 2 == 1}
    return comparisons.get(code.check, True)


def _all() -> Iterator[Code]:
    """Yield all functions, the simpler ones first."""
    steps = [("", 0), *itertools.product(OPERATORS, CONSTANTS)]
    steps.remove(("*", 1))
    checks = [("", 0), ("even", 0), ("odd", 0), *itertools.product("><", CONSTANTS)]
    seconds = [("", 0), *itertools.product("+-", CONSTANTS)]
    for kind in KINDS:
        for step in steps:
            options = checks if kind != "integer" else seconds if step[0] == "*" else seconds[:1]
            for check in options:
                if step[0] or (check[0] and kind != "integer"):
                    yield Code(kind, *step, *check)


@lru_cache(maxsize=1)
def arguments() -> tuple[list[list[int]], list[int]]:
    """Return the arguments by which functions are told apart: lists, and numbers."""
    noise = np.random.Generator(np.random.PCG64(draws.seed("list_programs", "arguments")))
    lists = [[], *([a] for a in range(LOW, HIGH + 1))]
    lists += [noise.integers(LOW, HIGH + 1, size=length).tolist() for length in range(2, 12)]
    return lists, list(range(-5, 25))


@lru_cache(maxsize=1)
def catalogue() -> dict[str, Code]:
    """List one function of each meaning, by its text: of those that agree, the first."""
    found: dict[str, Code] = {}
    lists, numbers = arguments()
    for code in _all():
        answers = [run(code, x) for x in (numbers if code.kind == "integer" else lists)]
        found.setdefault(f"{code.kind == 'integer'} {answers}", code)
    return {render(code): code for code in found.values()}


@lru_cache(maxsize=1 << 12)
def near(code: Code) -> tuple[str, ...]:
    """List functions of the same split that differ from one in a single part, as mistakes do.

    Who learns from mistakes at train problems has then met no function of a test problem.
    """
    return tuple(text for text in _rivals(code) if split_of(catalogue()[text]) == split_of(code))


@lru_cache(maxsize=1 << 12)
def _rivals(code: Code) -> tuple[str, ...]:
    """List all functions of other meaning that differ from one in a single part."""
    return tuple(text for text, other in catalogue().items() if _is_near(code, other))


@lru_cache(maxsize=1 << 12)
def split_of(code: Code) -> str:
    """Say whether a function is for `train` or `test`, in every study."""
    held = draws.uniform(draws.seed("list_programs", "split", render(code)), 0) < HELD_OUT
    return "test" if held else "train"


def _is_near(one: Code, other: Code) -> bool:
    parts = [one.kind != other.kind, one[1:3] != other[1:3], one[3:5] != other[3:5]]
    apart = abs(one.number - other.number), abs(one.bound - other.bound)
    return sum(parts) == 1 and max(apart) <= NEAR


def _argument(random: np.random.Generator, code: Code, shortest: int, longest: int) -> list[Any]:
    if code.kind == "integer":
        return [int(random.integers(LOW, MOST + 1))]
    length = int(random.integers(shortest, longest + 1))
    return [random.integers(LOW, HIGH + 1, size=length).tolist()]


@lru_cache(maxsize=1 << 12)
def private(code: Code) -> tuple[Case, ...]:
    """Choose the hidden tests of a function: first those that most of its mistakes fail."""
    random = np.random.Generator(np.random.PCG64(draws.seed("list_programs", render(code))))
    inputs: list[Any] = [] if code.kind == "integer" else [[[]]]
    while len(inputs) < (2 * HIGH if code.kind == "integer" else 5 * PRIVATE):
        made = _argument(random, code, 1, 2 * LENGTH)
        if made not in inputs:
            inputs.append(made)
    rivals = [catalogue()[text] for text in _rivals(code)]
    told_IR = np.array([[not _same(code, other, one) for other in rivals] for one in inputs])
    chosen: list[int] = []
    alive_R = np.ones(len(rivals), dtype=bool)
    while len(chosen) < PRIVATE:
        worth_I = (told_IR & alive_R).sum(axis=1)
        worth_I[chosen] = -1
        chosen.append(int(worth_I.argmax()))
        alive_R &= ~told_IR[chosen[-1]]
        if not alive_R.any():
            alive_R[:] = True
    return tuple(Case(inputs[place], run(code, *inputs[place])) for place in chosen)


def _same(code: Code, other: Code, inputs: list[Any]) -> bool:
    return _answer(code, inputs) == _answer(other, inputs)


@lru_cache(maxsize=1 << 12)
def mistakes(code: Code) -> tuple[str, ...]:
    """List functions that differ in a single part and fail a hidden test, of either split."""
    return tuple(text for text in _rivals(code) if fails(text, private(code)))


def fails(text: str, cases: Sequence[Case]) -> int:
    """Count the tests that a function of the catalogue fails."""
    code = catalogue()[text]
    return sum(_answer(code, case.input) != case.output for case in cases)


def _answer(code: Code, inputs: list[Any]) -> Any:
    """Return what a function makes of arguments; nothing if they are of another kind."""
    single = not isinstance(inputs[0], list)
    return run(code, *inputs) if single == (code.kind == "integer") else None


@lru_cache(maxsize=1)
def words() -> tuple[str, ...]:
    """List the functions of one part."""
    return tuple(text for text, code in catalogue().items() if not (code.operator and code.check))


def problems(seed: int, split: str, number: int) -> Iterator[Problem]:
    """Draw problems of one split, the kinds in turn, and all functions of a kind about as often.

    Args:
        seed: Names the set.
        split: `train` or `test`.
        number: How many; all are different.

    Raises:
        ValueError: There are not that many.
    """
    seen: set[str] = set()
    uses: Counter[Code] = Counter()
    for place in range(number):
        random = np.random.Generator(np.random.PCG64(draws.seed(seed, split, place)))
        code = _chosen(random, split, KINDS[place % len(KINDS)], uses)
        uses[code] += 1
        yield Problem(
            name=f"{split}-{place:05d}",
            statement=describe(code),
            entry=ENTRY,
            starter="",
            public=tuple(Case(one, run(code, *one)) for one in _shown(random, code, seen)),
            private=private(code),
            solution=render(code),
            stratum=code.kind,
            split=split,
        )


def _shown(random: np.random.Generator, code: Code, seen: set[str]) -> list[list[Any]]:
    """Draw the inputs of public tests that no problem of this function has had."""
    hidden = [case.input for case in private(code)]
    for _ in range(ATTEMPTS):
        shown: list[list[Any]] = []
        while len(shown) < PUBLIC:
            made = _argument(random, code, LENGTH, LENGTH)
            if made not in shown and made not in hidden:
                shown.append(made)
        name = f"{render(code)} {sorted(shown)}"
        if name not in seen:
            seen.add(name)
            return shown
    raise ValueError(f"found no new problem of {render(code)!r}; ask for fewer tasks")


@lru_cache(maxsize=1 << 4)
def _functions(split: str, kind: str, double: bool) -> tuple[Code, ...]:
    """List the functions of a split and kind that have one part, or two."""
    return tuple(
        code
        for code in catalogue().values()
        if (split_of(code), code.kind, bool(code.operator and code.check)) == (split, kind, double)
    )


def _chosen(random: np.random.Generator, split: str, kind: str, uses: Counter[Code]) -> Code:
    """Choose among the functions of a kind that were used least."""
    codes = _functions(split, kind, random.random() >= SIMPLE)
    least = min(uses[code] for code in codes)
    left = [code for code in codes if uses[code] == least]
    return left[int(random.integers(len(left)))]
