"""BudgetMix: GRPO, with a turn budget drawn for each task of each step.

All episodes of a group have the same budget; an episode that uses it up stays in the loss.

Source:
    This study.
"""

from turnscope.algorithms._arm import Algorithm, outcome, relative
from turnscope.algorithms._mix import Mix


def make(
    *,
    interval: float = 0.1,
    distribution: str = "uniform",
    decay: float = 0.8,
    clip: bool = False,
    told: bool = False,
    scale: str = "group",
) -> Algorithm:
    """Make the arm.

    Args:
        interval: See `turnscope.algorithms._mix.Mix`, as for the next three.
        distribution: `uniform` or `geometric`.
        decay: Of the geometric distribution.
        clip: Whether budgets too small for the task are raised.
        told: Whether the policy is shown the turns left.
        scale: Division of the centred returns, see `turnscope.advantages.deviation`.

    Raises:
        ValueError: An option is out of range.
    """
    mix = Mix(interval, distribution, decay, clip)
    return Algorithm(turns=mix.draw, rewards=outcome, credit=relative(scale), told=told)
