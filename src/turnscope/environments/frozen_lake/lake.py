"""Maps of the lake: how they are drawn, and where each move leads."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from turnscope import draws

WORDS = ("left", "down", "right", "up")
"""Actions by direction. Neighbours in this circle are perpendicular."""
START, ICE, HOLE, GOAL = "P", "_", "O", "G"


@dataclass(frozen=True, slots=True, eq=False)
class Lake:
    """A map, ready to be walked on. Cells are numbered in reading order from 0."""

    size: int
    """Cells along a side."""
    slip: float
    """Total probability of a perpendicular move."""
    tiles: str
    """Symbol of each cell."""
    start: int
    goal: int
    moves: tuple[tuple[int, ...], ...]
    """Cell reached from each cell in each direction; walls, holes and the goal hold you."""
    names: tuple[str, ...]
    """What each cell is called, such as `r2c3`."""


@lru_cache(maxsize=64)
def neighbours(size: int) -> tuple[tuple[int, int, int, int], ...]:
    """Return, for each cell of an empty map, the cells to its left, below, right and above."""
    last = size - 1
    return tuple(
        (
            row * size + max(column - 1, 0),
            min(row + 1, last) * size + column,
            row * size + min(column + 1, last),
            max(row - 1, 0) * size + column,
        )
        for row in range(size)
        for column in range(size)
    )


@lru_cache(maxsize=1024)
def parse(rows: tuple[str, ...], slip: float) -> Lake:
    """Read a map.

    Args:
        rows: One text a row, of `P` (start), `_` (ice), `O` (hole) and `G` (goal).
        slip: Total probability of a perpendicular move, in [0, 1].

    Returns:
        The lake; the same object when it was read lately.

    Raises:
        ValueError: The map is not a square with one start and one goal.
    """
    size, tiles = len(rows), "".join(rows)
    square = all(len(row) == size for row in rows)
    known = set(tiles) <= {START, ICE, HOLE, GOAL}
    if not (square and known and tiles.count(START) == tiles.count(GOAL) == 1):
        raise ValueError(f"map {list(rows)} is not a square of P _ O G with one P and one G")
    moves = tuple(
        (cell,) * 4 if tile in (HOLE, GOAL) else ways
        for cell, (tile, ways) in enumerate(zip(tiles, neighbours(size), strict=True))
    )
    names = tuple(f"r{row}c{column}" for row in range(size) for column in range(size))
    return Lake(size, slip, tiles, tiles.index(START), tiles.index(GOAL), moves, names)


def draw(seed: int, size: int, frozen: float) -> tuple[str, ...]:
    """Draw a map, solvable or not: independent tiles, then a start and another cell as goal.

    Args:
        seed: Names the map.
        size: Cells along a side, >= 2.
        frozen: Probability that a tile is ice, in (0, 1].

    Returns:
        Rows as `parse` reads them.
    """
    cells = size * size
    noise = draws.uniforms(np.full(cells + 2, seed, dtype=np.uint64), np.arange(cells + 2))
    tiles = [ICE if u < frozen else HOLE for u in noise[2:]]
    start, goal = int(noise[0] * cells), int(noise[1] * (cells - 1))
    goal += goal >= start
    tiles[start], tiles[goal] = START, GOAL
    return tuple("".join(tiles[i : i + size]) for i in range(0, cells, size))


def shortest_path(lake: Lake) -> list[int] | None:
    """Find the directions of a shortest way from start to goal; None when there is no way."""
    came: dict[int, tuple[int, int]] = {}
    queue = deque([lake.start])
    while queue and lake.goal not in came:
        cell = queue.popleft()
        for direction, target in enumerate(lake.moves[cell]):
            if target not in came and target != lake.start and lake.tiles[target] != HOLE:
                came[target] = cell, direction
                queue.append(target)
    if lake.goal not in came:
        return None
    path, cell = [], lake.goal
    while cell != lake.start:
        cell, direction = came[cell]
        path.append(direction)
    return path[::-1]


def drift(seed: int, turn: int, slip: float) -> int:
    """Return the noise of a turn: the quarter turns, -1, 0 or 1, added to the direction said."""
    noise = draws.uniform(seed, turn)
    if noise >= slip:
        return 0
    return -1 if noise < slip / 2 else 1


def steer(path: Sequence[int], seed: int, slip: float) -> list[str]:
    """Say what takes each direction of a path although the ice is slippery.

    The noise of a turn is known from the seed, and it turns all four directions alike. So each
    neighbour can be reached in each turn, and the shortest way stays possible.
    """
    return [WORDS[(way - drift(seed, turn, slip)) % 4] for turn, way in enumerate(path)]


def startless(rows: tuple[str, ...]) -> tuple[str, ...]:
    """Return a map without its start: what lakes share that differ in nothing else."""
    return tuple(row.replace(START, ICE) for row in rows)
