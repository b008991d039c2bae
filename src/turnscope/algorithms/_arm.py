"""What a training arm is: three choices."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from turnscope.advantages import SCALES, Float, TurnBatch, group_relative
from turnscope.critic import Critic
from turnscope.types import Episode


@dataclass(frozen=True, slots=True)
class Moment:
    """When and for what a budget is drawn; all that schedules and rewards may depend on."""

    seed: int
    """Training seed."""
    step: int
    """Optimiser steps done."""
    steps: int
    """Optimiser steps in all."""
    task_id: str
    """The task instance: all episodes of a group get one budget."""
    turns: int
    """T_max of the study."""
    min_turns: int | None = None
    """Fewest turns in which the task can be solved; None when unknown."""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """The three choices by which the arms of the study differ."""

    turns: Callable[[Moment], int]
    """Budget schedule: turns that the episodes of a group may use, 1 <= turns <= T_max."""
    rewards: Callable[[Episode, Moment], list[float]]
    """Pays each turn of an episode."""
    credit: Callable[[TurnBatch], Float] | Critic
    """Turns payments into one advantage for each turn, see `turnscope.advantages`; or a critic,
    which the training loop keeps beside the policy."""
    told: bool = False
    """Whether the policy is shown the turns left."""
    process: bool = False
    """Whether the credit needs the step quality of every turn."""


def known(scale: str) -> str:
    """Return the name of a division of centred values, see `turnscope.advantages.deviation`.

    Raises:
        ValueError: There is no such scale.
    """
    if scale not in SCALES:
        raise ValueError(f"scale is {scale!r}; legal is {', '.join(SCALES)}")
    return scale


def relative(scale: str) -> Callable[[TurnBatch], Float]:
    """Give credit relative to the group.

    Raises:
        ValueError: There is no such scale.
    """
    return partial(group_relative, scale=known(scale))


def full(moment: Moment) -> int:
    """Allow all turns of the study."""
    return moment.turns


def outcome(episode: Episode, moment: Moment) -> list[float]:
    """Pay what the environment paid."""
    return [turn.reward for turn in episode.turns]
