"""Say a random word: what an environment pays for nothing."""

from collections.abc import Sequence

from turnscope import draws
from turnscope.policies._rule import Rule
from turnscope.types import Seat


class Policy:
    """Each word is equally likely in each turn, whatever is observed.

    Args:
        words: What may be said, at least one.
    """

    def __init__(self, *, words: Sequence[str]):
        if not words or isinstance(words, str):
            raise ValueError(f"words is {words!r}; legal is a list of at least one word")
        self._words = list(words)

    def begin(self, seats: Sequence[Seat]) -> Rule:
        """Start at each seat; the draws are named by its `policy_seed` and the turn."""
        keys = [draws.seed("uniform", seat.policy_seed) for seat in seats]
        number = len(self._words)
        return Rule(
            seats, lambda row, turn: self._words[int(draws.uniform(keys[row], turn) * number)]
        )
