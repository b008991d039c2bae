"""Act optimally for the turns that are left: the ceiling of every policy."""

from collections.abc import Sequence

from turnscope import registry
from turnscope.policies._rule import Rule
from turnscope.types import Seat

TIE = 1e-9
"""Success probabilities closer than this are equal."""


class Policy:
    """Say the first of the words with the highest success probability.

    It sees the hidden state and the turns left, also where a policy with a model is told neither.

    Args:
        env: Environment that is played; its module must give `values`.
    """

    def __init__(self, *, env: str):
        module = registry.load("environments", env)
        if not hasattr(module, "values"):
            raise ValueError(f"environment {env!r} gives no `values`; an oracle needs them")
        self._values = module.values

    def begin(self, seats: Sequence[Seat]) -> Rule:
        """Start at each seat."""

        def choose(row: int, turn: int) -> str:
            values = self._values(seats[row].environment, seats[row].turns_left)
            best = max(values.values())
            return next(word for word, value in values.items() if value >= best - TIE)

        return Rule(seats, choose)
