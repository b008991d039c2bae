"""Evaluation while an arm is trained: its own episodes, and its actions in fixed states.

R_multi is the success of episodes, R_single the quality of single actions. On the policy's own
episodes R_single also moves because other states are visited; on probe states, which are the same
for every arm, seed and step, it moves only if actions do.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from turnscope import draws
from turnscope.crew import ALONE, Crew
from turnscope.practice import Study
from turnscope.rollout import Start, in_batches, prefix_of
from turnscope.types import Budget, Environment, Episode, Policy, Task, Turn

BATCH = 512
"""Episodes played side by side."""
SOURCES = 4
"""Episodes of base at each task in which probe states are sought."""
QUARTERS = 4
"""Parts of the budget from which equally many probe states are taken, as far as there are."""


@dataclass(frozen=True, slots=True)
class Exam:
    """What is played at an evaluation checkpoint."""

    tasks: Sequence[Task]
    """Test tasks."""
    episodes: int
    """Own episodes of each task."""
    actions: int
    """Actions in each probe state."""
    states: Sequence[dict[str, Any]]
    """Records of table `states`."""
    seed: int
    """Seed of the study: all arms, training seeds and steps meet the same noise."""


def choose(
    environment: Callable[[], Environment],
    tasks: Sequence[Task],
    budget: Budget,
    policy: Policy,
    seed: int,
    states: int,
    who: dict[str, str],
) -> list[dict[str, Any]]:
    """Choose probe states from episodes of a policy.

    States of one task that agree in hidden state and turns left count once. Equally many come
    from each quarter of the budget, as far as there are.

    Args:
        environment: Makes an environment.
        tasks: Where.
        budget: Limits of the episodes.
        policy: Plays them.
        seed: Seed of the study.
        states: How many, at most.
        who: `env`, `model` and `policy`.

    Returns:
        Records of table `states`, by quarter, task and turn.
    """
    starts = [
        Start(task, sample, draws.seed("states", seed, task.task_id, sample), budget)
        for task in tasks
        for sample in range(SOURCES)
    ]
    quarters: list[list[tuple[Start, Episode, int]]] = [[] for _ in range(QUARTERS)]
    seen: set[tuple[str, str, int]] = set()
    for start, episode in zip(starts, _played(environment, starts, policy, seed), strict=True):
        for number, turn in enumerate(episode.turns):
            key = (episode.task_id, turn.state_key, number)
            if episode.success is not None and key not in seen:
                seen.add(key)
                quarters[number * QUARTERS // budget.turns].append((start, episode, number))
    chosen = []
    for left, found in enumerate(sorted(quarters, key=len)):
        share = (states - len(chosen)) // (QUARTERS - left)
        shuffle = np.random.Generator(np.random.PCG64(draws.seed("states", seed, left)))
        picked = sorted(shuffle.permutation(len(found))[:share].tolist())
        chosen += [_record(*found[place], who) for place in picked]
    return sorted(chosen, key=lambda one: (one["turn"], one["task_id"], one["sample"]))


def examine(study: Study, exam: Exam, policy: Policy, crew: Crew = ALONE) -> list[dict[str, Any]]:
    """Play an exam.

    Args:
        study: What is trained on; its schedule does not apply, all turns may be used. A policy
            that is used to seeing the turns left sees them in its own episodes; probe states are
            blind for every policy.
        exam: What is played.
        policy: The policy as it is now.
        crew: The processes that share the episodes; each returns all records.

    Returns:
        Records of table `progress`, without `env`, `model`, `policy` and `step`.
    """
    return [*_own(study, exam, policy, crew), *_probes(study, exam, policy, crew)]


def _own(study: Study, exam: Exam, policy: Policy, crew: Crew) -> Iterator[dict[str, Any]]:
    budget = replace(study.budget, told=study.algorithm.told)
    starts = [
        Start(task, sample, draws.seed("exam", exam.seed, task.task_id, sample), budget)
        for task in exam.tasks
        for sample in range(exam.episodes)
    ]
    played = _played(study.environment, starts, policy, draws.seed("exam", exam.seed), crew)
    for start, episode in zip(starts, played, strict=True):
        if episode.success is None:
            continue
        for number, turn in enumerate(episode.turns):
            row = _graded(study, start.task, turn, number, "policy", start.sample)
            yield row | {"success": episode.success}


def _probes(study: Study, exam: Exam, policy: Policy, crew: Crew) -> Iterator[dict[str, Any]]:
    tasks = {task.task_id: task for task in exam.tasks}
    starts, places = [], []
    for place, state in enumerate(exam.states):
        prefix = prefix_of(state)
        budget = Budget(len(prefix) + 1, study.budget.turn_tokens, None)
        for action in range(exam.actions):
            noise = draws.seed("probe", exam.seed, place, action)
            starts.append(
                Start(
                    tasks[state["task_id"]],
                    action,
                    state["seed"],
                    budget,
                    prefix,
                    noise,
                    state["state_key"],
                )
            )
            places.append(place)
    played = _played(study.environment, starts, policy, draws.seed("probe", exam.seed), crew)
    for start, place, episode in zip(starts, places, played, strict=True):
        number = len(start.prefix)
        if episode.success is not None and len(episode.turns) > number:
            yield _graded(study, start.task, episode.turns[number], number, "probe", place)


def _graded(
    study: Study, task: Task, turn: Turn, number: int, source: str, place: int
) -> dict[str, Any]:
    left = study.budget.turns - number
    quality = study.quality and study.quality(task, turn.state_key, turn.action, left)
    return {
        "source": source,
        "task_id": task.task_id,
        "place": place,
        "state_key": turn.state_key,
        "turn": number,
        "left": left,
        "quality": quality.value if quality else None,
        "best": quality.best if quality else None,
        "success": None,
    }


def _played(
    environment: Callable[[], Environment],
    starts: Sequence[Start],
    policy: Policy,
    stream: int,
    crew: Crew = ALONE,
) -> list[Episode]:
    own = in_batches(environment, crew.share(starts), policy, BATCH, stream)
    return crew.gather([*itertools.chain(*own)])


def _record(start: Start, episode: Episode, number: int, who: dict[str, str]) -> dict[str, Any]:
    before = episode.turns[:number]
    return {
        **who,
        "task_id": episode.task_id,
        "sample": episode.sample,
        "budget": start.budget.turns,
        "seed": start.seed,
        "turn": number,
        "state_key": episode.turns[number].state_key,
        "state_keys": [turn.state_key for turn in before],
        "actions": [turn.action for turn in before],
        "context_ids": [turn.context_ids for turn in before],
        "action_ids": [turn.action_ids for turn in before],
    }
