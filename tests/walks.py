"""Episodes in halls, and where they begin."""

from collections.abc import Callable

from tests.toys import Hall, Speaker, hall
from turnscope import draws
from turnscope.rollout import Start, rollout
from turnscope.types import Budget, Episode, Policy

WIDE = Budget(turns=8, turn_tokens=4)
SLIPPERY = hall(length=4, slip=0.3)


def play(
    starts: list[Start],
    policy: Policy | None = None,
    stream: int = 0,
    make: Callable[[], Hall] = Hall,
) -> list[Episode]:
    return rollout(make, starts, policy or Speaker(0.7), stream)


def start(task=SLIPPERY, seed: int = 1, budget: Budget = WIDE, **more) -> Start:
    return Start(task, 0, seed, budget, **more)


def many(number: int, budget: Budget = WIDE, task=SLIPPERY) -> list[Start]:
    return [Start(task, i, draws.seed("many", i), budget) for i in range(number)]


def noiseless(episode: Episode) -> list[str]:
    return [turn.action for turn in episode.turns]
