"""GiGPO: GRPO, and each turn compared with others that start from the same state of the task.

Source:
    Feng et al. 2025, arXiv:2505.10978.
"""

from functools import partial

from turnscope.advantages.anchors import ANCHORS
from turnscope.advantages.gigpo import EPISODE_STATS, group_in_group
from turnscope.algorithms._arm import Algorithm, full, known, outcome


def make(
    *,
    anchor: str = "state",
    scale: str = "group",
    weight: float = 1.0,
    discount: float = 0.95,
    episode_stats: str = "episodes",
) -> Algorithm:
    """Make the arm.

    Args:
        anchor: What compared turns share, see `turnscope.advantages.anchors`.
        scale: Division of centred returns, see `turnscope.advantages.deviation`.
        weight: Of the comparison of turns; 0 is GRPO.
        discount: Of the returns that it compares, for each turn.
        episode_stats: Whether a group's mean is over its episodes or over their turns.

    Raises:
        ValueError: An option is out of range.
    """
    if anchor not in ANCHORS:
        raise ValueError(f"anchor is {anchor!r}; legal is {', '.join(ANCHORS)}")
    if weight < 0:
        raise ValueError(f"weight is {weight}; legal is at least 0")
    if not 0 < discount <= 1:
        raise ValueError(f"discount is {discount}; legal is above 0 and at most 1")
    if episode_stats not in EPISODE_STATS:
        raise ValueError(f"episode_stats is {episode_stats!r}; legal is {', '.join(EPISODE_STATS)}")
    credit = partial(
        group_in_group,
        anchor=anchor,
        scale=known(scale),
        weight=weight,
        discount=discount,
        episode_stats=episode_stats,
    )
    return Algorithm(turns=full, rewards=outcome, credit=credit)
