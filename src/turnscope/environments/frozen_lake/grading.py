"""What can be said of single actions: how good they were, and which of them were errors."""

from collections import deque
from functools import lru_cache

import numpy as np

from turnscope.environments.frozen_lake import lake as lakes
from turnscope.environments.frozen_lake.lake import HOLE, WORDS, Lake
from turnscope.environments.frozen_lake.quality import TIE, action_values
from turnscope.environments.frozen_lake.views import way_of
from turnscope.types import Quality, Task, Turn

LOSS = 0.01
"""Success probability that an action must give away to be an error."""
ERRORS = {
    "loss": f"the action gave away success probability, {LOSS:g} or more, "
    "and the task can still be solved",
    "away": "the fewest moves to the goal went up",
}


def step_quality(task: Task, state_key: str, action: str, turns_left: int) -> Quality:
    """Return the success probability of an action, followed by optimal ones, and of the best.

    Args:
        task: Where.
        state_key: Name of the cell.
        action: What was said there; text that is no action wastes the turn.
        turns_left: Turns of the budget not yet used, >= 1.
    """
    lake, cell = _place(task, state_key)
    quality = action_values(lake, cell, turns_left)
    way = way_of(action)
    value = _worth(lake, cell, turns_left - 1) if way is None else float(quality[way])
    return Quality(value, float(quality.max()))


def errors(task: Task, turn: Turn, state_key: str, turns_left: int) -> list[str]:
    """List the definitions in `ERRORS` that an action meets.

    Whether something was lost is a matter of the action alone, whatever the ice did then; whether
    the goal is farther away is a matter of where it led.

    Args:
        task: Where.
        turn: The action and the cell in which it was taken.
        state_key: Name of the cell it led to.
        turns_left: Turns of the budget not yet used after it, >= 0.
    """
    lake, cell = _place(task, state_key)
    quality = step_quality(task, turn.state_key, turn.action, turns_left + 1)
    lost = quality.best - quality.value >= LOSS - TIE
    distance = _distances(lake)
    met = {
        "loss": lost and _worth(lake, cell, turns_left) > 0,
        "away": distance[cell] > distance[lake.names.index(turn.state_key)],
    }
    return [name for name in ERRORS if met[name]]


def mistakes(task: Task, state_key: str, turns_left: int) -> list[str]:
    """List the actions that are worse than the best; none if all are alike.

    Args:
        task: Where.
        state_key: Name of the cell.
        turns_left: Turns of the budget not yet used, >= 1.
    """
    quality = action_values(*_place(task, state_key), turns_left)
    worse = np.flatnonzero(quality < quality.max() - TIE)
    return [WORDS[way] for way in worse]


def _place(task: Task, state_key: str) -> tuple[Lake, int]:
    lake = lakes.parse(tuple(task.payload["map"]), task.payload["slip"])
    return lake, lake.names.index(state_key)


def _worth(lake: Lake, cell: int, turns_left: int) -> float:
    """Return the success probability of the best policy from a cell on."""
    if turns_left < 1:
        return float(cell == lake.goal)
    return float(action_values(lake, cell, turns_left).max())


@lru_cache(maxsize=1024)
def _distances(lake: Lake) -> tuple[float, ...]:
    """Count the fewest moves from each cell to the goal; infinite from holes."""
    found = {lake.goal: 0.0}
    queue = deque([lake.goal])
    while queue:
        cell = queue.popleft()
        # Where one can go back and forth, ways to the goal are ways from it.
        for near in lakes.neighbours(lake.size)[cell]:
            if near not in found and lake.tiles[near] != HOLE:
                found[near] = found[cell] + 1
                queue.append(near)
    return tuple(found.get(cell, np.inf) for cell in range(len(lake.tiles)))
