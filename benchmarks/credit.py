"""Time of the credit of a batch of 512 episodes of 20 turns, as a part of the training step.

The step is one of GRPO, the cheapest arm, with a network of the size of `nano`. It is untrained
and so solves next to nothing: nearly every episode lasts 20 turns. The credit is computed from that
very batch, from episodes to advantages; predicting values, which is work of a network, is not part
of it.
"""

import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PrinterCallback

from benchmarks.rows import Row, Time, clock, main
from benchmarks.step_trl import Steps
from turnscope import nano, practice, training
from turnscope.advantages.gae import gae, spread, whiten
from turnscope.advantages.gigpo import group_in_group
from turnscope.algorithms import grpo
from turnscope.critic import value
from turnscope.environments import frozen_lake
from turnscope.policies import uniform
from turnscope.rollout import Start, rollout
from turnscope.training._trainer import Trainer
from turnscope.types import Budget

TASKS, GROUP, TURNS, TURN_TOKENS = 64, 8, 20, 4
STEPS, ROUNDS = 2, 30
BAR = 0.05
OPTIONS = {"sizes": [4, 5, 6], "frozen": 0.8, "slip": 0.2, "distance": 2}
GAE: dict[str, float] = {"discount": 1.0, "trace": 0.95}


def measure() -> list[Row]:
    """Take steps, then compute the credit of the last one again in three ways."""
    with tempfile.TemporaryDirectory() as scratch:
        batch, steps = _steps(Path(scratch))
    step = {kind: statistics.median(getattr(t, kind) for t in steps[1:]) for kind in Time.__slots__}
    size = len(batch.rows.reward_N)

    def gigpo() -> Any:
        return group_in_group(
            practice.lay(batch.episodes, batch.rewards, batch.qualities, batch.budgets, GROUP)
        )

    return [
        _row(f"GiGPO credit of {size} turns", gigpo, step),
        _row("- GAE by turn", partial(_criticised, batch, "turn"), step),
        _row("- GAE by token", partial(_criticised, batch, "token"), step),
    ]


def _criticised(batch: practice.Batch, level: str) -> Any:
    """Compute what a critic's credit needs beside its network, with made-up values."""
    steps = value.lay(batch.episodes, batch.rewards, level)
    value_M = np.linspace(0.0, 1.0, len(steps.reward_M))
    advantage_M, _ = gae(steps.reward_M, value_M, steps.row_M, **GAE)
    return whiten(spread(advantage_M, steps.tokens_M))


def _row(name: str, way: Callable[[], Any], step: dict[str, float]) -> Row:
    """Time one way of computing credit."""
    times = []
    for _ in range(ROUNDS):
        with clock() as time:
            way()
        times.append(time)
    own = {kind: statistics.median(getattr(t, kind) for t in times) for kind in step}
    share = max(own[kind] / step[kind] for kind in step)
    return Row(
        name,
        "% of a step",
        100 * share,
        bar=f"< {BAR:.0%}",
        met=share < BAR,
        details={"seconds": own, "step_seconds": step, "tasks": TASKS, "group": GROUP},
    )


def _steps(folder: Path) -> tuple[practice.Batch, list[Time]]:
    """Take training steps; return the batch of the last one, and how long each took."""
    tasks = frozen_lake.tasks(1, train=TASKS, test=0, **OPTIONS)
    model, words = _nano(tasks, folder / "nano")
    budget = Budget(TURNS, TURN_TOKENS)
    study = practice.Study(frozen_lake.Environment, tasks, budget, grpo.make(), 0)
    recipe = practice.Recipe(
        steps=STEPS, tasks=TASKS, group=GROUP, learning_rate=1e-6, checkpoint_steps=1000
    )
    config = training.config(recipe, study, folder / "scratch")
    made = Trainer(study, recipe, folder / "nano", model, words, config)
    made.remove_callback(PrinterCallback)
    times: list[Time] = []
    made.add_callback(Steps(times))
    made.train()
    assert made._batch is not None
    return made._batch, times


def _nano(tasks: list[Any], folder: Path) -> tuple[Any, Any]:
    """Make an untrained policy that knows the words of the lake."""
    starts = [Start(task, 0, 0, Budget(TURNS, TURN_TOKENS)) for task in tasks]
    episodes = rollout(frozen_lake.Environment, starts, uniform.Policy(words=frozen_lake.words()))
    said = [
        text for one in episodes for turn in one.turns for text in (turn.observation, turn.action)
    ]
    recipe = nano.Recipe()
    words = nano.tokenizer(said, recipe.vocabulary)
    model = nano.network(recipe, words, 1)
    nano.save(model, words, folder)
    return model, words


if __name__ == "__main__":
    main(measure)
