import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnscope.environments.deepcoder.problems import agrees

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


VALUES = st.recursive(
    SCALARS,
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.text(), values, max_size=4),
    max_leaves=12,
)


def tupled(value: Any) -> Any:
    """The same value with tuples for lists."""
    if isinstance(value, list):
        return tuple(tupled(item) for item in value)
    if isinstance(value, dict):
        return {name: tupled(item) for name, item in value.items()}
    return value


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        ("3\n4", "3\n4\n"),
        ("3\n4", "  3 \n4  \n\n"),
        ("1 2 3", "1  2 3"),
        ("0.5", "0.50"),
        ("1", "1.0"),
        ("1e3", "1000"),
        ("Case 1: 2.50", "Case 1: 2.5"),
        ("-.5", "-0.5"),
        ("", "\n"),
        ("nan", "nan"),
    ],
)
def test_printed_texts_that_agree(expected: str, value: str):
    assert agrees(expected, value)


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        ("3\n4", "3 4"),
        ("3\n\n4", "3\n4"),
        ("yes", "Yes"),
        ("0.5", "0.5000001"),
        ("1 2", "1"),
        ("1000", "1_000"),
        ("1", "١"),
        ("inf", "Infinity"),
        ("1", "one"),
        ("7", ""),
        ("9007199254740993", "9007199254740992"),
    ],
)
def test_printed_texts_that_differ(expected: str, value: str):
    assert not agrees(expected, value)


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        ([1, 2], (1, 2)),
        ([[1], [2, 3]], ((1,), [2, 3])),
        (True, 1),
        (2, 2.0),
        (0.1 + 0.2, 0.3),
        (1e9, 1e9 + 100),
        (0.0, 1e-7),
        ({"a": [1.0]}, {"a": (1.0000001,)}),
        (None, None),
        (10**400, 10**400),
        (math.inf, math.inf),
    ],
)
def test_returned_values_that_agree(expected: Any, value: Any):
    assert agrees(expected, value, script=False)


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        ([1, 2], [2, 1]),
        ([1], [1, 1]),
        ([], None),
        (0, None),
        ("", []),
        ([], {}),
        ("1", "1.0"),
        ("a", "a "),
        ("1", 1),
        (3, 3.0000001),
        (0.9999999, True),
        (1e9, 1e9 + 10_000),
        (0.0, 1e-5),
        (math.nan, math.nan),
        (math.inf, -math.inf),
        (math.inf, 1e308),
        (1.0, 10**400),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": 1, "b": 2}),
    ],
)
def test_returned_values_that_differ(expected: Any, value: Any):
    assert not agrees(expected, value, script=False)


def test_hostile_values_are_compared():
    deep: list[Any] = []
    other: list[Any] = [1]
    for _ in range(100_000):
        deep, other = [deep], [other]
    assert agrees(deep, deep)
    assert not agrees(deep, other)
    assert not agrees([1], other)
    assert not agrees("1", "1e" + "9" * 5000)
    assert not agrees("1e999999999", "1e-999999999")
    assert agrees("1" * 10_000, "1" * 10_000 + ".0")


@settings(deadline=None)
@given(VALUES)
def test_a_value_agrees_with_its_copy_through_json_and_as_tuples(value: Any):
    copy = json.loads(json.dumps(value))
    assert agrees(value, copy, script=False)
    assert agrees(value, tupled(copy), script=False)


@settings(deadline=None)
@given(VALUES, VALUES)
def test_values_that_are_equal_agree_and_others_hold_a_float_or_differ(one: Any, other: Any):
    equal = agrees(one, other, script=False)
    if one == other:
        assert equal
    if equal and "." not in json.dumps(one) and "e" not in json.dumps(one):
        assert tupled(one) == tupled(other)


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(), min_size=1, max_size=4), min_size=1, max_size=4))
def test_blanks_around_lines_and_between_tokens_do_not_matter(table: list[list[int]]):
    plain = "\n".join(" ".join(map(str, row)) for row in table)
    loose = "\n".join(" " + "  ".join(map(str, row)) + "\t" for row in table) + "\n"
    assert agrees(plain, loose)
    assert not agrees(plain, loose + "0")
