"""Which two policies are compared, where and how much."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from turnscope import draws, sampling
from turnscope.sampling import Grade
from turnscope.types import Budget, Environment, Policy, Task

SOURCES: tuple[str, ...] = ("base", "trained")
"""Whose episodes lead to states; also who acts in them."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A comparison of a trained policy with base.

    Raises:
        ValueError: The budget is one that policies are told.
    """

    world: ModuleType
    """The environment's module."""
    environment: Callable[[], Environment]
    tasks: Mapping[str, Task]
    """Test tasks by name."""
    policies: Mapping[str, Policy]
    """By the names in `SOURCES`."""
    budget: Budget
    """Limits of whole episodes, prefix included."""
    seed: int
    """Seed of the study."""
    batch: int
    """Episodes played side by side."""
    who: dict[str, str]
    """`env`, `model` and `policy`, the trained one."""

    def __post_init__(self) -> None:
        if self.budget.told:
            raise ValueError("budget.told is True; states are matched with blind policies only")

    def named(self, *names: str | int) -> int:
        """Derive a seed of this pair."""
        return draws.seed("matched", self.seed, *self.who.values(), *names)

    def random(self, *names: str | int) -> np.random.Generator:
        """Make a generator of this pair."""
        return np.random.Generator(np.random.PCG64(self.named(*names)))

    def stream(self, actor: str) -> int:
        """Name the draws of a policy: the two of a pair draw independently."""
        policy = self.who["policy"] if actor == "trained" else actor
        return draws.seed("matched", self.who["model"], policy)


def grader(pair: Pair) -> Grade:
    """Return what grades actions; where the environment cannot, none has a quality."""
    judge: Any = getattr(pair.world, "step_quality", None)
    return sampling.grader(judge or (lambda *_: None), pair.tasks)


def best(pair: Pair, grade: Grade, task_id: str, state_key: str, left: int) -> float | None:
    """Return the quality of the best action in a state; None if it has none."""
    quality = grade(task_id, state_key, pair.world.words()[0], left)
    return quality.best if quality else None


def decisive(pair: Pair, task_id: str, state_key: str, left: int) -> bool | None:
    """Say whether actions differ in quality in a state; None when unknown."""
    mistakes: Any = getattr(pair.world, "mistakes", None)
    return bool(mistakes(pair.tasks[task_id], state_key, left)) if mistakes else None
