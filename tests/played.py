"""Episodes written by hand, and their credit, for tests of what happens to played episodes."""

from collections.abc import Sequence
from typing import Any

from turnscope import practice
from turnscope.advantages import Float
from turnscope.algorithms._arm import Algorithm, Moment
from turnscope.practice import Batch
from turnscope.types import Episode, Quality, StopReason, Turn

MOMENT = Moment(0, 0, 1, "t", 6)


def turn(context: list[int], action: list[int], reward: float = 0.0, key: str = "k") -> Turn:
    return Turn("", key, "", reward, True, context, action, [0.0] * len(action))


def episode(*turns: Turn, stop: StopReason = StopReason.BUDGET, task: str = "t") -> Episode:
    return Episode(task, 0, 0, list(turns), stop, "", "")


def batch_of(
    algorithm: Algorithm,
    episodes: Sequence[Episode],
    budgets: Sequence[int],
    group: int,
    qualities: Any = None,
) -> Batch:
    """Pay and credit episodes as a step of training does."""
    rewards = practice.pay(algorithm, episodes, [MOMENT] * len(episodes))
    graded: list[list[Quality | None]] = qualities or [[None] * len(one.turns) for one in episodes]
    rows = practice.lay(episodes, rewards, graded, budgets, group)
    advantages = practice.credit(algorithm, episodes, rows)
    return Batch(list(episodes), list(budgets), rewards, graded, rows, advantages)


def credited(
    algorithm: Algorithm, episodes: Sequence[Episode], budgets: Sequence[int], group: int
) -> list[Float]:
    return batch_of(algorithm, episodes, budgets, group).advantages
