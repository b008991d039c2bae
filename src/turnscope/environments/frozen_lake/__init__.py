"""Cross a frozen lake to the goal without falling into a hole.

Source:
    The lake of gymnasium 1.4.0, `FrozenLake-v1`; the symbols of RAGEN.
    Differs: start and goal are random; `slip` is the total probability of a perpendicular move, so
    gymnasium's `success_rate` is 1 - slip and its default lake has slip 2/3; no turn limit.

Observation:
    View `position`: first the cell you are in, size, goal and holes, as `hole=r2c3` (row and
    column from 0), then the cell you are in. View `map`: first the map as a drawing, then the
    cell. View `grid`: the rules, and the drawing at every turn, for large models. Only `grid`
    tells the slip.

Action:
    `left`, `down`, `right` or `up`, see `turnscope.environments.frozen_lake.views.way_of`.
    Anything else is a turn in which you stay.

Reward:
    1 at the turn the goal is reached, else 0.

Termination:
    The goal (success) or a hole.

Randomness:
    With probability `slip` a move goes to one of the two sides, either equally likely.

Graded:
    At every turn.

Options:
    See `tasks` and `Environment`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from turnscope import draws, legal
from turnscope.environments.frozen_lake import lake as lakes
from turnscope.environments.frozen_lake.grading import ERRORS, errors, mistakes, step_quality
from turnscope.environments.frozen_lake.lake import WORDS, Lake
from turnscope.environments.frozen_lake.quality import TIE, action_values, success_bound
from turnscope.environments.frozen_lake.views import VIEWS, WAYS, replies, way_of
from turnscope.types import Step, Task

__all__ = [
    "ERRORS",
    "EXAMPLE",
    "Environment",
    "bound",
    "errors",
    "expert",
    "gold",
    "least_turns",
    "mistakes",
    "step_quality",
    "tasks",
    "values",
    "words",
]

EXAMPLE: dict[str, Any] = {
    "train": 60,
    "test": 180,
    "sizes": [3, 4, 5],
    "frozen": 0.8,
    "slip": 0.2,
    "distance": 2,
}
ATTEMPTS = 10_000
"""Maps drawn for one task before the options are declared hopeless."""


class Environment:
    """A lake, see the module.

    Args:
        view: `position`, `map` or `grid`.
    """

    def __init__(self, *, view: str = "position"):
        legal.one_of("view", view, VIEWS)
        self._view = view
        self._running = False

    def reset(self, task: Task, seed: int) -> str:
        """Go to the start of the task's lake and describe it."""
        self.lake: Lake = lakes.parse(tuple(task.payload["map"]), task.payload["slip"])
        self.cell = self.lake.start
        self._replies = replies(self.lake, self._view)
        self._seed, self._turn, self._running = seed, 0, True
        return self._replies.first

    def step(self, action: str) -> Step:
        """Move, or stay and be told the words.

        Raises:
            RuntimeError: No episode is running.
        """
        if not self._running:
            raise RuntimeError("no episode is running on the lake; call reset first")
        turn, here = self._turn, self.cell
        self._turn = turn + 1
        way = WAYS.get(action)
        if way is None:
            way = way_of(action)
            if way is None:
                return self._replies.invalid[here]
        lake = self.lake
        self.cell = there = lake.moves[here][(way + lakes.drift(self._seed, turn, lake.slip)) % 4]
        reply = self._replies.moved[there]
        self._running = not reply.terminated
        return reply

    def state_key(self) -> str:
        """Name the cell; how many turns are left is not part of it."""
        return self.lake.names[self.cell]

    def reseed(self, seed: int) -> None:
        """Go on from the present cell under fresh noise; turns are counted on."""
        self._seed = seed

    def close(self) -> None:
        """End the episode."""
        self._running = False


def tasks(
    seed: int,
    *,
    train: int,
    test: int,
    sizes: Sequence[int] = (4, 5, 6),
    frozen: float = 0.8,
    slip: float = 0.2,
    distance: int = 2,
) -> list[Task]:
    """Draw lakes, all different in map, start or goal.

    Test lakes are drawn first, so they do not depend on how many train lakes there are. No train
    lake has the holes and the goal of a test lake, whatever its start.

    Args:
        seed: Names the set.
        train: Number of train tasks, >= 0.
        test: Number of test tasks, >= 0.
        sizes: Cells along a side, each >= 2, taken in turn; also the stratum, such as `4x4`.
        frozen: Probability that a tile is ice, in (0, 1].
        slip: Total probability of a perpendicular move, in [0, 1].
        distance: Fewest moves from start to goal, from 1 to 2 * (smallest size - 1).

    Returns:
        Train tasks, then test tasks.

    Raises:
        ValueError: An option is out of range, or there are not that many different lakes.
    """
    least_turns(train=train, test=test, sizes=sizes, frozen=frozen, slip=slip, distance=distance)
    seen: set[tuple[str, ...]] = set()
    barred: set[tuple[str, ...]] = set()
    made: dict[str, list[Task]] = {}
    for split, number in (("test", test), ("train", train)):
        made[split] = []
        for i in range(number):
            size, name = sizes[i % len(sizes)], f"{split}-{i:05d}"
            key = draws.seed(seed, "frozen_lake", split, i)
            rows, least = _draw_new(key, size, frozen, distance, seen, barred)
            payload = {"map": list(rows), "slip": slip}
            made[split].append(Task(name, split, f"{size}x{size}", name, payload, least))
        barred = {lakes.startless(rows) for rows in seen}
    return made["train"] + made["test"]


