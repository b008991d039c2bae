"""GRPO: full budget, outcome reward, credit relative to the group.

Source:
    Shao et al. 2024, arXiv:2402.03300.
"""

from functools import partial

from turnscope.advantages import SCALES, group_relative
from turnscope.algorithms._arm import Algorithm, full, outcome


def make(*, scale: str = "group") -> Algorithm:
    """Make the arm.

    Args:
        scale: Division of the centred returns, see `turnscope.advantages.standardise`.

    Raises:
        ValueError: There is no such scale.
    """
    if scale not in SCALES:
        raise ValueError(f"scale is {scale!r}; legal is {', '.join(SCALES)}")
    return Algorithm(turns=full, rewards=outcome, credit=partial(group_relative, scale=scale))
