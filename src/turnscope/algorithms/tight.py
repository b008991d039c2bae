"""Tight budget: GRPO under a part of the turns of the study, the same for all tasks and steps.

Source:
    This study.
"""

from functools import partial

from turnscope.algorithms._arm import Algorithm, Moment, outcome, relative
from turnscope.budgets import budget


def make(*, share: float = 0.5, scale: str = "group") -> Algorithm:
    """Make the arm.

    Args:
        share: Part of T_max, rounded up to turns.
        scale: Division of the centred returns, see `turnscope.advantages.deviation`.

    Raises:
        ValueError: An option is out of range.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share is {share}; legal is above 0 and at most 1")
    return Algorithm(turns=partial(part, share=share), rewards=outcome, credit=relative(scale))


def part(moment: Moment, *, share: float) -> int:
    """Allow a part of the turns of the study."""
    return budget(share, moment.turns)
