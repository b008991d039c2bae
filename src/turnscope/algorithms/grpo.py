"""GRPO: full budget, outcome reward, credit relative to the group.

Source:
    Shao et al. 2024, arXiv:2402.03300.
"""

from turnscope.algorithms._arm import Algorithm, full, outcome, relative


def make(*, scale: str = "group") -> Algorithm:
    """Make the arm.

    Args:
        scale: Division of the centred returns, see `turnscope.advantages.deviation`.

    Raises:
        ValueError: There is no such scale.
    """
    return Algorithm(turns=full, rewards=outcome, credit=relative(scale))
