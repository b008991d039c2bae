"""Synthetic episodes as the tables that metrics read.

Shapes end in R (episodes), T (turns) and V (visited turns).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope.calibration import players
from turnscope.calibration.players import Places, Played
from turnscope.calibration.worlds import ENV, Worlds

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Strings = npt.NDArray[np.object_]

MODEL = "synthetic"
NUCLEUS = 0.95
"""Base's likeliest actions have this probability together."""


class Games(NamedTuple):
    """Episodes of all policies from the start of each task: policy by policy, task by task."""

    worlds: Worlds
    policies: Sequence[str]
    skill_PWET: Floats
    player_R: Ints
    world_R: Ints
    sample_R: Ints
    played: Played

    def of(self, player: int) -> Ints:
        """Return the episodes of a policy."""
        return np.flatnonzero(self.player_R == player)


class Visits(NamedTuple):
    """Turns of some episodes, in order."""

    row_V: Ints
    """Number of the episode."""
    at: Places
    action_V: Ints


def games(
    worlds: Worlds,
    policies: Sequence[str],
    skill_PWET: Floats,
    episodes: int,
    rng: np.random.Generator,
) -> Games:
    """Play equally many episodes of every policy at every task."""
    shape = len(policies), len(worlds.start_W), episodes
    player_R, world_R, sample_R = (grid.ravel() for grid in np.indices(shape))
    nothing_R = np.zeros_like(world_R)
    at = Places(world_R, nothing_R, worlds.start_W[world_R], nothing_R)
    played = players.play(worlds, skill_PWET, player_R, at, rng)
    return Games(worlds, policies, skill_PWET, player_R, world_R, sample_R, played)


def visits(games: Games, row_R: Ints) -> Visits:
    """List the turns of some episodes."""
    played = games.played
    going_RT = np.arange(played.cell_RT.shape[1]) < played.turns_R[row_R, None]
    which_V, turn_V = np.nonzero(going_RT)
    row_V = row_R[which_V]
    at = Places(
        games.world_R[row_V], turn_V, played.cell_RT[row_V, turn_V], played.error_RT[row_V, turn_V]
    )
    return Visits(row_V, at, played.action_RT[row_V, turn_V])


def states(worlds: Worlds, at: Places) -> Ints:
    """Number the different states of some visits: task, turns left and cell."""
    cells = worlds.away_WS.shape[1]
    return numbered((at.world_R * worlds.t_max + at.turn_R) * cells + at.cell_R)


def numbered(key_N: Ints) -> Ints:
    """Number the groups of equal keys from 0."""
    return np.unique(key_N, return_inverse=True)[1]


def task_ids(worlds: Worlds) -> Strings:
    """Return the names of the tasks."""
    return worlds.tasks["task_id"].to_numpy(object)


def names(values: Sequence[Any]) -> Strings:
    """Return texts, or what else there may be, as an array that numbers can pick from."""
    return np.array(values, object)


def episodes(games: Games, budget: int) -> pd.DataFrame:
    """Return table `episodes`; under a smaller budget than T_max, the episodes are cut."""
    played, policy = games.played, names(games.policies)
    turns_R = np.minimum(played.turns_R, budget)
    within_R = played.turns_R <= budget
    success_R, failure_R = played.success_R & within_R, played.failure_R & within_R
    stop_R = names(["budget", "failure", "success"])[failure_R + 2 * success_R]
    return pd.DataFrame(
        {
            "env": ENV,
            "model": MODEL,
            "policy": policy[games.player_R],
            "task_id": task_ids(games.worlds)[games.world_R],
            "sample": games.sample_R,
            "budget": budget,
            "told": False,
            "temperature": 1.0,
            "turns": turns_R,
            "tokens": turns_R,
            "invalid": 0,
            "success": success_R,
            "stop": stop_R,
        }
    )


def graded(worlds: Worlds, at: Places, action_V: Ints) -> dict[str, Any]:
    """Return the columns that say in which state an action was taken, and how good it was."""
    left_V = worlds.t_max - at.turn_R
    return {
        "task_id": task_ids(worlds)[at.world_R],
        "state_key": at.cell_R.astype(str).astype(object),
        "turn": at.turn_R,
        "left": left_V,
        "quality": worlds.quality_WHSA[at.world_R, left_V - 1, at.cell_R, action_V],
    }


def likelihood(games: Games, trained: int, scored: int) -> pd.DataFrame:
    """Return table `likelihood` of base and a trained policy, whose probabilities are known.

    Args:
        games: Episodes.
        trained: Number of the trained policy.
        scored: Episodes of each task and policy.
    """
    actors = {"base": 0, "trained": trained}
    first = {
        actor: games.of(player)[games.sample_R[games.of(player)] < scored]
        for actor, player in actors.items()
    }
    seen = {actor: visits(games, row_R) for actor, row_R in first.items()}
    return pd.concat([_scored(games, trained, actor, one) for actor, one in seen.items()])


def _scored(games: Games, trained: int, actor: str, seen: Visits) -> pd.DataFrame:
    turn_V = np.arange(len(seen.row_V))
    base_VA, trained_VA = (
        players.probabilities(games.worlds, games.skill_PWET, np.full(len(turn_V), player), seen.at)
        for player in (0, trained)
    )
    logp_base, logp_trained = (np.log(p[turn_V, seen.action_V]) for p in (base_VA, trained_VA))
    own = logp_base if actor == "base" else logp_trained
    return pd.DataFrame(
        {
            "env": ENV,
            "model": MODEL,
            "policy": games.policies[trained],
            "actor": actor,
            "task_id": task_ids(games.worlds)[seen.at.world_R],
            "sample": games.sample_R[seen.row_V],
            "turn": seen.at.turn_R,
            "turns": games.played.turns_R[seen.row_V],
            "success": games.played.success_R[seen.row_V],
            "tokens": 1,
            "logp_base": logp_base,
            "logp_trained": logp_trained,
            "logp_sampled": own,
            "logp_again": own,
            "entropy_base": _entropy(base_VA),
            "entropy_trained": _entropy(trained_VA),
            "outside": (~_likeliest(base_VA)[turn_V, seen.action_V]).astype(np.int64),
        }
    )


def _entropy(p_VA: Floats) -> Floats:
    return -(p_VA * np.log(p_VA)).sum(axis=1)


def _likeliest(p_VA: Floats) -> Bools:
    """Say which actions are needed to reach the probability `NUCLEUS`, likeliest first."""
    order_VA = np.argsort(-p_VA, axis=1, kind="stable")
    sorted_VA = np.take_along_axis(p_VA, order_VA, axis=1)
    needed_VA = sorted_VA.cumsum(axis=1) - sorted_VA < NUCLEUS
    inside_VA = np.empty_like(needed_VA)
    np.put_along_axis(inside_VA, order_VA, needed_VA, axis=1)
    return inside_VA
