"""Exact success probabilities with a finite number of turns left, by dynamic programming."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from turnscope.environments.frozen_lake.lake import Lake, parse

Floats = npt.NDArray[np.float64]
TIE = 1e-9
"""Success probabilities closer than this are equal."""


def backup(next_NS: Floats, moves_NSA: npt.NDArray[np.int64], slip: float) -> Floats:
    """Average what a value is worth over where each action may lead.

    Args:
        next_NS: Value of each cell after the move, for each of N maps, shape (N, S).
        moves_NSA: Cell reached in each direction, shape (N, S, 4).
        slip: Total probability of a perpendicular move, in [0, 1].

    Returns:
        Expected value of each action in each cell, shape (N, S, 4).
    """
    flat_NM = moves_NSA.reshape(len(moves_NSA), -1)
    ahead_NSA = np.take_along_axis(next_NS, flat_NM, axis=1).reshape(moves_NSA.shape)
    aside_NSA = np.roll(ahead_NSA, 1, axis=2) + np.roll(ahead_NSA, -1, axis=2)
    return (1 - slip) * ahead_NSA + slip / 2 * aside_NSA


def q_values_of_maps(maps: Sequence[Sequence[str]], slip: float, horizon: int) -> Floats:
    """Compute `q_values` of N maps of one size at once.

    Args:
        maps: Rows of each map.
        slip: Total probability of a perpendicular move, in [0, 1].
        horizon: Most turns left, >= 1.

    Returns:
        Shape (N, horizon, S, 4).

    Raises:
        ValueError: The maps differ in size.
    """
    lakes = [parse(tuple(rows), slip) for rows in maps]
    sizes = sorted({lake.size for lake in lakes})
    if len(sizes) != 1:
        raise ValueError(f"maps must be of one size; these have sizes {sizes}")
    moves_NSA = np.array([lake.moves for lake in lakes])
    number_N, goal_N = np.arange(len(lakes)), [lake.goal for lake in lakes]
    value_NS = np.zeros(moves_NSA.shape[:2])
    q_NHSA = np.empty((len(lakes), horizon, *moves_NSA.shape[1:]))
    for h in range(horizon):
        value_NS[number_N, goal_N] = 1.0
        # Rounding must not make a probability exceed 1.
        q_NHSA[:, h] = np.minimum(backup(value_NS, moves_NSA, slip), 1.0)
        value_NS = q_NHSA[:, h].max(axis=2)
    return q_NHSA


def q_values(rows: Sequence[str], slip: float, horizon: int) -> Floats:
    """Compute the success probability of each action, followed by optimal ones.

    Args:
        rows: Map as `turnscope.environments.frozen_lake.lake.parse` reads it.
        slip: Total probability of a perpendicular move, in [0, 1].
        horizon: Most turns left, >= 1.

    Returns:
        Shape (horizon, S, 4): with h turns left the row is h - 1; cells in reading order; actions
        in the order left, down, right, up. Success counts at the turn the goal is reached. Actions
        on the goal are worth 1 and in a hole 0: nothing moves there.

    Source:
        Backward induction, Puterman 1994, "Markov Decision Processes", section 4.5, for the
        undiscounted probability of reaching the goal in time.
    """
    return q_values_of_maps([rows], slip, horizon)[0]


@lru_cache(maxsize=1024)
def _table(lake: Lake, horizon: int) -> Floats:
    rows = [lake.tiles[i : i + lake.size] for i in range(0, len(lake.tiles), lake.size)]
    return q_values(rows, lake.slip, horizon)


def action_values(lake: Lake, cell: int, turns_left: int) -> Floats:
    """Look `q_values` of one cell up.

    Args:
        lake: Where.
        cell: Number of the cell.
        turns_left: Turns of the budget not yet used, >= 1.

    Returns:
        Success probability of each action, shape (4,).

    Raises:
        ValueError: No turn is left.
    """
    if turns_left < 1:
        raise ValueError(f"turns_left is {turns_left}; an action needs at least 1")
    # The table of a longer horizon contains the shorter ones, so few lengths are ever computed.
    horizon = max(32, 1 << (turns_left - 1).bit_length())
    return _table(lake, horizon)[turns_left - 1, cell]


def success_bound(rows: Sequence[str], slip: float, turns: int) -> list[float]:
    """Compute the highest success probability from the start within T = 1, ..., `turns` turns.

    A policy that remembers cannot beat this, for the lake is a Markov decision process and its
    map is shown.
    """
    start = parse(tuple(rows), slip).start
    return q_values(rows, slip, turns)[:, start].max(axis=1).tolist()
