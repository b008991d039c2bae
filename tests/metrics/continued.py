"""Continuations after errors of a study that was only simulated."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from tests import simulated

NAMES = ("loss", "away", "loss away")


class Values(NamedTuple):
    """Probability to solve the task from every state, of base and of the trained policy."""

    base: np.ndarray
    trained: np.ndarray


def drawn(rng: np.random.Generator, states: int, rho: float = 0.5, lead: float = 0.0) -> Values:
    """Draw state values: uniform, equal for both with probability rho and else independent.

    Args:
        rng: Draws.
        states: How many.
        rho: See above.
        lead: Share of the way to 1 by which the trained policy is better.
    """
    base, other = rng.random((2, states))
    trained = np.where(rng.random(states) < rho, base, other)
    return Values(base, trained + lead * (1 - trained))


def continuations(
    seed: int,
    task_ids: Sequence[str],
    leads: Mapping[str, float],
    *,
    rho: float = 0.5,
    states: int | None = None,
    injected: int = 0,
    samples: int = 8,
    t_max: int = 20,
    env: str = simulated.ENV,
) -> pd.DataFrame:
    """Simulate error states of both sources, and what both policies did from there.

    The episode behind a state was solved with the value of its source there. A continuation is
    solved with the value of its policy, at a turn that is uniform over those left; it is lost half
    of the times that it is not.

    Args:
        seed: Names the whole study.
        task_ids: The tasks, one after the other.
        leads: By policy, its `lead` of `drawn`.
        rho: See `drawn`.
        states: Error states of each source; one for each task by default.
        injected: States with an error put in, of each source.
        samples: Continuations of each state and policy.
        t_max: Budget, turns.
        env: Name of the environment.

    Returns:
        A frame of table `continuations`.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    count = len(task_ids) if states is None else states
    parts = []
    for policy, lead in leads.items():
        pool = _pool(rng, task_ids, count, injected, t_max)
        values = drawn(rng, len(pool), rho, lead)
        own = np.where(pool["source"] == "base", values.base, values.trained)
        solved = pd.Series(rng.random(len(pool)) < own, dtype="boolean")
        pool = pool.assign(policy=policy, best=np.maximum(*values), solved=solved)
        pool["solved"] = pool["solved"].mask(pool["injected"])
        parts += [
            _continued(rng, pool.assign(actor=actor), value, samples)
            for actor, value in zip(Values._fields, values, strict=True)
        ]
    return pd.concat(parts, ignore_index=True).assign(env=env, model=simulated.MODEL)


def _pool(
    rng: np.random.Generator, task_ids: Sequence[str], states: int, injected: int, t_max: int
) -> pd.DataFrame:
    size = 2 * (states + injected)
    turn = rng.integers(1, t_max - 1, size)
    put_in = np.arange(size) >= 2 * states
    named = rng.choice(np.array(NAMES, object), size)
    return pd.DataFrame(
        {
            "place": np.arange(size, dtype=np.int32),
            "task_id": np.resize(np.repeat(np.array(task_ids, object), 2), size),
            "source": np.resize(["base", "trained"], size),
            "turn": turn.astype(np.int32),
            "left": (t_max - turn).astype(np.int32),
            "errors": np.where(put_in, "loss", named),
            "injected": put_in,
            "before": 1.0,
        }
    )


def _continued(
    rng: np.random.Generator, pool: pd.DataFrame, value_S: np.ndarray, samples: int
) -> pd.DataFrame:
    frame = pool.loc[pool.index.repeat(samples)].reset_index(drop=True)
    left = frame["left"].to_numpy(int)
    size = len(frame)
    success = rng.random(size) < np.repeat(value_S, samples)
    ended = rng.integers(1, left + 1)
    lost = ~success & (rng.random(size) < 0.5)
    turns = np.where(success | lost, ended, left)
    back = rng.integers(1, left + 1)
    came = (back < turns) & (rng.random(size) < 0.5)
    return frame.assign(
        sample=np.tile(np.arange(samples, dtype=np.int32), len(pool)),
        success=pd.array(success, dtype="boolean"),
        turns=turns.astype(np.int32),
        stop=np.select([success, lost], ["success", "failure"], "budget"),
        recovered=pd.array(np.where(came, back, -1), dtype="Int32"),
    ).assign(recovered=lambda made: made["recovered"].mask(~came))
