"""Speed shaping: full budget, and a turn is paid as often as BudgetMix would let it be played.

For a policy that is not told its budget, the mean of what `budget_mix` pays over its budgets is
what the environment pays times the probability that the budget reaches that turn. So both arms
climb the same slope in the mean, before the credit is divided by a spread and under a length
normaliser that is constant. What is left between them is noise, that division, and the shorter
episodes of `budget_mix`.

Source:
    This study.
"""

from functools import partial

from turnscope.algorithms._arm import Algorithm, Moment, full, relative
from turnscope.algorithms._mix import Mix
from turnscope.types import Episode


def make(
    *,
    interval: float = 0.1,
    distribution: str = "uniform",
    decay: float = 0.8,
    clip: bool = False,
    scale: str = "group",
) -> Algorithm:
    """Make the arm.

    Args:
        interval: See `turnscope.algorithms._mix.Mix`, as for the next three.
        distribution: `uniform` or `geometric`.
        decay: Of the geometric distribution.
        clip: Whether budgets too small for the task are raised.
        scale: Division of the centred returns, see `turnscope.advantages.deviation`.

    Raises:
        ValueError: An option is out of range.
    """
    mix = Mix(interval, distribution, decay, clip)
    return Algorithm(turns=full, rewards=partial(shaped, mix=mix), credit=relative(scale))


def shaped(episode: Episode, moment: Moment, *, mix: Mix) -> list[float]:
    """Pay each turn what the environment paid, times the probability that a budget reaches it."""
    return [
        turn.reward * mix.survival(moment, number) if turn.reward else 0.0
        for number, turn in enumerate(episode.turns, start=1)
    ]
