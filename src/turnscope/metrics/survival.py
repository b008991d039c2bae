"""Solving as a race against being lost: cumulative incidences and hazards, turn by turn.

From the blind episodes under the largest budget. Metrics, by policy and turn t (k is null):

- `cif_solved`: share of episodes solved within t turns; it is Pass@(1, t).
- `cif_failed`: share lost for good within t turns: failed, or out of tokens.
- `survival_naive`: what Kaplan-Meier gives for solving if being lost is taken for censoring. It
  says how many would be solved if nothing could be lost, and is above `cif_solved` for that alone.
- `hazard_solved`, `hazard_failed`: share solved or lost at turn t of those still going before it.
- `cif_failed_gap`, `survival_naive_gap`, `hazard_solved_gap`, `hazard_failed_gap`: minus base.

Without t, against base:

- `hazard_odds`, `hazard_odds_failed`: log-odds ratio of being solved or lost at a turn, the same at
  all turns, by a logit with a level for each turn (policies are pooled over tasks).
- `hazard_odds_within`, `hazard_odds_within_failed`: the same within one turn of one task (Mantel
  and Haenszel). A policy that solves the easy tasks early is left with hard ones, which lowers its
  pooled hazard at late turns although it is worse nowhere; this form is free of that.

Every task counts once: its episodes enter as shares. An arm is the mean over its training seeds.
Intervals are over tasks; every draw is fitted anew. Episodes in which the environment failed are
left out.

Source:
    See `turnscope.survival`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope import intervals, survival
from turnscope.arms import seeded
from turnscope.metrics import Settings
from turnscope.metrics._outcomes import BASE, Outcomes, Study, headline, read, test_tasks
from turnscope.metrics._rows import joined, pointwise, rows
from turnscope.metrics._series import Series, arms
from turnscope.metrics._visits import divided
from turnscope.survival import Counts
from turnscope.types import StopReason

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LOST = (StopReason.FAILURE, StopReason.TOKENS)
GAPS = ("cif_failed", "survival_naive", "hazard_solved", "hazard_failed")
ODDS = {"solved": "", "failed": "_failed"}


@dataclass(frozen=True)
class Ends:
    """How the episodes of one policy ended at each turn, as shares of those of the task."""

    policy: str
    seeds: int
    n_N: Ints
    """Episodes of each task that count, shape (N,)."""
    solved_NT: Floats
    failed_NT: Floats

    @property
    def risk_NT(self) -> Floats:
        """Share that is still going before each turn; 0 at tasks without episodes."""
        ended_TN = (self.solved_NT + self.failed_NT).T
        return survival.at_risk(ended_TN, (self.n_N > 0).astype(float)).T

    def counts(self, name: str) -> Counts:
        """Return what was solved, or what failed, by task; turns along the first axis."""
        return Counts(getattr(self, f"{name}_NT").T, self.risk_NT.T)

    def drawn(self, weights_BN: Floats) -> dict[str, Counts]:
        """Sum over the tasks of each draw, shape (T, B)."""
        both_NC = np.concatenate([self.solved_NT, self.failed_NT], axis=1)
        solved_TB, failed_TB = np.split(both_NC.T @ weights_BN.T, 2)
        risk_TB = survival.at_risk(solved_TB + failed_TB, weights_BN @ (self.n_N > 0))
        return {"solved": Counts(solved_TB, risk_TB), "failed": Counts(failed_TB, risk_TB)}


def estimate(tasks: pd.DataFrame, episodes: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Estimate incidences, hazards and odds of every policy and arm.

    Args:
        tasks: Rows of table `tasks`.
        episodes: Rows of table `episodes`, all policies of one environment and model.
        settings: Uses `draws` and `seed`.

    Returns:
        Rows of table `estimates`.

    Raises:
        ValueError: See `_outcomes.read`.
    """
    study = read(tasks, episodes, settings)
    # the first draw holds every task once: it is the estimate
    weights = np.concatenate([np.ones((1, len(study.units_N))), study.weights()])
    base, *others = ends(study, headline(episodes), list(test_tasks(tasks)["task_id"]))
    theirs = base.drawn(weights)
    parts = list(_levels(study, base, curves(theirs)))
    for one in others:
        mine = one.drawn(weights)
        parts += _levels(study, one, curves(mine))
        paired_N = (one.n_N > 0) & (base.n_N > 0)
        first, second = mine, theirs
        if not paired_N.all():
            first, second = (side.drawn(weights * paired_N) for side in (one, base))
        parts += _gaps(study, one, base, curves(first), curves(second))
        parts += _odds(study, one, base, first, second, weights)
    return joined(parts)


