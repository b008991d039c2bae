"""Credit by process reward: what each action, and those after it, gave away."""

import numpy as np

from turnscope.advantages import Float, TurnBatch, deviation, group_relative, placed
from turnscope.advantages.gae import to_go


def process_relative(batch: TurnBatch, *, weight: float = 1.0, scale: str = "group") -> Float:
    """Add to the credit of each episode what was given away from each turn on.

    The process reward of a turn is Q_h(s, a) - V_h(s), the step quality less that of the best
    action: the success probability that it gave away. A turn is credited with the sum of its own
    and all later ones, of which the most is 0, so that optimal policies stay optimal. Its own alone
    would not do: with many turns left a wasted one costs nearly nothing, and a policy that need not
    answer for the turns that follow learns to wait until it is too late.

    Where a quality is of an action by itself (the share of tests that a program passes), nothing is
    known of what can be reached after it. Then the last action alone gave something away: what it
    lacks. A reward of progress, what each action gained on the one before it, has the same sum but
    praises late turns: whoever still plays gains something, who has solved the task nothing.

    The sum is compared with what all episodes of the group gave away from that turn on; those that
    had ended give nothing away. So the baseline depends on the number of the turn, but not on which
    episodes got that far. One mean over all turns would be right on average too, but late turns,
    after which little is left to lose, would all be praised, whatever was done in them.

    Args:
        batch: N turns.
        weight: Of the process reward.
        scale: Of both parts, see `deviation`; the spread of the process reward is that of
            episodes, of all that each gave away.

    Returns:
        Advantages, shape (N,).

    Raises:
        ValueError: The quality of a turn is unknown.

    Source:
        Shao et al. 2024, arXiv:2402.03300, section 4.1.3, process supervision.
        Differs: the reward of a step is exact; sums over the steps that follow are normalised, not
        the single rewards, and turn by turn.
    """
    unknown = int(np.isnan(batch.process_N).sum())
    if unknown:
        raise ValueError(
            f"process_N is NaN for {unknown} of {len(batch.process_N)} turns; "
            "the environment must give the step quality of every turn"
        )
    lost_N = to_go(batch.process_N, batch.episode_N)
    first_E, episode_N = placed(batch)
    _, group_E, size_G = np.unique(batch.group_N[first_E], return_inverse=True, return_counts=True)
    mean_GT = np.zeros((len(size_G), int(batch.turn_N.max(initial=0)) + 1))
    np.add.at(mean_GT, (group_E[episode_N], batch.turn_N), lost_N)
    mean_GT /= size_G[:, None]
    centred_N = lost_N - mean_GT[group_E[episode_N], batch.turn_N]
    spread_E = deviation(lost_N[first_E], group_E, scale)
    return group_relative(batch, scale=scale) + weight * centred_N / spread_E[episode_N]
