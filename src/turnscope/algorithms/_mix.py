"""Turn budgets drawn at random from a grid of parts of T_max."""

import math
from dataclasses import dataclass
from itertools import accumulate

from turnscope import draws
from turnscope.algorithms._arm import Moment
from turnscope.budgets import FINEST, grid

DISTRIBUTIONS = ("uniform", "geometric")


@dataclass(frozen=True, slots=True)
class Mix:
    """A distribution of turn budgets over the grid `interval`, 2 x `interval`, ..., 1 of T_max.

    Raises:
        ValueError: An option is out of range.
    """

    interval: float = 0.1
    """Step of the grid, a part of T_max that divides 1."""
    distribution: str = "uniform"
    """`uniform`: each budget of the grid is equally likely. `geometric`: the probability of at
    least the j-th budget is `decay` to the power of j - 1."""
    decay: float = 0.8
    """Of the geometric distribution; the uniform one does not use it."""
    clip: bool = False
    """Whether budgets in which a task cannot be solved are raised to the fewest turns in which it
    can; without that, the groups that get them teach nothing."""

    def __post_init__(self):
        parts = 1 / self.interval if self.interval > 0 else math.inf
        whole = parts <= FINEST and round(parts) >= 1
        if not whole or abs(round(parts) * self.interval - 1) > 1e-9:
            raise ValueError(f"interval is {self.interval}; legal is 1/m, as 0.1, 0.25 or 1")
        if self.distribution not in DISTRIBUTIONS:
            known = ", ".join(DISTRIBUTIONS)
            raise ValueError(f"distribution is {self.distribution!r}; legal is {known}")
        if not 0 < self.decay < 1:
            raise ValueError(f"decay is {self.decay}; legal is above 0 and below 1")

    @property
    def shares(self) -> tuple[float, ...]:
        """The grid, parts of T_max."""
        size = round(1 / self.interval)
        return tuple(j / size for j in range(1, size + 1))

    def budgets(self, moment: Moment) -> tuple[int, ...]:
        """Return the budgets of the grid, turns, rising; they may repeat."""
        plain = grid(self.shares, moment.turns)
        if not self.clip or moment.min_turns is None:
            return plain
        least = min(moment.min_turns, moment.turns)
        return tuple(max(turns, least) for turns in plain)

    def weights(self) -> tuple[float, ...]:
        """Return the probability of each budget of the grid."""
        size = len(self.shares)
        if self.distribution == "uniform":
            return (1 / size,) * size
        reach = [self.decay**j for j in range(size)] + [0.0]
        return tuple(reach[j] - reach[j + 1] for j in range(size))

    def draw(self, moment: Moment) -> int:
        """Draw a budget, turns: a function of seed, step and task, so a group shares one."""
        number = draws.uniform(draws.seed("budget", moment.seed, moment.step, moment.task_id), 0)
        for budget, most in zip(self.budgets(moment), accumulate(self.weights()), strict=True):
            if number < most:
                return budget
        return moment.turns  # the weights may add up to a little less than 1

    def survival(self, moment: Moment, turns: int) -> float:
        """Return the probability of a budget of at least so many turns."""
        pairs = zip(self.budgets(moment), self.weights(), strict=True)
        return math.fsum(weight for budget, weight in pairs if budget >= turns)
