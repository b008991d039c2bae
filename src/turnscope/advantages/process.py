"""Credit by process reward: what each action, and those after it, gave away."""

import numpy as np

from turnscope.advantages import Float, TurnBatch, group_relative, standardise
from turnscope.advantages.gae import gae


def process_relative(batch: TurnBatch, *, weight: float = 1.0, scale: str = "group") -> Float:
    """Add to the credit of each episode what was given away from each turn on.

    The process reward of a turn is Q_h(s, a) - V_h(s), the step quality less that of the best
    action: the success probability that it gave away. A turn is credited with the sum of its own
    and all later ones, of which the most is 0, so that optimal policies stay optimal. Its own alone
    would not do: with many turns left a wasted one costs nearly nothing, and a policy that need not
    answer for the turns that follow learns to wait until it is too late.

    Subtracting a constant favours no action, because the expected score of an action, given what
    led to it, is 0; the mean of the group depends on the action only through the rows of its own
    episode, as that of `group_relative` does. Sums are centred, not single rewards: those, centred
    first, would pay or fine long episodes for being long.

    Args:
        batch: N turns.
        weight: Of the process reward.
        scale: Of both parts, see `standardise`; those of the process reward are the mean and
            deviation over all turns of the group.

    Returns:
        Advantages, shape (N,).

    Raises:
        ValueError: The quality of a turn is unknown.

    Source:
        Shao et al. 2024, arXiv:2402.03300, section 4.1.3, process supervision.
        Differs: the reward of a step is exact; sums over the steps that follow are normalised, not
        the single rewards.
    """
    unknown = int(np.isnan(batch.process_N).sum())
    if unknown:
        raise ValueError(
            f"process_N is NaN for {unknown} of {len(batch.process_N)} turns; "
            "the environment must give the step quality of every turn"
        )
    to_go_N, _ = gae(
        batch.process_N, np.zeros_like(batch.process_N), batch.episode_N, discount=1.0, trace=1.0
    )
    process_N = standardise(to_go_N, batch.group_N, scale)
    return group_relative(batch, scale=scale) + weight * process_N
