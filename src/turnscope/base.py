"""Make a base policy: build `nano` from scratch, or take a model that is here."""

import itertools
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from turnscope import draws, models, nano, registry
from turnscope.chat import Renderer
from turnscope.policies import expert
from turnscope.rollout import Start, in_batches
from turnscope.types import Budget, Episode, Task

log = logging.getLogger(__name__)

BATCH = 512
"""Expert episodes played side by side."""
READ = 4000
"""Episodes from which the tokenizer learns its words."""


def make(
    spec: dict[str, Any], tasks: Sequence[Task], folder: Path, source: Path | None = None
) -> None:
    """Write the folder of a base policy.

    Args:
        spec: See `turnscope.stages.base`.
        tasks: Train tasks.
        folder: Where the policy goes.
        source: Folder of a model that is not built but taken, see `turnscope.models`.

    Raises:
        ValueError: The model is neither built nor taken.
    """
    if "build" in spec["settings"]:
        build(spec, nano.Recipe(**spec["settings"]["build"]), tasks, folder)
    elif source is not None:
        models.link(source, folder)
    else:
        raise ValueError(f"models.{spec['model']}: give either `build` or `path`")


def build(spec: dict[str, Any], recipe: nano.Recipe, tasks: Sequence[Task], folder: Path) -> None:
    """Train `nano` on episodes of the environment's expert."""
    episodes = teach(spec, recipe, tasks)
    solved = sum(bool(episode.success) for episode in episodes) / len(episodes)
    log.info("the expert solved %.3f of %d episodes", solved, len(episodes))
    said = [turn for episode in episodes[:READ] for turn in episode.turns]
    left = [f"\nturns left {number}" for number in range(1, spec["budget"]["turns"] + 1)]
    words = nano.tokenizer(
        [text for turn in said for text in (turn.observation, turn.action)] + left * 100,
        recipe.vocabulary,
    )
    model = nano.network(recipe, words, spec["seed"])
    log.info("%d parameters, %d tokens", model.num_parameters(), len(words))
    loss = nano.imitate(model, *nano.encode(episodes, Renderer(words)), recipe, spec["seed"])
    log.info("imitation ended at %.4f nats a token", loss)
    nano.save(model, words, folder)


def _allowed(budget: Budget, told: float, seed: int) -> Budget:
    """Draw whether an episode is told its budget; if so, its turns are drawn as well."""
    name = draws.seed("told", seed)
    if draws.uniform(name, 0) >= told:
        return budget
    return replace(budget, turns=1 + int(draws.uniform(name, 1) * budget.turns), told=True)


def teach(spec: dict[str, Any], recipe: nano.Recipe, tasks: Sequence[Task]) -> list[Episode]:
    """Play the expert, the attempts at one task next to each other.

    Raises:
        ValueError: There is no task to play.
    """
    if not tasks:
        raise ValueError(f"environment {spec['env']!r} has no train task to learn from")
    environment = partial(registry.load("environments", spec["env"]).Environment, **spec["options"])
    policy = expert.Policy(env=spec["env"], skill=recipe.skill)
    budget = Budget(**spec["budget"])
    each, more = divmod(recipe.episodes, len(tasks))
    starts = []
    for number, task in enumerate(tasks):
        for sample in range(each + (number < more)):
            seed = draws.seed("expert", spec["seed"], task.task_id, sample)
            starts.append(Start(task, sample, seed, _allowed(budget, recipe.told, seed)))
    return [*itertools.chain(*in_batches(environment, starts, policy, BATCH))]
