"""Moments and episodes written out by hand."""

from collections.abc import Sequence

from turnscope.advantages import Float, TurnBatch
from turnscope.algorithms._arm import Algorithm, Critic, Moment
from turnscope.types import Episode, StopReason, Turn


def moment(
    *,
    seed: int = 0,
    step: int = 0,
    steps: int = 10,
    task: str = "t",
    turns: int = 20,
    least: int | None = None,
) -> Moment:
    return Moment(seed, step, steps, task, turns, least)


def episode(rewards: Sequence[float], stop: StopReason = StopReason.SUCCESS) -> Episode:
    turns = [Turn("", "s", "a", reward, True) for reward in rewards]
    return Episode("t", 0, 0, turns, stop, "", "s")


def credit(algorithm: Algorithm, batch: TurnBatch) -> Float:
    """Credit a batch by an arm without a critic."""
    assert not isinstance(algorithm.credit, Critic)
    return algorithm.credit(batch)
