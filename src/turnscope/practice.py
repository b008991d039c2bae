"""What happens in one step of training before the optimiser: episodes, rewards, credit.

Nothing here knows of TRL. Every draw is a function of (seed, step, task, member), so that a step
can be played again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from turnscope import draws
from turnscope.advantages import Float, TurnBatch
from turnscope.algorithms._arm import Algorithm, Moment
from turnscope.rollout import Start, rollout
from turnscope.types import Budget, Environment, Episode, Policy, StopReason, Task

LOSSES = ("grpo", "dapo", "dr_grpo", "bnpo")
"""Those of TRL's losses that take one advantage for each token."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How long and how fast an arm learns."""

    steps: int
    """Optimiser steps."""
    tasks: int
    """Tasks in a step."""
    group: int
    """Episodes of each task in a step, G >= 2."""
    learning_rate: float
    checkpoint_steps: int
    """Steps between checkpoints."""
    loss: str = "dapo"
    """How TRL averages over tokens and episodes, its `loss_type`."""
    kl: float = 0.0
    """Weight of the divergence from the base policy, TRL's `beta`."""
    clip: float = 0.2
    """Clipping of the probability ratio."""
    warmup: int = 0
    """Steps in which the learning rate rises; it is constant afterwards."""
    gradient_norm: float = 1.0
    """Longest gradient."""
    micro: int | None = 16
    """Episodes in a forward pass of the update, so that little of it is padding; None is all."""


@dataclass(frozen=True, slots=True)
class Study:
    """What an arm is trained on."""

    environment: Callable[[], Environment]
    tasks: Sequence[Task]
    budget: Budget
    """Limits at T_max; the arm's schedule may lower the turns."""
    algorithm: Algorithm
    seed: int
    """Training seed."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The episodes of one step and the credit of their turns."""

    episodes: list[Episode]
    budgets: list[int]
    """Turns that each episode was allowed."""
    advantages: list[Float]
    """One number for each turn of each episode; zeros where the environment failed."""
    rewards: list[list[float] | None]
    """Payment of each turn of each episode; None where the environment failed."""


def order(study: Study, recipe: Recipe) -> list[int]:
    """Say which task each place of each step gets: pass after pass over all tasks, shuffled.

    Returns:
        Indices into the tasks of the study, `recipe.tasks` for each step.
    """
    places: list[int] = []
    while len(places) < recipe.steps * recipe.tasks:
        lap = len(places) // len(study.tasks)
        shuffle = np.random.Generator(np.random.PCG64(draws.seed("order", study.seed, lap)))
        places += shuffle.permutation(len(study.tasks)).tolist()
    return places[: recipe.steps * recipe.tasks]


def play(study: Study, policy: Policy, tasks: Sequence[Task], step: int, recipe: Recipe) -> Batch:
    """Play the episodes of one step and pay them.

    Args:
        study: What is trained on.
        policy: Acts.
        tasks: One for each episode, the members of a group next to each other.
        step: Optimiser steps done.
        recipe: Group size and number of steps.
    """
    starts, budgets = [], []
    for row, task in enumerate(tasks):
        moment = Moment(study.seed, step, recipe.steps, task.task_id, study.budget.turns)
        turns = study.algorithm.turns(moment)
        if not 1 <= turns <= study.budget.turns:
            raise ValueError(
                f"step {step}: the schedule gives task {task.task_id} {turns} turns; "
                f"legal is 1 to {study.budget.turns}"
            )
        budget = replace(study.budget, turns=turns, told=study.algorithm.told)
        noise = draws.seed("train", study.seed, step, task.task_id, row % recipe.group)
        starts.append(Start(task, row % recipe.group, noise, budget))
        budgets.append(turns)
    episodes = rollout(study.environment, starts, policy)
    rewards = pay(study.algorithm, episodes)
    advantages = credit(study.algorithm, episodes, rewards, budgets, recipe.group)
    return Batch(episodes, budgets, advantages, rewards)


def pay(algorithm: Algorithm, episodes: Sequence[Episode]) -> list[list[float] | None]:
    """Pay each turn of each episode; None where the environment failed.

    Raises:
        ValueError: The arm does not pay every turn.
    """
    rewards = [None if one.success is None else algorithm.rewards(one) for one in episodes]
    for paid, episode in zip(rewards, episodes, strict=True):
        if paid is not None and len(paid) != len(episode.turns):
            raise ValueError(f"{len(paid)} rewards for an episode of {len(episode.turns)} turns")
    return rewards


