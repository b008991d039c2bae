"""Credit by process reward: how good each action was in its own state."""

import numpy as np

from turnscope.advantages import Float, TurnBatch, group_relative, standardise


def process_relative(batch: TurnBatch, *, weight: float = 1.0, scale: str = "group") -> Float:
    """Add to the credit of each episode the quality of the turn itself.

    The process reward is Q_h(s, a) - V_h(s), the step quality less that of the best action. Each
    turn is credited with its own, not with those that follow: Q_h already looks ahead. Subtracting
    a constant favours no action, because the expected score of an action, given what led to it, is
    0; the mean of the group depends on the action only through the rows of its own episode, as
    that of `group_relative` does. V_h alone would be a valid baseline too, but then no credit is
    above 0: every action sampled is pushed down, and only how far tells good from bad. That is
    the same gradient with more noise.

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
        Differs: the reward of a step is exact, and is not summed over the steps that follow.
    """
    unknown = int(np.isnan(batch.process_N).sum())
    if unknown:
        raise ValueError(
            f"process_N is NaN for {unknown} of {len(batch.process_N)} turns; "
            "the environment must give the step quality of every turn"
        )
    process_N = standardise(batch.process_N, batch.group_N, scale)
    return group_relative(batch, scale=scale) + weight * process_N
