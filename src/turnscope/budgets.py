"""Grids of turn budgets: shares of the largest budget, rounded up, in exact arithmetic."""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

FINEST = 10_000
QUARTERS = (0.25, 0.5, 0.75, 1.0)
"""Shares of the largest budget at which arms are compared and tested."""


def budget(share: float, t_max: int) -> int:
    """Return ceil(share x t_max).

    A share is read as the simplest fraction near it, so 0.3, and also 0.1 * 3, are 3/10 and 30% of
    20 turns are 6 turns, where floating-point arithmetic could say 7.

    Args:
        share: Part of the largest budget, 0 < share <= 1; at most four decimals count.
        t_max: Largest budget, turns, >= 1.

    Returns:
        A budget of 1 to `t_max` turns.

    Raises:
        ValueError: The share or `t_max` is out of range.
    """
    if t_max < 1:
        raise ValueError(f"t_max = {t_max}: must be at least 1 turn")
    if not 0 < share <= 1:
        raise ValueError(f"budget share {share}: must lie in (0, 1]")
    exact = Fraction(share).limit_denominator(FINEST)
    return max(1, math.ceil(exact * t_max))


def grid(shares: Sequence[float], t_max: int) -> tuple[int, ...]:
    """Return the budget of each share, in the order of the shares; budgets may repeat.

    Args:
        shares: Parts of the largest budget, each in (0, 1].
        t_max: Largest budget, turns, >= 1.

    Returns:
        Budgets, turns.
    """
    return tuple(budget(share, t_max) for share in shares)


def repeated(budgets: Sequence[int]) -> dict[int, int]:
    """Count how often each budget occurs that occurs more than once.

    Repeats arise when `t_max` is smaller than the number of shares. A schedule that draws among
    the shares then favours them, so they are logged.

    Args:
        budgets: Result of `grid`.

    Returns:
        Budget in turns to number of shares, smallest budget first; empty without repeats.
    """
    return {turns: count for turns, count in sorted(Counter(budgets).items()) if count > 1}
