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
from turnscope.critic import Critic
from turnscope.rollout import Start, rollout
from turnscope.types import Budget, Environment, Episode, Policy, Quality, Task

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
    reference: bool = True
    """Whether to keep the base policy beside the one that is trained, to log the divergence from
    it; costs its memory."""
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
    quality: Callable[[Task, str, str, int], Quality | None] | None = None
    """`step_quality` of the environment, if it has one."""
    immediate: bool = False
    """`IMMEDIATE` of the environment: whether a quality is of an action by itself."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The episodes of one step and the credit of their turns."""

    episodes: list[Episode]
    budgets: list[int]
    """Turns that each episode was allowed."""
    rewards: list[list[float] | None]
    """Payment of each turn of each episode; None where the environment failed."""
    qualities: list[list[Quality | None]]
    """Quality of each turn of each episode; None where it has none."""
    rows: TurnBatch
    """All turns of episodes whose environment did not fail."""
    advantages: list[Float]
    """One number for each turn of each episode; zeros where the environment failed, and
    everywhere if a critic gives the credit."""


def order(study: Study, recipe: Recipe) -> list[int]:
    """Say which task each place of each step gets: pass after pass over all tasks, shuffled.

    Tasks that would not fill the last step of a pass sit that pass out, other ones each time: a
    step that spans two passes could hold a task twice, and so the same episodes twice.

    Returns:
        Indices into the tasks of the study, `recipe.tasks` for each step.
    """
    whole = len(study.tasks) // recipe.tasks * recipe.tasks
    places: list[int] = []
    while len(places) < recipe.steps * recipe.tasks:
        name = draws.seed("order", study.seed, len(places) // whole)
        shuffle = np.random.Generator(np.random.PCG64(name))
        places += shuffle.permutation(len(study.tasks))[:whole].tolist()
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
    starts, moments, budgets = [], [], []
    for row, task in enumerate(tasks):
        moment = Moment(
            study.seed, step, recipe.steps, task.task_id, study.budget.turns, task.min_turns
        )
        turns = study.algorithm.turns(moment)
        if not 1 <= turns <= study.budget.turns:
            raise ValueError(
                f"step {step}: the schedule gives task {task.task_id} {turns} turns; "
                f"legal is 1 to {study.budget.turns}"
            )
        budget = replace(study.budget, turns=turns, told=study.algorithm.told)
        noise = draws.seed("train", study.seed, step, task.task_id, row % recipe.group)
        starts.append(Start(task, row % recipe.group, noise, budget))
        moments.append(moment)
        budgets.append(turns)
    episodes = rollout(study.environment, starts, policy)
    rewards = pay(study.algorithm, episodes, moments)
    qualities = grade(study, tasks, episodes, budgets)
    rows = lay(episodes, rewards, qualities, budgets, recipe.group, study.immediate)
    advantages = credit(study.algorithm, episodes, rows)
    return Batch(episodes, budgets, rewards, qualities, rows, advantages)


def join(study: Study, parts: Sequence[Batch], group: int) -> Batch:
    """Put the shares of a step together, and give credit anew: it may compare all of the step.

    Args:
        study: What is trained on.
        parts: Whole groups each, in the order of the step.
        group: Episodes in a group.
    """
    episodes, budgets, rewards, qualities = (
        [one for part in parts for one in getattr(part, name)]
        for name in ("episodes", "budgets", "rewards", "qualities")
    )
    rows = lay(episodes, rewards, qualities, budgets, group, study.immediate)
    advantages = credit(study.algorithm, episodes, rows)
    return Batch(episodes, budgets, rewards, qualities, rows, advantages)


def pay(
    algorithm: Algorithm, episodes: Sequence[Episode], moments: Sequence[Moment]
) -> list[list[float] | None]:
    """Pay each turn of each episode; None where the environment failed.

    Raises:
        ValueError: The arm does not pay every turn.
    """
    rewards = [
        None if episode.success is None else algorithm.rewards(episode, moment)
        for episode, moment in zip(episodes, moments, strict=True)
    ]
    for paid, episode in zip(rewards, episodes, strict=True):
        if paid is not None and len(paid) != len(episode.turns):
            raise ValueError(f"{len(paid)} rewards for an episode of {len(episode.turns)} turns")
    return rewards


def grade(
    study: Study, tasks: Sequence[Task], episodes: Sequence[Episode], budgets: Sequence[int]
) -> list[list[Quality | None]]:
    """Say how good each turn of each episode was, given the turns that were left."""
    judge = study.quality
    if judge is None:
        return [[None] * len(episode.turns) for episode in episodes]
    return [
        [
            judge(task, turn.state_key, turn.action, budget - number)
            for number, turn in enumerate(episode.turns)
        ]
        for task, episode, budget in zip(tasks, episodes, budgets, strict=True)
    ]


def lay(
    episodes: Sequence[Episode],
    rewards: Sequence[list[float] | None],
    qualities: Sequence[Sequence[Quality | None]],
    budgets: Sequence[int],
    group: int,
    immediate: bool = False,
) -> TurnBatch:
    """Lay the turns of a step out as rows, without episodes whose environment failed.

    Args:
        episodes: The members of a group next to each other.
        rewards: What `pay` paid.
        qualities: What `grade` found.
        budgets: Turns that each episode was allowed.
        group: Episodes in a group.
        immediate: Whether a quality is of an action by itself.
    """
    columns: dict[str, list[Any]] = {name: [] for name in TurnBatch.__slots__}
    names: dict[tuple[int, str], int] = {}
    for row, (episode, paid) in enumerate(zip(episodes, rewards, strict=True)):
        if paid is None:
            continue
        turns = episode.turns
        columns["episode_N"] += [row] * len(turns)
        columns["group_N"] += [row // group] * len(turns)
        columns["turn_N"] += range(len(turns))
        columns["left_N"] += [budgets[row] - number for number in range(len(turns))]
        columns["reward_N"] += paid
        columns["process_N"] += _process(qualities[row], immediate)
        columns["state_N"] += [
            names.setdefault((row // group, turn.state_key), len(names)) for turn in turns
        ]
    kinds: dict[str, Any] = {"reward_N": np.float64, "process_N": np.float64}
    arrays: dict[str, Any] = {
        name: np.array(each, dtype=kinds.get(name, np.int64)) for name, each in columns.items()
    }
    return TurnBatch(**arrays)


def _process(qualities: Sequence[Quality | None], immediate: bool) -> list[float]:
    """Say what each turn of an episode gave away; by itself, only what the last one left undone."""
    lost = [np.nan if one is None else one.value - one.best for one in qualities]
    return [0.0] * len(lost[:-1]) + lost[-1:] if immediate else lost


def credit(algorithm: Algorithm, episodes: Sequence[Episode], rows: TurnBatch) -> list[Float]:
    """Compute one advantage for each turn of each episode.

    Args:
        algorithm: Gives the credit; if that is a critic, all advantages are 0.
        episodes: All episodes of the step.
        rows: Their turns, see `lay`.
    """
    advantages = [np.zeros(len(episode.turns)) for episode in episodes]
    if isinstance(algorithm.credit, Critic) or not len(rows.reward_N):
        return advantages
    advantage_N = algorithm.credit(rows)
    played, first = np.unique(rows.episode_N, return_index=True)
    for row, part in zip(played, np.split(advantage_N, first[1:]), strict=True):
        advantages[row] = part
    return advantages


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
    prompt = episode.turns[0].context_ids if episode.turns else [end]
    completion: list[int] = []
    for number, turn in enumerate(episode.turns):
        completion += [*turn.context_ids, *turn.action_ids] if number else turn.action_ids
    mask = [0] * len(completion)
    if episode.success is not None:
        for start, stop in episode.spans():
            mask[start:stop] = [1] * (stop - start)
    return prompt, completion or [end], mask or [0]
