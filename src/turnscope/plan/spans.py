"""Numbers that are not known exactly."""

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A number of at least 0 and the interval that it lies in; NaN where it is not known.

    In a sum ends are added to ends: jobs share their machine and their assumptions, so what is too
    low is too low in all of them. Factors are independent of each other: the factors by which their
    ends differ from their values are combined as errors are, by the squares of their logarithms.
    """

    value: float
    low: float
    high: float

    def __add__(self, other: "Span") -> "Span":
        return Span(self.value + other.value, self.low + other.low, self.high + other.high)

    def __mul__(self, other: "Span | float") -> "Span":
        if not isinstance(other, Span):
            return Span(self.value * other, self.low * other, self.high * other)
        value = self.value * other.value
        if not value:
            return exactly(value)
        down = math.hypot(math.log(self.value / self.low), math.log(other.value / other.low))
        up = math.hypot(math.log(self.high / self.value), math.log(other.high / other.value))
        return Span(value, value / math.exp(down), value * math.exp(up))

    def __truediv__(self, other: "Span | float") -> "Span":
        if not isinstance(other, Span):
            return self * (1 / other)
        return self * Span(1 / other.value, 1 / other.high, 1 / other.low)

    @property
    def known(self) -> bool:
        """Tell numbers from what is not known."""
        return not math.isnan(self.value)


def exactly(value: float) -> Span:
    """Return a number without doubt."""
    return Span(value, value, value)


NOTHING = exactly(0.0)
UNKNOWN = exactly(math.nan)


def total(spans: Iterable[Span]) -> Span:
    """Add up; what is not known makes the sum unknown."""
    return sum(spans, NOTHING)
