import math

import pytest

from turnscope import legal


def test_one_of_those_that_are_known():
    legal.one_of("view", "full", ("terse", "full"))
    with pytest.raises(ValueError, match=r"^unknown view 'loud'; known: terse, full$"):
        legal.one_of("view", "loud", ("terse", "full"))


@pytest.mark.parametrize("value", [1, 1.5, math.inf])
def test_what_is_large_enough(value):
    legal.at_least("cut", value, 1)


@pytest.mark.parametrize("value", [0, -1, 0.5, math.nan])
def test_what_is_too_small_or_no_number(value):
    with pytest.raises(ValueError, match=f"^cut is {value}; legal is 1 or more$"):
        legal.at_least("cut", value, 1)
