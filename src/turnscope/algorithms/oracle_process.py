"""Process supervision by an oracle: GRPO, and the exact quality of every action.

Source:
    Shao et al. 2024, arXiv:2402.03300, with process supervision; the reward model is exact.
    Differs: see `turnscope.advantages.process`, also for environments whose quality is of an action
    by itself: there it rewards how good the last one was, and no oracle says what is possible.
"""

from functools import partial

from turnscope.advantages.process import process_relative
from turnscope.algorithms._arm import Algorithm, full, known, outcome


def make(*, weight: float = 1.0, scale: str = "group") -> Algorithm:
    """Make the arm.

    Args:
        weight: Of the process reward.
        scale: Division of centred returns and process rewards, see
            `turnscope.advantages.deviation`.

    Raises:
        ValueError: An option is out of range.
    """
    if weight <= 0:
        raise ValueError(f"weight is {weight}; legal is above 0")
    credit = partial(process_relative, weight=weight, scale=known(scale))
    return Algorithm(turns=full, rewards=outcome, credit=credit, process=True)
