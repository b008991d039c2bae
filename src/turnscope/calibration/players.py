"""Synthetic policies on exact lakes: how they play, and how often that succeeds, exactly.

A player takes one of the best actions with a probability that is its skill at this task; else each
action is equally likely. Its skill may depend on the turn and on whether the last action was an
error. It never sees the budget that an episode is played under: it acts as if all T_max turns were
to come, so its episodes may be cut.

An error is one of the two that the environment defines: the last action gave away success
probability (`loss`), or the fewest moves to the goal went up (`away`).

Shapes end in W (worlds), P (players), E (0, or 1 after an error), T (turns), S (cells), A (actions)
and R (rows: episodes played side by side).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from turnscope.calibration.worlds import SLIP, TIE, Worlds
from turnscope.environments.frozen_lake.grading import LOSS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

DRIFTS = ((0, 1 - SLIP), (-1, SLIP / 2), (1, SLIP / 2))
"""Quarter turns that the ice adds to an action, and their probabilities."""


class Places(NamedTuple):
    """Where each row stands before an action."""

    world_R: Ints
    turn_R: Ints
    cell_R: Ints
    error_R: Ints
    """Whether the action before was an error, 0 or 1."""


class Played(NamedTuple):
    """Episodes from given places; column j is the j-th action after it."""

    cell_RT: Ints
    """Cell before each action; the last one is repeated when the episode is over."""
    error_RT: Ints
    """Whether the action before was an error, 0 or 1."""
    action_RT: Ints
    turns_R: Ints
    """Actions taken."""
    success_R: Bools
    failure_R: Bools
    """Whether a hole ended it."""


def probabilities(worlds: Worlds, skill_PWET: Floats, player_R: Ints, at: Places) -> Floats:
    """Return the probability of each action, shape (R, A)."""
    best_RA = worlds.best_WHSA[at.world_R, worlds.t_max - at.turn_R - 1, at.cell_R]
    skill_R = skill_PWET[player_R, at.world_R, at.error_R, at.turn_R]
    return skill_R[:, None] * best_RA / best_RA.sum(axis=1, keepdims=True) + (
        (1 - skill_R[:, None]) / best_RA.shape[1]
    )


def choose(probability_RA: Floats, noise_R: Floats) -> Ints:
    """Choose an action of each row by a number that is uniform on [0, 1)."""
    chosen_R = (noise_R[:, None] >= probability_RA.cumsum(axis=1)).sum(axis=1)
    return np.minimum(chosen_R, probability_RA.shape[1] - 1)


def errors(worlds: Worlds, at: Places, action_R: Ints, there_R: Ints) -> tuple[Bools, Bools]:
    """Say which actions were errors, `loss` and `away`, given the cells that they led to.

    Source:
        `turnscope.environments.frozen_lake.grading`, with which the tests compare it.
    """
    left_R = worlds.t_max - at.turn_R
    value_R = worlds.value_WHS[at.world_R, left_R, at.cell_R]
    given_R = value_R - worlds.quality_WHSA[at.world_R, left_R - 1, at.cell_R, action_R]
    alive_R = worlds.value_WHS[at.world_R, left_R - 1, there_R] > 0
    loss_R = (given_R >= LOSS - TIE) & alive_R
    away_R = worlds.away_WS[at.world_R, there_R] > worlds.away_WS[at.world_R, at.cell_R]
    return loss_R, away_R


def play(
    worlds: Worlds,
    skill_PWET: Floats,
    player_R: Ints,
    at: Places,
    rng: np.random.Generator,
) -> Played:
    """Play from each place until the goal, a hole or T_max.

    Args:
        worlds: Where.
        skill_PWET: Skills of the players.
        player_R: Who plays.
        at: From where.
        rng: Noise of the players and of the ice.
    """
    rows, length = len(player_R), worlds.t_max - int(at.turn_R.min(initial=worlds.t_max))
    cell_RT, error_RT, action_RT = (np.zeros((rows, length), np.int64) for _ in range(3))
    _, turn_R, cell_R, error_R = (part.copy() for part in at)
    turns_R = np.zeros(rows, np.int64)
    going = np.flatnonzero(turn_R < worlds.t_max)
    for step in range(length):
        cell_RT[:, step], error_RT[:, step] = cell_R, error_R
        here = Places(at.world_R[going], turn_R[going], cell_R[going], error_R[going])
        chances = probabilities(worlds, skill_PWET, player_R[going], here)
        noise = rng.random((2, len(going)))
        action = choose(chances, noise[0])
        there = moved(worlds, here, action, noise[1])
        action_RT[going, step] = action
        error_R[going] = np.logical_or(*errors(worlds, here, action, there))
        cell_R[going] = there
        turn_R[going] += 1
        turns_R[going] += 1
        open_ = ~worlds.ends_WS[here.world_R, there] & (turn_R[going] < worlds.t_max)
        going = going[open_]
    success_R = cell_R == worlds.goal_W[at.world_R]
    failure_R = worlds.ends_WS[at.world_R, cell_R] & ~success_R
    return Played(cell_RT, error_RT, action_RT, turns_R, success_R, failure_R)


def moved(worlds: Worlds, at: Places, action_R: Ints, noise_R: Floats) -> Ints:
    """Return the cell that each action leads to on slippery ice."""
    drift_R = np.where(noise_R < SLIP / 2, -1, np.where(noise_R < SLIP, 1, 0))
    return worlds.moves_WSA[at.world_R, at.cell_R, (action_R + drift_R) % 4]


def solved(worlds: Worlds, skill_WET: Floats) -> Floats:
    """Compute the probability that an episode is solved within T = 1, ..., T_max turns, (W, T)."""
    count, cells, _ = worlds.moves_WSA.shape
    mass_WES = np.zeros((count, 2, cells))
    mass_WES[np.arange(count), 0, worlds.start_W] = 1.0
    world, error, cell = (grid.ravel() for grid in np.indices(mass_WES.shape))
    solved_WT = np.empty((count, worlds.t_max))
    for turn in range(worlds.t_max):
        at = Places(world, np.full(len(world), turn), cell, error)
        chance_RA = probabilities(worlds, skill_WET[None], np.zeros_like(world), at)
        after = np.zeros_like(mass_WES)
        here_R = mass_WES.ravel()
        open_R = ~worlds.ends_WS[world, cell]
        np.add.at(after, (world[~open_R], 0, cell[~open_R]), here_R[~open_R])
        some = np.flatnonzero(open_R & (here_R > 0))
        at = Places(*(part[some] for part in at))
        for action in range(4):
            action_R = np.full(len(some), action)
            for drift, share in DRIFTS:
                there = worlds.moves_WSA[at.world_R, at.cell_R, (action + drift) % 4]
                erred = np.logical_or(*errors(worlds, at, action_R, there)).astype(np.int64)
                flow = here_R[some] * chance_RA[some, action] * share
                np.add.at(after, (at.world_R, erred, there), flow)
        mass_WES = after
        solved_WT[:, turn] = mass_WES[np.arange(count), :, worlds.goal_W].sum(axis=1)
    return solved_WT
