"""Actions in matched states, written out by hand or simulated, as table `actions`."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from turnscope import tables

KINDS = ("", "loss", "away", "loss away")
"""Definitions of an error that the last action may meet."""


def duel(
    place: int,
    base: Sequence[float | None],
    trained: Sequence[float | None],
    policy: str = "grpo-s0",
    **where: Any,
) -> pd.DataFrame:
    """Write the qualities of what both policies did in one state."""
    state = {
        "env": "lake",
        "model": "nano",
        "policy": policy,
        "place": place,
        "task_id": "a",
        "source": "base",
        "turn": 1,
        "left": 3,
        "errors": "",
        "injected": False,
        "best": 1.0,
        "before": None,
        "decisive": True,
        "visits": 1,
        "weight": 1.0,
        "action": "up",
        "valid": True,
        **where,
    }
    records = [
        state | {"actor": actor, "sample": sample, "quality": quality}
        for actor, qualities in (("base", base), ("trained", trained))
        for sample, quality in enumerate(qualities)
    ]
    types = {"quality": float, "best": float, "before": float, "weight": float}
    return pd.DataFrame(records).astype({**types, "decisive": "boolean", "visits": "Int32"})


def actions(
    seed: int,
    tasks: pd.DataFrame,
    policies: Sequence[str] = ("grpo-s0", "grpo-s1"),
    *,
    per_task: int = 6,
    samples: int = 16,
    lift: float = 0.0,
    t_max: int = 20,
) -> pd.DataFrame:
    """Simulate what trained policies and base did in matched states.

    In each state an action is the best, or one of two worse ones; how often it is the best differs
    between states, and by `lift` between policies.

    Args:
        seed: Names all of it.
        tasks: Rows of table `tasks`; the test split is visited.
        policies: Names of the trained policies.
        per_task: States of each task; every sixth is injected, and every tenth is not decisive.
        samples: Actions of each policy in each state.
        lift: Added to a trained policy's probability of the best action.
        t_max: Budget, turns.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    test = tasks.loc[tasks["split"] == "test"]
    parts = []
    for policy in policies:
        task_S = np.repeat(test["task_id"].to_numpy(), per_task)
        size = len(task_S)
        place_S = np.arange(size)
        worth_SK = np.sort(rng.random((size, 3)), axis=1)[:, ::-1]
        idle_S = place_S % 10 == 9
        worth_SK[idle_S] = worth_SK[idle_S, :1]
        injected_S, turn_S = place_S % 6 == 5, rng.integers(1, t_max, size)
        state = pd.DataFrame(
            {
                "policy": policy,
                "place": place_S,
                "task_id": task_S,
                "source": np.where(place_S % 2, "trained", "base"),
                "turn": turn_S,
                "left": t_max - turn_S,
                "errors": [KINDS[kind] for kind in rng.integers(0, len(KINDS), size)],
                "injected": injected_S,
                "best": worth_SK[:, 0],
                "before": worth_SK[:, 0],
                "decisive": pd.array(~idle_S, "boolean"),
                "visits": pd.array(np.where(injected_S, 0, 2), "Int32"),
                "weight": np.where(injected_S, np.nan, 4.0),
            }
        )
        state.loc[injected_S, "visits"] = None
        chance_S = rng.beta(0.8, 0.8, size)
        for actor, sample in itertools.product(("base", "trained"), range(samples)):
            best_S = np.clip(chance_S + (lift if actor == "trained" else 0.0), 0, 1)
            kind_S = np.where(rng.random(size) < best_S, 0, rng.integers(1, 3, size))
            quality_S = worth_SK[place_S, kind_S]
            parts.append(state.assign(actor=actor, sample=sample, quality=quality_S))
    frame = pd.concat(parts, ignore_index=True).assign(action="up", valid=True)
    frame = frame.assign(env=tasks["env"].iloc[0], model="nano")
    tables.conform(frame, "actions")
    return frame
