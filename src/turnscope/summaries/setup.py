"""What was run? Tasks, models, arms, budgets, seeds and how episodes were sampled."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from turnscope.types import Arm

SOURCES = ("setup",)
TITLE = "Setup of the study"
CAPTION = (
    "What was run, as its configuration says: the environments with their training and test tasks "
    "and T_max, the models that all arms start from, the arms and their training seeds, n episodes "
    "of each test task and policy and how they were sampled, and the budgets that policies were "
    "told. What the configuration does not set is left out; all of it is under Setup."
)
SETTINGS = {
    "Study": {
        "environments": "environments",
        "models": "models",
        "arms": "arms",
        "seed": "seed of tasks, episodes and draws",
    },
    "Environment ": {
        "tasks.train": "training tasks",
        "tasks.test": "test tasks",
        "budget.turns": "T_max, turns",
        "budget.turn_tokens": "tokens of a turn, at most",
        "budget.tokens": "tokens of an episode, at most",
        "options.": "option ",
        "arms": "arms that run here",
        "build.": "built: ",
        "training.": "training: ",
        "progress.": "measured on the way: ",
        "sampling.": "sampling: ",
        "matched.": "compared: ",
    },
    "Model ": {"backend": "backend", "path": "path", "revision": "revision", "build.": "built: "},
    "Arm ": {"algorithm": "algorithm", "options.": "option ", "tokens_of": "given the tokens of"},
    "Training": {
        "seeds": "training seeds",
        "steps": "optimiser steps",
        "tasks": "tasks in a step",
        "group": "episodes of each",
        "learning_rate": "learning rate",
    },
    "Sampling": {
        "episodes": "n, episodes of each test task and policy",
        "temperature": "temperature",
        "batch": "episodes side by side",
        "told.policies": "also played told, besides arms trained so",
        "told.shares": "told budgets, parts of T_max",
        "told.episodes": "told episodes of each test task",
    },
    "Matched": {
        "arms": "arms compared step by step",
        "states": "states",
        "actions": "G, actions of either policy in each",
        "injected": "further states with a wrong action put in",
        "continuations": "m, continuations of either policy",
        "scored": "episodes of a task whose likelihood is scored",
    },
    "Metrics": {
        "ks": "k",
        "k": "k at which depth is studied",
        "draws": "bootstrap samples",
        "shares": "budgets, parts of T_max",
    },
}
"""Settings that are shown, by the start of their heading, and what the reader sees.

A name that ends in a point stands for all below it, which keep their own names.
"""


def data(
    estimates: pd.DataFrame,
    training: pd.DataFrame,
    *,
    k: int,
    arms: Mapping[str, Arm],
    setup: Mapping[str, Mapping[str, Any]],
) -> pd.DataFrame:
    """Select the settings that a reader needs to judge the study.

    Args:
        estimates: Not used.
        training: Not used.
        k: Not used.
        arms: Not used.
        setup: What was run, by heading and name.

    Returns:
        Columns `section`, `setting` and `value`, all text; sections in the order given.

    Raises:
        ValueError: No setting that is shown is given.
    """
    rows = [
        (heading, words, str(facts[name]))
        for heading, facts in setup.items()
        for name, words in _named(heading, facts)
    ]
    if not rows:
        raise ValueError("setup: no setting of the study to show")
    return pd.DataFrame(rows, columns=["section", "setting", "value"])


def _named(heading: str, facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the settings of a section that are shown, and their words."""
    for start, settings in SETTINGS.items():
        if heading == start or (start.endswith(" ") and heading.startswith(start)):
            for name, words in settings.items():
                if name.endswith("."):
                    below = [one for one in facts if one.startswith(name)]
                    yield from ((one, words + one.removeprefix(name)) for one in below)
                elif name in facts:
                    yield name, words


def caption(frame: pd.DataFrame) -> str:
    """Describe the table to a reader who sees nothing else of the study."""
    return CAPTION
