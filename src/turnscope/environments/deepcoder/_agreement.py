"""When an output of a program is the expected one."""

import math
import re
from decimal import Decimal
from typing import Any

CLOSE = 1e-6
"""Relative or absolute difference up to which a float is taken for the expected one."""
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")


def agrees(expected: Any, value: Any, *, script: bool = True) -> bool:
    """Say whether an output is the expected one.

    Two texts printed by a script are compared line by line, without the blanks around each line:
    equal numbers of tokens, and each token equal as text or as a decimal number. All else is
    compared by `==`, but lists and tuples are alike, at any depth, and a float need only be within
    `CLOSE` of an expected float.

    Args:
        expected: What was asked for, JSON values.
        value: What a program gave, JSON values; may be hostile.
        script: Whether two texts are what a script printed; else they must be equal.

    Source:
        LiveCodeBench, `lcb_runner/evaluation/testing_util.py`.
        Differs: a line may mix words and numbers, and floats that a function returns need not be
        equal to the last bit.
    """
    if script and isinstance(expected, str) and isinstance(value, str):
        return _same_lines(expected, value)
    # A stack, for a program may return lists nested deeper than Python recurses.
    waiting = [(expected, value)]
    while waiting:
        wanted, given = waiting.pop()
        if isinstance(wanted, list | tuple) and isinstance(given, list | tuple):
            if len(wanted) != len(given):
                return False
            waiting += zip(wanted, given, strict=True)
        elif isinstance(wanted, dict) and isinstance(given, dict):
            if wanted.keys() != given.keys():
                return False
            waiting += ((wanted[name], given[name]) for name in wanted)
        elif not _same_scalar(wanted, given):
            return False
    return True


def _same_scalar(wanted: Any, given: Any) -> bool:
    """Compare two values of which at least one is not a container."""
    if isinstance(wanted, list | tuple | dict) or isinstance(given, list | tuple | dict):
        return False
    if wanted == given:
        return True
    if not isinstance(wanted, float) or not isinstance(given, int | float):
        return False
    try:
        return not isinstance(given, bool) and math.isclose(
            wanted, given, rel_tol=CLOSE, abs_tol=CLOSE
        )
    except OverflowError:  # an integer beyond all floats
        return False


def _same_lines(expected: str, value: str) -> bool:
    """Compare two printed texts."""
    if expected == value:
        return True
    wanted, given = expected.strip().split("\n"), value.strip().split("\n")
    return len(wanted) == len(given) and all(map(_same_tokens, wanted, given))


def _same_tokens(expected: str, value: str) -> bool:
    """Compare two lines."""
    wanted, given = expected.split(), value.split()
    return len(wanted) == len(given) and all(
        one == other or _same_number(one, other) for one, other in zip(wanted, given, strict=True)
    )


def _same_number(one: str, other: str) -> bool:
    """Compare two tokens as decimal numbers; NaN and infinities are words."""
    if not (NUMBER.fullmatch(one) and NUMBER.fullmatch(other)):
        return False
    return Decimal(one) == Decimal(other)
