"""A policy that says what was recorded, for playing episodes again."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from turnscope import draws
from turnscope.audits._results import Settings
from turnscope.types import Action, Seat, Turn

ATTEMPTS = 3
"""How often a replay may lead elsewhere where programs run that need not answer alike."""
CLOSE = 1e-9
"""What qualities may differ by: they are computed again, maybe on another machine."""


class Recorded:
    """Says the actions of some episodes again, one list for each seat; then says nothing.

    Args:
        turns: Of each seat, those behind its prefix.
    """

    def __init__(self, turns: Sequence[Sequence[Turn]]):
        self._turns = turns

    def begin(self, seats: Sequence[Seat]) -> "Recorded":
        """Start with the first action of each seat."""
        self._said = [0] * len(seats)
        return self

    def act(
        self, rows: Sequence[int], observations: Sequence[str], limits: Sequence[int]
    ) -> list[Action | None]:
        """Say the next recorded action of each row; None, as without room, where none is left."""
        del observations, limits
        return [self._next(row) for row in rows]

    def _next(self, row: int) -> Action | None:
        place = self._said[row]
        self._said[row] = place + 1
        if place >= len(self._turns[row]):
            return None
        turn = self._turns[row][place]
        return Action(turn.action, turn.context_ids, turn.action_ids, turn.logprobs)


def chosen(settings: Settings, name: str, number: int) -> list[int]:
    """Choose which of some rows are looked at, increasing; the seed and the name decide."""
    if settings.episodes is None or number <= settings.episodes:
        return [*range(number)]
    random = np.random.Generator(np.random.PCG64(draws.seed("audit", settings.seed, name)))
    return sorted(random.choice(number, settings.episodes, replace=False).tolist())


def attempts(world: Any) -> int:
    """Return how often a replay in an environment may fail before it counts."""
    return ATTEMPTS if getattr(world.Environment, "untrusted", False) else 1


def differing(then: Mapping[str, Any], now: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """Name the first column in which two rows differ, with both values; None if none does."""
    for name in names:
        if not same(then[name], now[name]):
            text = f"{name} is {now[name]!r}, recorded was {then[name]!r}"
            return " ".join(text.split())[:300]
    return None


def same(then: Any, now: Any) -> bool:
    """Compare two values; NaN and None are both missing."""
    missing = [one is None or one != one for one in (then, now)]
    if any(missing):
        return all(missing)
    if isinstance(then, float) and isinstance(now, float):
        return abs(then - now) <= CLOSE
    return then == now
