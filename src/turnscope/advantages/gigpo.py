"""Credit of GiGPO: episodes compared within a task, and turns compared within a state."""

from turnscope.advantages import (
    Float,
    TurnBatch,
    group_relative,
    placed,
    returns,
    standardise,
)
from turnscope.advantages.anchors import anchors
from turnscope.advantages.gae import to_go

EPISODE_STATS = ("episodes", "steps")
"""Over what the mean and spread of a group's returns are taken."""


def group_in_group(
    batch: TurnBatch,
    *,
    anchor: str = "state",
    scale: str = "group",
    weight: float = 1.0,
    discount: float = 0.95,
    episode_stats: str = "episodes",
) -> Float:
    """Add to the credit of each episode a comparison of turns taken in the same state.

    The state comparison uses the discounted return to go, the episode comparison the plain return.
    A visit counts as often as it happened, so an episode that comes back is compared with itself.

    Args:
        batch: N turns.
        anchor: One of `ANCHORS`.
        scale: Of both comparisons, see `deviation`: `group` is the paper's normalisation by
            mean and deviation, `none` its normalisation by the mean alone.
        weight: Of the state comparison, the paper's omega. 0 gives `group_relative`.
        discount: Gamma, for each turn.
        episode_stats: `episodes` counts every episode of a group once, as the paper does; `steps`
            counts it once for each of its turns, as the public code does by default, so that long
            episodes weigh more.

    Returns:
        Advantages, shape (N,).

    Raises:
        ValueError: There is no such anchor, scale, or kind of statistics.

    Source:
        Feng et al. 2025, arXiv:2505.10978, equations 3 and 5 to 8, and its code, verl-agent.
        Differs: states are compared by name, not by the text of the observation; a group of one
        episode gets 0, where the code leaves the raw return; 1e-4 is added to deviations, not
        1e-6; no row is a padding copy of another; an unreadable action is not fined.
    """
    ahead_N = to_go(batch.reward_N, batch.episode_N, discount=discount)
    state_N = standardise(ahead_N, anchors(batch, anchor), scale)
    if episode_stats == "episodes":
        return group_relative(batch, scale=scale) + weight * state_N
    if episode_stats == "steps":
        return_E, _ = returns(batch)
        return_N = return_E[placed(batch)[1]]
        return standardise(return_N, batch.group_N, scale) + weight * state_N
    known = ", ".join(EPISODE_STATS)
    raise ValueError(f"episode_stats {episode_stats!r} is unknown; known: {known}")
