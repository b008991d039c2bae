"""Curriculum: GRPO under a turn budget that grows in phases of equal length.

Source:
    `tti`: Shen et al. 2025, arXiv:2506.07976, multiplicative schedule h_i = clip(h_min x i, h_max).
    `scaling_inter`: Xi et al. 2025, arXiv:2509.08755, a monotone list of horizons.
    Differs: horizons are parts of T_max, phases are as long as each other, and credit is that of
    GRPO for both.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from turnscope.algorithms._arm import Algorithm, Moment, outcome, relative
from turnscope.budgets import grid

SCHEDULES = ("tti", "scaling_inter")


def make(
    *,
    schedule: str = "tti",
    least: float = 1 / 3,
    iterations: int = 5,
    shares: Sequence[float] = (0.3, 0.65, 1.0),
    scale: str = "group",
) -> Algorithm:
    """Make the arm.

    Args:
        schedule: `tti` or `scaling_inter`.
        least: Budget of the first phase of `tti`, a part of T_max.
        iterations: Phases of `tti`, enough to reach T_max.
        shares: Budget of each phase of `scaling_inter`, parts of T_max; the last is 1.
        scale: Division of the centred returns, see `turnscope.advantages.deviation`.

    Raises:
        ValueError: An option is out of range.
    """
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule is {schedule!r}; legal is {', '.join(SCHEDULES)}")
    if not 0 < least <= 1:
        raise ValueError(f"least is {least}; legal is above 0 and at most 1")
    if iterations < 1 or least * iterations < 1 - 1e-9:
        raise ValueError(
            f"iterations is {iterations}; legal is at least 1/least = {1 / least:.4g}, "
            "or the schedule does not reach T_max"
        )
    rising = all(0 < a <= b for a, b in pairwise(shares))
    if not shares or not rising or shares[-1] != 1:
        raise ValueError(f"shares is {list(shares)}; legal is a list that rises from above 0 to 1")
    if schedule == "tti":
        shares = [min(least * i, 1.0) for i in range(1, iterations + 1)]
    return Algorithm(
        turns=partial(phase, shares=tuple(shares)),
        rewards=outcome,
        credit=relative(scale),
    )


def phase(moment: Moment, *, shares: Sequence[float]) -> int:
    """Allow the part of the turns that belongs to the phase of the step.

    The last step is in the last phase, also where there are fewer steps than phases.
    """
    number = -((moment.step + 1) * len(shares) // -moment.steps)
    return grid(shares, moment.turns)[number - 1]
