"""What every policy did at each evaluation during training, as sums that tasks can be drawn from.

A quality averaged over visited turns is a ratio: its sum over tasks by the number of turns. Both
are kept by task, so that a bootstrap sample of tasks draws both.

Shapes end in N (tasks), S (steps), Q (hidden states of a task), B (draws), R (rows of a table).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope.arms import seeded
from turnscope.metrics._series import arms

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Ratio(NamedTuple):
    """A mean, kept as sums and counts of each task and step."""

    total: Floats
    counted: Floats

    def mean(self) -> Floats:
        """Divide the sums over tasks, shape (S,); NaN where nothing was counted."""
        return divided(self.total.sum(axis=0), self.counted.sum(axis=0))

    def draws(self, weights_BN: Floats) -> Floats:
        """Draw `mean`, shape (S, B)."""
        return divided(self.total.T @ weights_BN.T, self.counted.T @ weights_BN.T)

    def of(self, keep: Bools) -> "Ratio":
        """Leave out what is not kept."""
        return Ratio(self.total * keep, self.counted * keep)


@dataclass(frozen=True)
class Visits:
    """What one policy did, or all training seeds of an arm together."""

    policy: str
    seeds: int
    """Training seeds that entered."""
    ratios: dict[str, Ratio]
    """By quantity of `turnscope.metrics.step_reward`, shape (N, S)."""
    cells: Ratio
    """Quality of the visited turns by hidden state before them, shape (N, S, Q)."""
    samples: dict[str, Ints]
    """By quantity: fewest episodes of a task at any step; of probes, actions, shape (N,)."""


def visits(rows: pd.DataFrame, task_ids: Sequence[str], steps: Sequence[int]) -> list[Visits]:
    """Sum up what every policy did, and every arm.

    Episodes in which the environment failed, and actions without a quality, are left out.

    Args:
        rows: Rows of table `progress`.
        task_ids: The N tasks that count, in order.
        steps: The S steps, in order.

    Returns:
        One for each policy, then one for each arm, with the sums over its seeds; a task does not
        count at steps where one of them has nothing there.
    """
    shape = len(task_ids), len(steps)
    rows = rows.loc[rows["task_id"].isin(task_ids)]
    task_R = pd.Index(list(task_ids)).get_indexer(pd.Index(rows["task_id"]))
    cell_R = task_R * len(steps) + pd.Index(list(steps)).get_indexer(pd.Index(rows["step"]))
    lean = rows[["place", "turn", "quality", "success"]].assign(
        own=rows["source"] == "policy", state=_numbered(task_R, rows["state_key"])
    )
    states = 1 + int(lean["state"].to_numpy().max(initial=0))
    single = {}
    for policy, found in sorted(rows.groupby("policy").indices.items()):
        single[policy] = _visits(str(policy), lean.iloc[found], cell_R[found], shape, states)
    pooled = [
        _pool(arm, [single[name] for name in members])
        for arm, members in arms(list(single)).items()
    ]
    return [*single.values(), *pooled]


def _numbered(task_R: Ints, state_keys: pd.Series) -> Ints:
    """Number the hidden states of each task from 0; equal keys of two tasks are two states."""
    pairs = pd.DataFrame({"task": task_R, "state": state_keys.to_numpy(object)})
    places = pairs.drop_duplicates().sort_values(["task", "state"])
    places = places.assign(number=places.groupby("task").cumcount())
    return pairs.merge(places, on=["task", "state"], how="left")["number"].to_numpy(np.int64)


def _visits(
    policy: str, rows: pd.DataFrame, cell_R: Ints, shape: tuple[int, int], states: int
) -> Visits:
    """Sum up the rows of one policy by cell, that is by task and step."""
    own = rows["own"].to_numpy(bool) & rows["success"].notna().to_numpy(bool)
    quality_R = rows["quality"].to_numpy(np.float64)
    solved_R = np.asarray(rows["success"].astype("boolean").fillna(False), np.float64)
    first, rated = rows["turn"].to_numpy(np.int64) == 0, ~np.isnan(quality_R)
    probed = ~rows["own"].to_numpy(bool) & rated
    state_R = states * cell_R + rows["state"].to_numpy(np.int64)
    episodes = _sums(cell_R, solved_R, own & first, shape)  # an episode has one first turn
    turns = _sums(cell_R, quality_R, own & rated, shape)
    played_N = _fewest(episodes.counted)
    ratios = {
        "r_multi": _by_task(episodes),
        "r_single": turns,
        "r_single_task": _by_task(turns),
        "r_single_first": _by_task(_sums(cell_R, quality_R, own & rated & first, shape)),
        "r_single_probe": _by_state(cell_R, rows["place"].to_numpy(), quality_R, probed, shape),
    }
    tried_N = _fewest(_sums(cell_R, quality_R, probed, shape).counted)
    return Visits(
        policy,
        int(bool(seeded(policy))),
        ratios,
        _sums(state_R, quality_R, own & rated, (*shape, states)),
        {name: tried_N if name == "r_single_probe" else played_N for name in ratios},
    )


def _sums(label_R: Ints, amount_R: Floats, keep_R: Bools, shape: tuple[int, ...]) -> Ratio:
    size = int(np.prod(shape))
    total = np.bincount(label_R[keep_R], amount_R[keep_R], size).astype(np.float64)
    counted = np.bincount(label_R[keep_R], minlength=size).astype(np.float64)
    return Ratio(total.reshape(shape), counted.reshape(shape))


def _by_task(one: Ratio) -> Ratio:
    """Let every task count once, by its own mean."""
    some = one.counted > 0
    return Ratio(np.where(some, divided(one.total, one.counted), 0.0), some.astype(np.float64))


def _by_state(
    cell_R: Ints, place_R: Ints, quality_R: Floats, keep_R: Bools, shape: tuple[int, int]
) -> Ratio:
    """Let every probe state count once, by the mean of its actions."""
    pairs = np.stack([cell_R[keep_R], place_R[keep_R]], axis=1)
    state_U, label = np.unique(pairs, axis=0, return_inverse=True)
    actions = _sums(label.ravel(), quality_R[keep_R], np.full(len(pairs), True), (len(state_U),))
    every = np.full(len(state_U), True)
    return _sums(state_U[:, 0], divided(actions.total, actions.counted), every, shape)


def _pool(arm: str, members: list[Visits]) -> Visits:
    ratios = {}
    for name in members[0].ratios:
        parts = [one.ratios[name] for one in members]
        ratios[name] = _added(parts).of(np.all([part.counted > 0 for part in parts], axis=0))
    cells = _added([one.cells for one in members]).of(ratios["r_single"].counted[..., None] > 0)
    samples = {
        name: np.min([one.samples[name] for one in members], axis=0) for name in members[0].samples
    }
    return Visits(arm, len(members), ratios, cells, samples)


def _added(parts: list[Ratio]) -> Ratio:
    return Ratio(*(np.sum(part, axis=0) for part in zip(*parts, strict=True)))


def _fewest(count_NS: Floats) -> Ints:
    least_N = np.where(count_NS > 0, count_NS, np.inf).min(axis=1, initial=np.inf)
    return np.where(np.isfinite(least_N), least_N, 0).astype(np.int64)


def divided(total: Floats, counted: Floats) -> Floats:
    """Divide; NaN where nothing was counted."""
    return np.divide(total, counted, out=np.full(total.shape, np.nan), where=counted > 0)
