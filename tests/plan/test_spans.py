import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnscope.plan.spans import NOTHING, UNKNOWN, Span, exactly, total


def test_ends_are_added_to_ends():
    assert Span(2, 1, 4) + Span(10, 5, 11) == Span(12, 6, 15)


def test_independent_factors_combine_as_errors_do():
    # Factors of 8 and 2**4 to either side: 3 and 4 doublings are 5 together.
    product = Span(8, 1, 64) * Span(16, 1, 256)
    assert product.value == 128
    assert product.low == pytest.approx(128 / 2**5)
    assert product.high == pytest.approx(128 * 2**5)


def test_a_quotient_is_least_where_the_divisor_is_largest():
    quotient = exactly(12) / Span(4, 3, 6)
    assert (quotient.value, quotient.low, quotient.high) == pytest.approx((3, 2, 4))


def test_what_is_not_known_makes_the_sum_unknown():
    assert math.isnan(total([exactly(1), UNKNOWN]).value)
    assert not total([exactly(1), UNKNOWN]).known
    assert total([]) == NOTHING


SOME = st.tuples(st.floats(0.1, 1), st.floats(1, 2), st.floats(2, 20)).map(
    lambda ends: Span(ends[1], ends[0], ends[2])
)


@given(SOME, SOME)
def test_intervals_hold_their_values(one, other):
    for span in (one + other, one * other, one / other, one * 3.0, one / 3.0):
        assert span.low <= span.value <= span.high
