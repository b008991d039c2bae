"""What differs between the policies of a synthetic study: nothing, or one known thing."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

BASE = "base"
ARMS = {"grpo": 3, "budget_mix": 3, "gigpo": 1}
"""Arms of a synthetic study and their training seeds; each stands for its algorithm."""
MEAN, SPREAD = 0.3, 0.15
"""Of base's skill over tasks, where nothing else is said."""
LEAST, MOST = 0.02, 0.98


class Boost(NamedTuple):
    """What an arm adds to base's skill."""

    everywhere: float = 0.0
    after_errors: float = 0.0
    late: float = 0.0
    """In the last turn of T_max; nothing in the first one, and in a straight line between."""


class Scenario(NamedTuple):
    """What is planted, and what is looked at to see it."""

    name: str
    boosts: Mapping[str, Boost]
    """By arm; others are base by another name."""
    arms: Sequence[str]
    """Arms that there are."""
    metrics: Sequence[str]
    """What is estimated."""
    evaluators: Mapping[str, Sequence[str]]
    """What judges claims, for each arm that is judged."""
    own: bool = False
    """Whether arms have skills of their own, drawn as base's: as good on average."""
    spread: float = SPREAD
    """Of base's skill over tasks."""


NULL = Scenario(
    "null",
    {},
    tuple(ARMS),
    (
        "pass_at_kt",
        "budget_auc",
        "crossover",
        "over_seeds",
        "between_arms",
        "boundary",
        "survival",
        "truncation",
        "step_reward",
        "step_quality",
        "recovery",
        "likelihood",
    ),
    {
        "grpo": ("breadth", "depth", "step_quality", "recovery", "likelihood", "training"),
        "gigpo": ("process",),
        "budget_mix": ("budget_mix",),
    },
)
SKILL = Scenario(
    "skill",
    {"grpo": Boost(0.05), "budget_mix": Boost(0.25)},
    ("grpo", "budget_mix"),
    ("pass_at_kt", "between_arms", "step_reward", "step_quality", "recovery", "likelihood"),
    {"grpo": ("breadth", "likelihood"), "budget_mix": ("budget_mix",)},
)
ERRORS = Scenario(
    "errors",
    {"grpo": Boost(after_errors=0.07)},
    ("grpo",),
    ("pass_at_kt", "step_quality", "recovery"),
    {"grpo": ("step_quality", "recovery")},
)
LATE = Scenario(
    "late",
    {"grpo": Boost(late=0.15)},
    ("grpo",),
    ("pass_at_kt", "step_quality"),
    {"grpo": ("depth", "step_quality")},
)


OTHERS = Scenario(
    "others",
    {},
    ("grpo",),
    ("pass_at_kt", "step_quality", "recovery"),
    {"grpo": ("breadth", "step_quality", "recovery")},
    own=True,
    spread=0.4,
)


def margin(boost: float) -> Scenario:
    """Plant a loss of one arm that is just as large as still counts as parity."""
    return Scenario(
        "margin",
        {"budget_mix": Boost(boost)},
        ("grpo", "budget_mix"),
        ("pass_at_kt", "between_arms"),
        {"budget_mix": ("budget_mix",)},
    )


def policies(arms: Sequence[str]) -> list[str]:
    """Name base and the training seeds of some arms."""
    return [BASE, *(f"{arm}-s{seed}" for arm in arms for seed in range(ARMS[arm]))]


def first_seed(arm: str) -> str:
    """Name the first training seed of an arm."""
    return f"{arm}-s0"


def base_skill(tasks: int, rng: np.random.Generator, spread: float = SPREAD) -> Floats:
    """Draw base's skill at each task, shape (W,)."""
    return np.clip(rng.normal(MEAN, spread, tasks), LEAST, MOST)


def skill(base_W: Floats, boost: Boost, t_max: int) -> Floats:
    """Add a boost to base's skill, shape (W, E, T)."""
    error_E, turn_T = np.arange(2.0), np.linspace(0.0, 1.0, t_max)
    added_ET = boost.everywhere + boost.after_errors * error_E[:, None] + boost.late * turn_T
    return np.clip(base_W[:, None, None] + added_ET, LEAST, MOST)


def skills(scenario: Scenario, tasks: int, t_max: int, rng: np.random.Generator) -> Floats:
    """Draw the skill of every policy, shape (P, W, E, T), in the order of `policies`."""
    base_W = base_skill(tasks, rng, scenario.spread)
    every = [skill(base_W, Boost(), t_max)]
    for arm in scenario.arms:
        own_W = base_skill(tasks, rng, scenario.spread) if scenario.own else base_W
        every += [skill(own_W, scenario.boosts.get(arm, Boost()), t_max)] * ARMS[arm]
    return np.stack(every)
