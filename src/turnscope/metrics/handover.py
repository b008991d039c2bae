"""Where is value lost? The best possible policy takes over after d turns.

A policy plays d turns of each episode, and from then on a policy that is best for the turns left
does. What that achieves needs no play: it is the quality of the best action in the state after d
turns, which the tables hold. Before the first turn it is the structural bound, after T_max turns
the policy's own success; what lies between was lost turn by turn.

Metrics, by policy (k is null); only where the environment knows the quality of actions:

- `handover`, by t = d = 0, ..., T_max: success when the best policy takes over after t turns. An
  episode that ended before has its own outcome. Against `base` with the simultaneous band.
- `handover_loss`, by t = 1, ..., T_max: success lost in turn t, `handover` at t - 1 minus at t;
  against `base` as well. It is the mean over all episodes, ended ones too, so that the losses sum
  to the bound minus the policy's success.

Chance counts: it may lose what no action did. In the mean over episodes luck cancels, and the loss
of a turn is what its actions cost the best policy.

Source:
    Oracle interventions: LUMINA, arXiv:2601.16649.
    Differs: the value of what the oracle would do is exact, and needs no episodes of its own.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope.metrics import Settings, _played
from turnscope.metrics._outcomes import Study
from turnscope.metrics._played import Played
from turnscope.metrics._rows import (
    Sampled,
    banded,
    bootstrap,
    bootstrap_gap,
    joined,
    pointwise,
    rows,
)
from turnscope.metrics._series import Series

SOURCE = "turns"

Floats = npt.NDArray[np.float64]


def estimate(tasks: pd.DataFrame, turns: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Estimate the success after a hand-over at every turn, for every policy and arm.

    Args:
        tasks: Rows of table `tasks`.
        turns: Rows of table `turns`, of one environment and model.
        settings: Uses `draws` and `seed`.

    Returns:
        Rows of table `estimates`; none where no best action is known.

    Raises:
        ValueError: See `_played.read`.
    """
    if turns["best"].isna().all():
        return joined([])
    played = _played.read(tasks, turns, settings)
    if played is None:
        return joined([])
    weights = played.study.weights()
    levels = [
        Sampled(one, bootstrap(one, weights)) for one in _played.means(played, reached(played))
    ]
    parts = [*_level(played.study, levels[0])]
    for level in levels[1:]:
        parts += [*_level(played.study, level), *_gap(played.study, level, levels[0], weights)]
    return joined(parts)


def reached(played: Played) -> Floats:
    """Say of each episode what the best policy achieves from where it is after d turns.

    Returns:
        Success probabilities, shape (E, T_max + 1), d = 0, ..., T_max; NaN where unknown.
    """
    solved = played.episodes["success"].astype("Float64")
    solved_E = np.asarray(solved.to_numpy(float, na_value=np.nan), np.float64)
    value_ED = np.repeat(solved_E[:, None], played.study.t_max + 1, axis=1)
    value_ED[played.episode_R, played.turn_R] = played.rows["best"].to_numpy(np.float64)
    return value_ED


def _level(study: Study, level: Sampled) -> Iterator[pd.DataFrame]:
    one, draws_KTB = level
    columns = pointwise(one, draws_KTB, share=True)
    yield rows(study, "handover", one, [None], [0, *study.turns], columns)
    loss, drawn = _lost(one), -np.diff(draws_KTB, axis=1)
    yield rows(study, "handover_loss", loss, [None], study.turns, pointwise(loss, drawn))


def _gap(study: Study, level: Sampled, base: Sampled, weights: Floats) -> Iterator[pd.DataFrame]:
    gap = level.series.minus(base.series)
    drawn = bootstrap_gap(gap, level, base, weights)
    yield rows(study, "handover", gap, [None], [0, *study.turns], banded(gap, drawn))
    loss = _lost(gap)
    columns = pointwise(loss, -np.diff(drawn, axis=1))
    yield rows(study, "handover_loss", loss, [None], study.turns, columns)


def _lost(one: Series) -> Series:
    return one.replaced(-np.diff(one.x_NKT, axis=2))