def _draw_new(
    seed: int,
    size: int,
    frozen: float,
    distance: int,
    seen: set[tuple[str, ...]],
    barred: set[tuple[str, ...]],
) -> tuple[tuple[str, ...], int]:
    """Draw maps until one is new and solvable; add it to `seen`, return it and its distance."""
    for attempt in range(ATTEMPTS):
        rows = lakes.draw(draws.seed(seed, attempt), size, frozen)
        if lakes.startless(rows) in barred:
            continue
        path = lakes.shortest_path(lakes.parse(rows, 0.0))
        if path is not None and len(path) >= distance and rows not in seen:
            seen.add(rows)
            return rows, len(path)
    raise ValueError(
        f"found no new {size}x{size} lake in {ATTEMPTS} draws after {len(seen)} lakes; "
        f"ask for fewer tasks, or change frozen={frozen} or distance={distance}"
    )


def least_turns(
    *,
    train: int,
    test: int,
    sizes: Sequence[int] = (4, 5, 6),
    frozen: float = 0.8,
    slip: float = 0.2,
    distance: int = 2,
) -> int:
    """Return the fewest turns that a task made with these options of `tasks` can need.

    Raises:
        ValueError: An option is out of range.
    """
    if not sizes or any(not isinstance(size, int) or size < 2 for size in sizes):
        raise ValueError(f"sizes is {sizes}; legal is a list of integers, each at least 2")
    longest = 2 * (min(sizes) - 1)
    ranges = {
        "train": (train >= 0, "at least 0"),
        "test": (test >= 0, "at least 0"),
        "frozen": (0 < frozen <= 1, "above 0 and at most 1"),
        "slip": (0 <= slip <= 1, "between 0 and 1"),
        "distance": (
            1 <= distance <= longest,
            f"from 1 to {longest}, corner to corner of the smallest size",
        ),
    }
    given = {"train": train, "test": test, "frozen": frozen, "slip": slip, "distance": distance}
    for name, (fine, allowed) in ranges.items():
        if not fine:
            raise ValueError(f"{name} is {given[name]}; legal is {allowed}")
    return distance


def words() -> list[str]:
    """List the actions."""
    return list(WORDS)


def gold(task: Task, seed: int) -> list[str]:
    """Return `task.min_turns` actions that reach the goal from `reset(task, seed)`.

    Raises:
        ValueError: The goal cannot be reached.
    """
    lake = lakes.parse(tuple(task.payload["map"]), task.payload["slip"])
    path = lakes.shortest_path(lake)
    if path is None:
        raise ValueError(f"task {task.task_id}: no way leads from start to goal")
    return lakes.steer(path, seed, lake.slip)


def values(environment: Environment, turns_left: int) -> dict[str, float]:
    """Return the success probability of each action now, followed by optimal ones."""
    quality = action_values(environment.lake, environment.cell, turns_left)
    return dict(zip(WORDS, quality.tolist(), strict=True))


def expert(environment: Environment, seed: int, turn: int, skill: float, turns_left: int) -> str:
    """Act imperfectly.

    Args:
        environment: A running episode.
        seed: Names the expert's draws, together with `turn`.
        turn: Number of the turn, from 0.
        skill: Probability of one of the best actions; else each action is equally likely.
        turns_left: Turns of the budget not yet used, >= 1.

    Returns:
        An action.
    """
    choice = draws.uniform(seed, 2 * turn + 1)
    if draws.uniform(seed, 2 * turn) >= skill:
        return WORDS[int(choice * 4)]
    quality = action_values(environment.lake, environment.cell, turns_left)
    best = np.flatnonzero(quality >= quality.max() - TIE)
    return WORDS[best[int(choice * len(best))]]


def bound(task: Task, turns: int) -> list[float]:
    """Return the highest success probability of any policy within T = 1, ..., `turns` turns."""
    return success_bound(task.payload["map"], task.payload["slip"], turns)
