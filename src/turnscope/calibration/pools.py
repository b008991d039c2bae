"""States in which base and a trained policy are compared, and what they do there, synthetically.

The rules are those of `turnscope.matched`, and its draws are used; only the states come from tables
of numbers rather than from an environment.

Shapes end in R (episodes), V (visited turns), M (states of a pool) and G (actions of a state).
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope.calibration import frames, players
from turnscope.calibration.frames import MODEL, Games, Visits, names, task_ids, visits
from turnscope.calibration.players import Places
from turnscope.calibration.worlds import ENV, TIE, Worlds
from turnscope.matched.injected import TRIED
from turnscope.matched.pool import QUARTERS, draw, quotas

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

ERRORS = names(["", "loss", "away", "loss away"])
SOURCES = names(["base", "trained"])


class Pool(NamedTuple):
    """States of both policies, error states made by hand behind the others."""

    at: Places
    errors_M: Ints
    """Place in `ERRORS`."""
    source_M: Ints
    """Place in `SOURCES`."""
    injected_M: Bools
    before_M: Floats
    """Quality of the best action before the last one; NaN in the first turn."""
    solved_M: Floats
    """Whether the episode that led there was solved, 0 or 1; NaN if an error was put in."""
    visits_M: Floats
    weight_M: Floats


def pool(
    games: Games, trained: int, states: int, per_task: int, injected: int, rng: np.random.Generator
) -> Pool:
    """Choose states of base and a trained policy.

    Args:
        games: Episodes of both.
        trained: Number of the trained policy.
        states: How many, at most; half from each.
        per_task: How many of a task, at most; half from each.
        injected: How many error states are made besides; half from each.
        rng: Chooses.
    """
    seen = [visits(games, games.of(player)) for player in (0, trained)]
    taken = [
        _taken(games, one, source, states // 2, per_task // 2, rng)
        for source, one in enumerate(seen)
    ]
    both = _stacked(taken)
    kept, probability = draw(frames.states(games.worlds, both.at), 1, rng)
    both = _of(both, kept)
    both = both._replace(weight_M=both.weight_M / probability)
    made = [_injected(games, one, source, injected // 2, rng) for source, one in enumerate(seen)]
    return _stacked([both, *made])


def actions(
    games: Games, trained: int, pool: Pool, number: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Return table `actions`: what both policies do in each state of a pool, `number` times."""
    place_R, actor_R, sample_R = _grid(len(pool.errors_M), number)
    at = Places(*(part[place_R] for part in pool.at))
    player_R = np.where(actor_R, trained, 0)
    chances = players.probabilities(games.worlds, games.skill_PWET, player_R, at)
    action_R = players.choose(chances, rng.random(len(player_R)))
    left_R = games.worlds.t_max - at.turn_R
    quality_R = games.worlds.quality_WHSA[at.world_R, left_R - 1, at.cell_R, action_R]
    columns = _prefix(games, trained, pool)
    frame = {name: column[place_R] for name, column in columns.items()}
    return pd.DataFrame(
        {
            **_who(games, trained),
            "actor": SOURCES[actor_R],
            "place": place_R,
            "sample": sample_R,
            **frame,
            "action": names(["left", "down", "right", "up"])[action_R],
            "valid": True,
            "quality": quality_R,
        }
    )


