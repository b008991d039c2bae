"""Synthetic evaluations during training, as table `progress`: before the first step and after one.

Shapes end in V (turns) and M (probe states).
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from turnscope.calibration import frames, players
from turnscope.calibration.frames import MODEL, Games
from turnscope.calibration.players import Places
from turnscope.calibration.worlds import ENV
from turnscope.matched.pool import draw

EPISODES, ACTIONS = 6, 6
"""Episodes of a task and actions in a probe state."""
SOUGHT = 4
"""Episodes of base at each task in which probe states are sought."""


def progress(
    games: Games, trained: Sequence[int], tasks: int, states: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Return table `progress`: base at step 0 and the policies at step 1.

    Args:
        games: Where, and the skills of all policies.
        trained: Numbers of the policies that are examined.
        tasks: How many of the tasks.
        states: Probe states, at most.
        rng: Plays and chooses.
    """
    sitting = [0, *trained]
    some = games.worlds.chosen(np.arange(min(tasks, len(games.worlds.start_W))))
    skill_PWET = games.skill_PWET[sitting, : len(some.start_W)]
    names = [games.policies[player] for player in sitting]
    own = frames.games(some, names, skill_PWET, EPISODES, rng)
    probes = _probes(frames.games(some, names[:1], skill_PWET, SOUGHT, rng), states, rng)
    exams = [
        pd.concat([_own(own, player), _probed(own, player, probes, rng)])
        for player in range(len(sitting))
    ]
    # All policies were base before training, so they share what base did.
    pairs = zip(names[1:], exams[1:], strict=True)
    return pd.concat(
        [
            exam.assign(env=ENV, model=MODEL, policy=name, step=step)
            for name, last in pairs
            for step, exam in enumerate((exams[0], last))
        ],
        ignore_index=True,
    )


def _own(games: Games, player: int) -> pd.DataFrame:
    seen = frames.visits(games, games.of(player))
    solved_V = games.played.success_R[seen.row_V]
    return pd.DataFrame(
        {
            "source": "policy",
            "place": games.sample_R[seen.row_V],
            **frames.graded(games.worlds, seen.at, seen.action_V),
            "success": pd.array(solved_V, "boolean"),
        }
    )


def _probes(games: Games, states: int, rng: np.random.Generator) -> Places:
    """Choose different states that base came to."""
    at = frames.visits(games, games.of(0)).at
    different_M = draw(frames.states(games.worlds, at), 1, rng).chosen_M
    chosen_M = np.sort(rng.permutation(different_M)[:states])
    return Places(*(part[chosen_M] for part in at))


def _probed(games: Games, player: int, probes: Places, rng: np.random.Generator) -> pd.DataFrame:
    place_V = np.repeat(np.arange(len(probes.cell_R)), ACTIONS)
    at = Places(*(part[place_V] for part in probes))
    chances = players.probabilities(
        games.worlds, games.skill_PWET, np.full(len(place_V), player), at
    )
    action_V = players.choose(chances, rng.random(len(place_V)))
    return pd.DataFrame(
        {
            "source": "probe",
            "place": place_V,
            **frames.graded(games.worlds, at, action_V),
            "success": pd.array([None] * len(place_V), "boolean"),
        }
    )
