"""Play many episodes of one policy into tables, batch by batch, so that memory holds one batch."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from turnscope import draws, tables
from turnscope.rollout import Start, in_batches
from turnscope.types import Budget, Environment, Episode, Policy, Quality, Task

log = logging.getLogger(__name__)

Grade = Callable[[str, str, str, int], Quality | None]
"""Says how good an action was: task, hidden state, action, turns left before it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which episodes are played."""

    environment: Callable[[], Environment]
    tasks: Sequence[Task]
    budget: Budget
    episodes: int
    """n: episodes of each task."""
    batch: int
    """Episodes played side by side."""
    seed: int
    """Seed of the study."""
    temperature: float
    """At which the policy samples."""
    who: dict[str, str]
    """`env`, `model` and `policy`."""
    quality: Callable[[Task, str, str, int], Quality | None] | None = None
    """`step_quality` of the environment, if it has one."""


def subset(tasks: Sequence[Task], number: int | None) -> list[Task]:
    """Choose some tasks evenly from each stratum, so that strata keep their shares.

    Args:
        tasks: All tasks, in any order.
        number: How many; None or more than there are is all.

    Returns:
        The chosen tasks, in the order given.
    """
    if number is None or number >= len(tasks):
        return list(tasks)
    order = sorted(range(len(tasks)), key=lambda place: tasks[place].stratum)
    chosen = sorted(order[rank * len(tasks) // number] for rank in range(number))
    return [tasks[place] for place in chosen]


def starts(plan: Plan) -> list[Start]:
    """List where the episodes begin.

    Policies of one study meet the same noise of the environment in the same attempt at a task,
    which makes their comparison sharper; their own draws are independent, see `stream`. Under
    another budget the noise is another one: the study tests that budgets agree in law, which
    equal noise would make trivial.
    """
    names = ("sample", plan.seed, plan.who["env"], plan.budget.turns, int(plan.budget.told))
    return [
        Start(task, sample, draws.seed(*names, task.task_id, sample), plan.budget)
        for task in plan.tasks
        for sample in range(plan.episodes)
    ]


def stream(plan: Plan) -> int:
    """Name the draws of the policy: other policies and other budgets draw independently."""
    budget = plan.budget
    return draws.seed(plan.who["model"], plan.who["policy"], budget.turns, int(budget.told))


def batches(plan: Plan, policy: Policy) -> Iterator[list[Episode]]:
    """Play the episodes, one batch at a time, in order of task and attempt."""
    everything, done = starts(plan), 0
    for episodes in in_batches(plan.environment, everything, policy, plan.batch, stream(plan)):
        yield episodes
        done += len(episodes)
        log.info("played %d of %d episodes", done, len(everything))


def write(plans: Sequence[Plan], policy: Policy, episodes: Path, turns: Path) -> None:
    """Play the episodes of one plan after the other, and write both tables.

    Args:
        plans: Which.
        policy: Acts.
        episodes: Parquet file of table `episodes`.
        turns: Parquet file of table `turns`.
    """
    with ExitStack() as stack:
        heads = stack.enter_context(tables.writer(episodes, "episodes"))
        bodies = stack.enter_context(tables.writer(turns, "turns"))
        for plan in plans:
            graded = _graded(plan)
            for batch in batches(plan, policy):
                head, body = tables.from_episodes(
                    batch,
                    budget=plan.budget.turns,
                    told=plan.budget.told,
                    temperature=plan.temperature,
                    quality=graded,
                    **plan.who,
                )
                heads(head)
                bodies(body)


def grader(
    quality: Callable[[Task, str, str, int], Quality | None], tasks: Mapping[str, Task]
) -> Grade:
    """Grade actions, each different one once: many episodes come by the same places.

    Args:
        quality: `step_quality` of an environment.
        tasks: By name.
    """
    known: dict[tuple[str, str, str, int], Quality | None] = {}

    def grade(task_id: str, state_key: str, action: str, left: int) -> Quality | None:
        key = (task_id, state_key, action, left)
        if key not in known:
            known[key] = quality(tasks[task_id], state_key, action, left)
        return known[key]

    return grade


def _graded(plan: Plan) -> Callable[[Episode, int], Quality | None] | None:
    if plan.quality is None:
        return None
    grade = grader(plan.quality, {task.task_id: task for task in plan.tasks})

    def of_turn(episode: Episode, number: int) -> Quality | None:
        turn, left = episode.turns[number], plan.budget.turns - number
        return grade(episode.task_id, turn.state_key, turn.action, left)

    return of_turn
