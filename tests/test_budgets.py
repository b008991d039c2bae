import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnscope import budgets

TENTHS = [j / 10 for j in range(1, 11)]


def test_shares_of_twenty_turns():
    assert budgets.grid(TENTHS, 20) == (2, 4, 6, 8, 10, 12, 14, 16, 18, 20)


def test_shares_round_up():
    assert budgets.grid(budgets.QUARTERS, 20) == (5, 10, 15, 20)
    assert budgets.grid([0.25, 0.5, 0.75, 1.0], 10) == (3, 5, 8, 10)


def test_rounding_errors_of_the_share_do_not_add_a_turn():
    assert 0.1 * 3 > 0.3
    assert math.ceil(0.1 * 3 * 20) == 7
    assert budgets.budget(0.1 * 3, 20) == 6
    assert math.ceil(0.07 * 100) == 8
    assert budgets.budget(0.07, 100) == 7


@given(st.integers(1, 1000), st.integers(1, 500))
def test_exact_for_every_share_in_thousandths(thousandths, t_max):
    expected = math.ceil(Fraction(thousandths, 1000) * t_max)
    assert budgets.budget(thousandths / 1000, t_max) == expected


def test_repeated_budgets_are_counted():
    grid = budgets.grid(TENTHS, 4)
    assert grid == (1, 1, 2, 2, 2, 3, 3, 4, 4, 4)
    assert budgets.repeated(grid) == {1: 2, 2: 3, 3: 2, 4: 3}
    assert budgets.repeated(budgets.grid(TENTHS, 10)) == {}


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, math.nan])
def test_a_share_out_of_range_is_refused(share):
    with pytest.raises(ValueError, match="share"):
        budgets.budget(share, 20)


def test_no_turns_is_refused():
    with pytest.raises(ValueError, match="t_max = 0"):
        budgets.budget(0.5, 0)
