"""Conversations of policies without a model."""

from collections.abc import Callable, Sequence

from turnscope.types import Action, Seat


class Rule:
    """Conversations in which a function chooses each action.

    Args:
        seats: Where to act.
        choose: Given a number of a seat and the number of the turn, from 0, what to say.
    """

    def __init__(self, seats: Sequence[Seat], choose: Callable[[int, int], str]):
        self._turns = [len(seat.history) for seat in seats]
        self._choose = choose

    def act(
        self, rows: Sequence[int], observations: Sequence[str], limits: Sequence[int]
    ) -> list[Action]:
        """Answer at some seats; neither observations nor limits matter to a rule."""
        actions = [Action(self._choose(row, self._turns[row])) for row in rows]
        for row in rows:
            self._turns[row] += 1
        return actions
