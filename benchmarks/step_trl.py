"""One step of GRPO, generation and update: our trainer against TRL's stock multi-turn trainer.

The conditions of `rollout_trl`, in the size of a training step of the default study (16 tasks, 8
episodes each). Each side uses the micro-batches that are fastest for it on a CPU: 16 sorted by
length for us, 64 for TRL (128, 64 and 32 were tried). The update is the same mathematics; ours
skips padding. Generation is `_generate_and_score_completions` on both sides.
"""

import tempfile
from pathlib import Path
from typing import Any

from transformers import PrinterCallback, TrainerCallback

from benchmarks import calls, stock
from benchmarks.rows import Row, Time, alternate, clock, compare, main
from turnscope import practice, training
from turnscope.algorithms import grpo
from turnscope.types import Budget

TASKS, GROUP, ROUNDS = 16, 8, 3
OUR_MICRO, THEIR_MICRO = 16, 64
GENERATE = "_generate_and_score_completions"


class Steps(TrainerCallback):
    """Times optimiser steps."""

    def __init__(self, times: list[Time]):
        self._times = times

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Start the clock."""
        self._clock = clock()
        self._time = self._clock.__enter__()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Stop the clock."""
        self._clock.__exit__(None, None, None)
        self._times.append(self._time)


def measure() -> list[Row]:
    """Measure a step, and its two parts."""
    tasks = calls.tasks(TASKS)
    with tempfile.TemporaryDirectory() as scratch:
        sides = [
            _side(_ours(tasks, Path(scratch) / "ours")),
            _side(
                stock.trainer(
                    *calls.load(calls.checkpoint()),
                    tasks,
                    GROUP,
                    THEIR_MICRO,
                    Path(scratch) / "other",
                )
            ),
        ]
        a, b = alternate(sides, ROUNDS)
    rows = []
    for part, bar in (("step", 3.0), ("generation", None), ("update", None)):
        ours, other = [x[part] for x in a], [x[part] for x in b]
        name = {"step": "GRPO step against TRL", "generation": "- its generation"}
        rows.append(
            compare(
                name.get(part, "- its update"),
                ours,
                other,
                least=bar,
                details={"tasks": TASKS, "group": GROUP, "micro": [OUR_MICRO, THEIR_MICRO]},
            )
        )
    return rows


def _ours(tasks: list[Any], folder: Path) -> training.Trainer:
    model, words = calls.load(calls.checkpoint())
    budget = Budget(calls.TURNS, calls.TURN_TOKENS)
    study = practice.Study(calls.Environment, tasks, budget, grpo.make(), 0)
    recipe = practice.Recipe(
        steps=1,
        tasks=TASKS,
        group=GROUP,
        learning_rate=1e-6,
        checkpoint_steps=1000,
        micro=OUR_MICRO,
        reference=False,  # as TRL's own side
    )
    config = training.config(recipe, study, folder)
    made = training.Trainer(study, recipe, calls.checkpoint(), model, words, config)
    made.policy = calls.policy(made.policy.model, words)  # with the tool in the prompt
    made.remove_callback(PrinterCallback)
    return made


def _side(made: Any) -> Any:
    """Return a function that makes one step and tells how long its parts took."""
    steps: list[Time] = []
    generations: list[Time] = []
    made.add_callback(Steps(steps))
    stock.timed(made, GENERATE, generations)

    def call() -> dict[str, Time]:
        made.train()
        step, generation = steps[-1], generations[-1]
        update = Time(step.wall - generation.wall, step.processor - generation.processor)
        return {"step": step, "generation": generation, "update": update}

    return call


if __name__ == "__main__":
    main(measure)