def continuations(
    games: Games, trained: int, pool: Pool, number: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Return table `continuations`: how both go on from error states that can still be solved."""
    worlds = games.worlds
    alive_M = worlds.value_WHS[pool.at.world_R, worlds.t_max - pool.at.turn_R, pool.at.cell_R] > 0
    errors_M = np.flatnonzero((pool.injected_M | (pool.errors_M > 0)) & alive_M)
    row_R, actor_R, sample_R = _grid(len(errors_M), number)
    place_R = errors_M[row_R]
    at = Places(*(part[place_R] for part in pool.at))
    played = players.play(worlds, games.skill_PWET, np.where(actor_R, trained, 0), at, rng)
    stop_R = names(["budget", "failure", "success"])[played.failure_R + 2 * played.success_R]
    columns = _prefix(games, trained, pool)
    shown = set(columns) - {"decisive", "visits", "weight"}
    return pd.DataFrame(
        {
            **_who(games, trained),
            "actor": SOURCES[actor_R],
            "place": place_R,
            "sample": sample_R,
            **{name: column[place_R] for name, column in columns.items() if name in shown},
            "solved": _maybe(pool.solved_M)[place_R],
            "success": played.success_R,
            "turns": played.turns_R,
            "stop": stop_R,
            "recovered": _recovered(worlds, at, played, pool.before_M[place_R]),
        }
    )


def _grid(states: int, number: int) -> tuple[Ints, Ints, Ints]:
    """Number the rows: state, who acts (1 is the trained policy) and sample, the last fastest."""
    place_R, actor_R, sample_R = (one.ravel() for one in np.indices((states, 2, number)))
    return place_R, actor_R, sample_R


def _who(games: Games, trained: int) -> dict[str, str]:
    return {"env": ENV, "model": MODEL, "policy": games.policies[trained]}


def _prefix(games: Games, trained: int, pool: Pool) -> dict[str, npt.NDArray[Any]]:
    worlds, at = games.worlds, pool.at
    left_M = worlds.t_max - at.turn_R
    quality_MA = worlds.quality_WHSA[at.world_R, left_M - 1, at.cell_R]
    return {
        "task_id": task_ids(worlds)[at.world_R],
        "source": SOURCES[pool.source_M],
        "turn": at.turn_R,
        "left": left_M,
        "errors": ERRORS[pool.errors_M],
        "injected": pool.injected_M,
        "best": quality_MA.max(axis=1),
        "before": pool.before_M,
        "decisive": np.ptp(quality_MA, axis=1) > TIE,
        "visits": pool.visits_M,
        "weight": pool.weight_M,
    }


def _maybe(solved_M: Floats) -> npt.NDArray[np.object_]:
    return np.where(np.isnan(solved_M), names([None]), names([False, True])[(solved_M == 1) * 1])


def _recovered(worlds: Worlds, at: Places, played: players.Played, before_R: Floats) -> Floats:
    """Count the actions until the best one is again worth what it was before; NaN if never."""
    step_T = np.arange(played.cell_RT.shape[1])
    left_RT = np.maximum(worlds.t_max - at.turn_R[:, None] - step_T, 0)
    value_RT = worlds.value_WHS[at.world_R[:, None], left_RT, played.cell_RT]
    back_RT = (value_RT >= before_R[:, None] - TIE) & (step_T < played.turns_R[:, None])
    never_R = np.where(played.success_R, played.turns_R, np.nan)
    return np.where(back_RT.any(axis=1), back_RT.argmax(axis=1), never_R)


def _taken(
    games: Games, seen: Visits, source: int, number: int, per_task: int, rng: np.random.Generator
) -> Pool:
    """Choose states of one policy: cell by cell, then task by task, then evenly over the cells."""
    state_V = frames.states(games.worlds, seen.at)
    kept_M = draw(state_V, 1, rng).chosen_M
    found = _states(games, seen, kept_M, source)
    found = found._replace(visits_M=np.bincount(state_V)[state_V[kept_M]].astype(float))
    cell_M = 2 * (found.at.turn_R * QUARTERS // games.worlds.t_max) + (found.errors_M > 0)
    groups = (
        (found.at.world_R * 2 * QUARTERS + cell_M, lambda _: 1),
        (found.at.world_R, lambda _: per_task),
        (cell_M, lambda code_M: quotas(np.bincount(code_M), number)),
    )
    kept_M, chance_M = np.arange(len(kept_M)), np.ones(len(kept_M))
    for group_M, most in groups:
        code_M = frames.numbered(group_M[kept_M])
        chosen_M, probability_M = draw(code_M, most(code_M), rng)
        kept_M, chance_M = kept_M[chosen_M], chance_M[chosen_M] * probability_M
    found = _of(found, kept_M)
    return found._replace(weight_M=found.visits_M / chance_M)


def _injected(
    games: Games, seen: Visits, source: int, number: int, rng: np.random.Generator
) -> Pool:
    """Put one error each into clean prefixes of one policy, at most one of a task."""
    worlds, t_max = games.worlds, games.worlds.t_max
    state_V = frames.states(worlds, seen.at)
    kept_M = draw(state_V, 1, rng).chosen_M
    kept_M = kept_M[seen.at.turn_R[kept_M] < t_max - 1]
    kept_M = kept_M[draw(frames.numbered(seen.at.world_R[kept_M]), TRIED, rng).chosen_M]
    kept_M = rng.permutation(kept_M)
    at = Places(*(part[kept_M] for part in seen.at))
    wrong_MA = ~worlds.best_WHSA[at.world_R, t_max - at.turn_R - 1, at.cell_R]
    share_MA = wrong_MA / np.maximum(wrong_MA.sum(axis=1, keepdims=True), 1)
    noise_2M = rng.random((2, len(kept_M)))
    error_M = players.choose(share_MA, noise_2M[0])
    there_M = players.moved(worlds, at, error_M, noise_2M[1])
    earlier_MT = np.arange(games.played.cell_RT.shape[1]) <= at.turn_R[:, None]
    clean_M = ~(games.played.error_RT[seen.row_V[kept_M]] * earlier_MT).any(axis=1)
    alive_M = worlds.value_WHS[at.world_R, t_max - at.turn_R - 1, there_M] > 0
    good_M = wrong_MA.any(axis=1) & clean_M & alive_M & ~worlds.ends_WS[at.world_R, there_M]
    good_M = np.flatnonzero(good_M)
    first_M = good_M[np.sort(np.unique(at.world_R[good_M], return_index=True)[1])][:number]
    loss_M, away_M = players.errors(worlds, at, error_M, there_M)
    met_M = loss_M + 2 * away_M
    size = len(first_M)
    return Pool(
        Places(
            at.world_R[first_M],
            at.turn_R[first_M] + 1,
            there_M[first_M],
            (met_M[first_M] > 0).astype(np.int64),
        ),
        met_M[first_M],
        np.full(size, source),
        np.full(size, True),
        worlds.value_WHS[at.world_R, t_max - at.turn_R, at.cell_R][first_M],
        *(np.full(size, np.nan) for _ in range(3)),
    )


def _states(games: Games, seen: Visits, which_M: Ints, source: int) -> Pool:
    """Say of visits what a pool says of its states; visits and weight are not known yet."""
    worlds = games.worlds
    at = Places(*(part[which_M] for part in seen.at))
    ahead_M = np.where(at.turn_R > 0, which_M - 1, which_M)
    last = Places(*(part[ahead_M] for part in seen.at))
    loss_M, away_M = players.errors(worlds, last, seen.action_V[ahead_M], at.cell_R)
    before_M = worlds.value_WHS[last.world_R, worlds.t_max - last.turn_R, last.cell_R]
    later_M, size = at.turn_R > 0, len(which_M)
    return Pool(
        at,
        (loss_M + 2 * away_M) * later_M,
        np.full(size, source),
        np.full(size, False),
        np.where(later_M, before_M, np.nan),
        games.played.success_R[seen.row_V[which_M]].astype(float),
        *(np.full(size, np.nan) for _ in range(2)),
    )


def _of(pool: Pool, which: Ints) -> Pool:
    parts: dict[str, Any] = {name: part[which] for name, part in _columns(pool).items()}
    return Pool(Places(*(part[which] for part in pool.at)), **parts)


def _stacked(pools: list[Pool]) -> Pool:
    columns = [_columns(pool) for pool in pools]
    parts: dict[str, Any] = {
        name: np.concatenate([one[name] for one in columns]) for name in columns[0]
    }
    at = Places(*(np.concatenate(part) for part in zip(*(one.at for one in pools), strict=True)))
    return Pool(at, **parts)


def _columns(pool: Pool) -> dict[str, npt.NDArray[Any]]:
    return {name: part for name, part in pool._asdict().items() if name != "at"}