def ends(study: Study, episodes: pd.DataFrame, task_ids: list[str]) -> list[Ends]:
    """Count how the episodes of every policy ended, `base` first, and of every arm.

    Args:
        study: Counts the solved ones.
        episodes: Its blind episodes under the largest budget.
        task_ids: Its N tasks, in order.
    """
    lost = episodes.loc[episodes["stop"].isin(LOST)]
    single = {
        policy: _ends(policy, solves, lost.loc[lost["policy"] == policy], task_ids)
        for policy, solves in study.outcomes.items()
    }
    means = []
    for arm, members in arms(list(single)).items():
        parts = [single[name] for name in members]
        n_N = np.min([one.n_N for one in parts], axis=0)
        solved_NT, failed_NT = (
            np.mean([getattr(one, name) for one in parts], axis=0) * (n_N > 0)[:, None]
            for name in ("solved_NT", "failed_NT")
        )
        means.append(Ends(arm, len(parts), n_N, solved_NT, failed_NT))
    return [*single.values(), *means]


def _ends(policy: str, solves: Outcomes, lost: pd.DataFrame, task_ids: list[str]) -> Ends:
    n_N, c_NT = solves
    place = pd.Index(task_ids).get_indexer(pd.Index(lost["task_id"]))
    turn = np.clip(lost["turns"].to_numpy(np.int64), 1, c_NT.shape[1]) - 1
    cells = (place * c_NT.shape[1] + turn)[place >= 0]
    failed_NT = np.bincount(cells, minlength=c_NT.size).reshape(c_NT.shape)
    whole_N = np.maximum(n_N, 1)[:, None]
    solved_NT = np.diff(c_NT, axis=1, prepend=0)
    return Ends(policy, int(bool(seeded(policy))), n_N, solved_NT / whole_N, failed_NT / whole_N)


def curves(drawn: dict[str, Counts]) -> dict[str, Floats]:
    """Turn counts of `solved` and `failed` into incidences and hazards, shape (T, B)."""
    solved, failed = survival.hazard(drawn["solved"]), survival.hazard(drawn["failed"])
    return {
        "cif_solved": survival.incidence(solved, failed),
        "cif_failed": survival.incidence(failed, solved),
        "survival_naive": survival.incidence(solved),
        "hazard_solved": solved,
        "hazard_failed": failed,
    }


def _levels(study: Study, one: Ends, drawn: dict[str, Floats]) -> Iterator[pd.DataFrame]:
    cells = curves({name: one.counts(name) for name in ODDS})
    for name, draws_TB in drawn.items():
        x_NT = np.where((one.n_N > 0)[:, None], cells[name].T, np.nan)
        level = Series(one.policy, None, x_NT[:, None], one.n_N, one.seeds)
        columns = pointwise(level, draws_TB[None, :, 1:], share=True)
        columns |= {"value": draws_TB[None, :, 0]}
        yield rows(study, name, level, [None], study.turns, columns)


def _gaps(
    study: Study, one: Ends, base: Ends, mine: dict[str, Floats], theirs: dict[str, Floats]
) -> Iterator[pd.DataFrame]:
    risk_NT = np.minimum(one.risk_NT, base.risk_NT)
    for name in GAPS:
        seen_NT = risk_NT if name.startswith("hazard") else risk_NT[:, :1] + 0 * risk_NT
        yield _rows(
            study, f"{name}_gap", one, base, study.turns, seen_NT, mine[name] - theirs[name]
        )


def _odds(
    study: Study,
    one: Ends,
    base: Ends,
    mine: dict[str, Counts],
    theirs: dict[str, Counts],
    weights: Floats,
) -> Iterator[pd.DataFrame]:
    seen_NT = np.minimum(one.risk_NT, base.risk_NT)[:, :1]
    crossed = [survival.crossed(one.counts(name), base.counts(name)) for name in ODDS]
    up_BE, down_BE = (weights @ np.stack(side, axis=1) for side in zip(*crossed, strict=True))
    ratio_BE = divided(up_BE, down_BE)
    within_BE = np.log(ratio_BE, out=np.full(ratio_BE.shape, np.nan), where=ratio_BE > 0)
    for place, (name, suffix) in enumerate(ODDS.items()):
        found = {
            "hazard_odds": survival.log_odds(mine[name], theirs[name]),
            "hazard_odds_within": within_BE[:, place],
        }
        for metric, draws_B in found.items():
            yield _rows(study, metric + suffix, one, base, [None], seen_NT, draws_B[None])


def _rows(
    study: Study,
    metric: str,
    one: Ends,
    base: Ends,
    ts: Sequence[int | None],
    seen_NT: Floats,
    draws_TB: Floats,
) -> pd.DataFrame:
    """Write a difference to base; tasks count where both have episodes that are still going."""
    x_NT = np.where(seen_NT > intervals.NOISE, 0.0, np.nan)
    gap = Series(one.policy, BASE, x_NT[:, None], np.minimum(one.n_N, base.n_N), one.seeds)
    low, high = intervals.percentile(draws_TB[:, 1:])
    columns = {"value": draws_TB[None, :, 0], "low": low[None], "high": high[None]}
    return rows(study, metric, gap, [None], ts, columns)
