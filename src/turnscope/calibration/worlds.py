"""Many small lakes at once, as tables of numbers: what may happen there is known exactly.

Shapes end in W (worlds), H (turns left), T (turns), S (cells), A (the four directions). Smaller
lakes are padded with cells that nothing leads to.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope.environments import frozen_lake
from turnscope.environments.frozen_lake import lake as lakes
from turnscope.environments.frozen_lake import quality
from turnscope.environments.frozen_lake.quality import TIE
from turnscope.metrics import TASKS
from turnscope.types import Task

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

ENV = "frozen_lake"
SLIP = 0.2
FROZEN = 0.8
DISTANCE = 2


@dataclass(frozen=True)
class Worlds:
    """W lakes under one largest budget."""

    tasks: pd.DataFrame
    """Their rows of table `tasks`, as metrics read them."""
    t_max: int
    """Largest budget, turns."""
    moves_WSA: Ints
    """Cell reached in each direction, were there no slip."""
    quality_WHSA: Floats
    """Success probability of each action with 1, ..., T_max turns left, then of optimal ones."""
    value_WHS: Floats
    """That of the best action with 0, ..., T_max turns left; 1 on the goal."""
    best_WHSA: Bools
    """Which actions are best with 1, ..., T_max turns left."""
    away_WS: Ints
    """Fewest moves to the goal without slip; very many where it cannot be reached."""
    start_W: Ints
    ends_WS: Bools
    """Whether an episode ends in the cell: goal or hole."""
    goal_W: Ints

    def chosen(self, which_W: Ints) -> "Worlds":
        """Return some of the worlds, in the order asked for."""
        tables = {
            name: value[which_W]
            for name, value in vars(self).items()
            if isinstance(value, np.ndarray)
        }
        return replace(self, tasks=self.tasks.iloc[which_W].reset_index(drop=True), **tables)


def draw(seed: int, count: int, t_max: int, sizes: Sequence[int]) -> Worlds:
    """Draw different lakes, equally many of each size.

    Args:
        seed: Names the set.
        count: W.
        t_max: Largest budget, turns.
        sizes: Cells along a side, taken in turn.
    """
    tasks = frozen_lake.tasks(
        seed,
        train=0,
        test=count,
        sizes=sizes,
        frozen=FROZEN,
        slip=SLIP,
        distance=DISTANCE,
    )
    return of(tasks, t_max)


def of(tasks: Sequence[Task], t_max: int) -> Worlds:
    """Lay lakes out as tables.

    Args:
        tasks: Lakes, all as slippery as `SLIP`.
        t_max: Largest budget, turns.
    """
    parsed = [lakes.parse(tuple(task.payload["map"]), SLIP) for task in tasks]
    cells = max(lake.size for lake in parsed) ** 2
    shape = len(tasks), cells
    moves_WSA = np.broadcast_to(np.arange(cells)[:, None], (*shape, 4)).copy()
    quality_WHSA = np.zeros((len(tasks), t_max, cells, 4))
    ends_WS = np.zeros(shape, bool)
    for size in sorted({lake.size for lake in parsed}):
        rows = np.array([row for row, lake in enumerate(parsed) if lake.size == size])
        maps = [tasks[row].payload["map"] for row in rows]
        quality_WHSA[rows, :, : size * size] = quality.q_values_of_maps(maps, SLIP, t_max)
        moves_WSA[rows, : size * size] = [parsed[row].moves for row in rows]
        tiles = [list(parsed[row].tiles) for row in rows]
        ends_WS[rows, : size * size] = np.isin(tiles, [lakes.HOLE, lakes.GOAL])
    start_W = np.array([lake.start for lake in parsed])
    goal_W = np.array([lake.goal for lake in parsed])
    best_WHS = quality_WHSA.max(axis=3)
    none_left_WS = np.zeros(shape)
    none_left_WS[np.arange(len(tasks)), goal_W] = 1.0
    value_WHS = np.concatenate([none_left_WS[:, None], best_WHS], axis=1)
    return Worlds(
        _frame(tasks, best_WHS[np.arange(len(tasks)), :, start_W]),
        t_max,
        moves_WSA,
        quality_WHSA,
        value_WHS,
        quality_WHSA >= best_WHS[..., None] - TIE,
        _moves_to(goal_W, moves_WSA),
        start_W,
        ends_WS,
        goal_W,
    )


def _frame(tasks: Sequence[Task], bound_WH: Floats) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "env": ENV,
            "task_id": [task.task_id for task in tasks],
            "split": [task.split for task in tasks],
            "stratum": [task.stratum for task in tasks],
            "cluster": [task.cluster for task in tasks],
            "bound": list(bound_WH),
        }
    )
    return frame[TASKS]


def _moves_to(goal_W: Ints, moves_WSA: Ints) -> Ints:
    """Count the fewest moves from each cell to the goal, shape (W, S)."""
    worlds, cells, _ = moves_WSA.shape
    number_W = np.arange(worlds)
    least_WS = np.full((worlds, cells), cells)
    least_WS[number_W, goal_W] = 0
    for _ in range(cells):
        ahead_WSA = least_WS[number_W[:, None, None], moves_WSA]
        least_WS = np.minimum(least_WS, 1 + ahead_WSA.min(axis=2))
    return np.minimum(least_WS, cells)