def credit(
    algorithm: Algorithm,
    episodes: Sequence[Episode],
    rewards: Sequence[list[float] | None],
    budgets: Sequence[int],
    group: int,
) -> list[Float]:
    """Compute one advantage for each turn of each episode.

    Args:
        algorithm: Gives the credit.
        episodes: The members of a group next to each other.
        rewards: What `pay` paid.
        budgets: Turns that each episode was allowed.
        group: Episodes in a group.
    """
    columns: dict[str, list[Any]] = {name: [] for name in TurnBatch.__slots__}
    names: dict[tuple[int, str], int] = {}
    scored = [row for row, episode in enumerate(episodes) if episode.success is not None]
    for row in scored:
        turns = episodes[row].turns
        columns["episode_N"] += [row] * len(turns)
        columns["group_N"] += [row // group] * len(turns)
        columns["turn_N"] += range(len(turns))
        columns["left_N"] += [budgets[row] - number for number in range(len(turns))]
        columns["reward_N"] += rewards[row] or []
        columns["state_N"] += [
            names.setdefault((row // group, turn.state_key), len(names)) for turn in turns
        ]
    reward_N = np.array(columns.pop("reward_N"), dtype=np.float64)
    batch = TurnBatch(
        reward_N=reward_N,
        **{name: np.array(column, dtype=np.int64) for name, column in columns.items()},
    )
    advantage_N = algorithm.credit(batch) if len(reward_N) else reward_N
    cuts = np.cumsum([len(episodes[row].turns) for row in scored])[:-1]
    parts = dict(zip(scored, np.split(advantage_N, cuts), strict=True)) if scored else {}
    return [parts.get(row, np.zeros(len(episode.turns))) for row, episode in enumerate(episodes)]


def check(recipe: Recipe, tasks: int) -> None:
    """Refuse a recipe that cannot be run.

    Args:
        recipe: The recipe.
        tasks: Number of train tasks.

    Raises:
        ValueError: Names the entry, its value and what is legal.
    """
    if recipe.group < 2:
        raise ValueError(f"training.group = {recipe.group}: must be at least 2 to compare episodes")
    for name in ("steps", "tasks", "checkpoint_steps", "micro"):
        value = getattr(recipe, name)
        if value is not None and value < 1:
            raise ValueError(f"training.{name} = {value}: must be at least 1")
    if recipe.tasks > tasks:
        raise ValueError(f"training.tasks = {recipe.tasks}: there are {tasks} train tasks")
    if recipe.loss not in LOSSES:
        raise ValueError(f"training.loss = {recipe.loss!r}: known: {', '.join(LOSSES)}")


def tokens(episode: Episode, end: int) -> tuple[list[int], list[int], list[int]]:
    """Lay an episode out as prompt, completion, and mask of the completion's policy tokens.

    An episode whose environment failed keeps its tokens and gets an empty mask.
    """
    scored = episode.stop is not StopReason.ERROR
    prompt, completion, mask = [end], [], []
    for number, turn in enumerate(episode.turns):
        if number:
            completion += turn.context_ids
            mask += [0] * len(turn.context_ids)
        else:
            prompt = turn.context_ids
        completion += turn.action_ids
        mask += [int(scored)] * len(turn.action_ids)
    return prompt, completion or [end], mask or [0]


def measure(batch: Batch, group: int) -> dict[str, float]:
    """Describe the episodes of a step; NaN where nothing was scored."""
    scored = [episode for episode in batch.episodes if episode.success is not None]
    turns = [turn for episode in scored for turn in episode.turns]
    paid = [None if rewards is None else sum(rewards) for rewards in batch.rewards]
    groups = [set(paid[at : at + group]) - {None} for at in range(0, len(paid), group)]
    return {
        "success": _mean([float(bool(episode.success)) for episode in scored]),
        "turns": _mean([float(len(episode.turns)) for episode in scored]),
        "tokens": _mean([float(sum(len(turn.action_ids) for turn in e.turns)) for e in scored]),
        "budget": _mean([float(turns) for turns in batch.budgets]),
        "invalid_share": _mean([float(not turn.valid) for turn in turns]),
        "zero_variance_groups": _mean([float(len(returns) <= 1) for returns in groups]),
        "environment_errors": float(len(batch.episodes) - len(scored)),
    }


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
