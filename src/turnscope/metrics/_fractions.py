"""Means over states, kept as sums by task, so that a bootstrap sample of tasks draws whole ones.

Shapes end in S (states), N (tasks), C (cells), B (draws).
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope import intervals
from turnscope.metrics._outcomes import BASE, Study
from turnscope.metrics._rows import COLUMNS
from turnscope.metrics._visits import divided

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LOST = 0.05
"""An interval needs a value in all but this share of the draws."""


class Fraction(NamedTuple):
    """A quantity over states: its sum over states divided by another."""

    over_S: Floats
    under_S: Floats


def each(x_S: Floats) -> Fraction:
    """Count every state that has a value alike."""
    known = ~np.isnan(x_S)
    return Fraction(np.where(known, x_S, 0.0), known.astype(float))


class Cell(NamedTuple):
    """What a row of the estimates says, apart from its numbers."""

    metric: str
    part: str
    t: int | None = None


class Block(NamedTuple):
    """Estimates of C cells."""

    cells: Sequence[Cell]
    value: Floats
    """Shape (C,)."""
    draws: Floats
    """Bootstrap draws of the value, shape (C, B)."""
    tasks: Ints
    """Tasks that entered, shape (C,)."""
    samples: Ints
    """Fewest actions of a policy in a state that entered, shape (C,)."""

    def find(self, metric: str) -> dict[str, int]:
        """Return where the cells of a metric without t are, by part."""
        found = enumerate(self.cells)
        return {one.part: i for i, one in found if one.metric == metric and one.t is None}

    def derived(
        self, cells: Sequence[Cell], value: Floats, draws: Floats, places: Sequence[int]
    ) -> "Block":
        """Return other estimates of what entered some of the cells."""
        return Block(cells, value, draws, self.tasks[list(places)], self.samples[list(places)])


def estimated(
    cells: Sequence[Cell],
    fractions: Sequence[Fraction],
    task_S: Ints,
    samples_S: Ints,
    weights_BN: Floats,
) -> Block:
    """Estimate fractions over states.

    Args:
        cells: What each of them is.
        fractions: The fractions, C of them.
        task_S: Place of each state's task.
        samples_S: Actions of a policy in each state.
        weights_BN: Bootstrap samples of tasks.
    """
    size = weights_BN.shape[1]
    over_SC, under_SC = (np.stack(part, axis=1) for part in zip(*fractions, strict=True))
    over_NC, under_NC = by_task(over_SC, task_S, size), by_task(under_SC, task_S, size)
    # cells of one part count the same states
    distinct_ND, which_C = np.unique(under_NC, axis=1, return_inverse=True)
    under_CB = (distinct_ND.T @ weights_BN.T)[which_C.ravel()]
    most = np.iinfo(np.int64).max
    return Block(
        cells,
        divided(over_NC.sum(axis=0), under_NC.sum(axis=0)),
        divided(over_NC.T @ weights_BN.T, under_CB),
        (under_NC > 0).sum(axis=0),
        np.where(under_SC > 0, samples_S[:, None], most).min(axis=0),
    )


def by_task(amount_SC: Floats, task_S: Ints, tasks: int) -> Floats:
    """Sum over the states of each task, shape (N, C)."""
    member_NS = (np.arange(tasks)[:, None] == task_S).astype(float)
    return member_NS @ amount_SC


def rows(study: Study, who: tuple[str, int], block: Block, shares: Collection[str]) -> pd.DataFrame:
    """Lay estimates out as rows of table `estimates`, against base; without those undefined.

    Args:
        study: Names the environment and the model.
        who: Policy, and its number of training seeds.
        block: What was estimated.
        shares: Metrics that are probabilities. Where all states have 0, or all have 1, no draw
            differs; the interval is then Wilson's for that many tasks.
    """
    low_C, high_C = _ends(block, shares)
    metrics, parts, ts = zip(*block.cells, strict=True)
    none = np.full(len(metrics), np.nan)
    frame = pd.DataFrame(
        {
            "metric": metrics,
            "env": study.env,
            "model": study.model,
            "policy": who[0],
            "against": BASE,
            "part": parts,
            "k": pd.array([None] * len(metrics), dtype="Int32"),
            "t": pd.array(ts, dtype="Int32"),
            **dict.fromkeys(COLUMNS, none),
            "value": block.value,
            "low": low_C,
            "high": high_C,
            "tasks": block.tasks.astype(np.int32),
            "samples": block.samples.astype(np.int32),
            "seeds": np.int32(who[1]),
        }
    )
    return frame.loc[frame["value"].notna(), :]


def _ends(block: Block, shares: Collection[str]) -> tuple[Floats, Floats]:
    """Return the ends of the 95% percentile intervals.

    Draws in which a cell has no task are left out if they are few; else there is no interval, and
    none where only one task has a value.
    """
    low_C, high_C = intervals.percentile(block.draws)
    lost_C = np.isnan(block.draws).mean(axis=1)
    for cell in np.flatnonzero((lost_C > 0) & (lost_C <= LOST)):
        draws_B = block.draws[cell]
        low_C[cell], high_C[cell] = np.quantile(draws_B[~np.isnan(draws_B)], [0.025, 0.975])
    low_C[block.tasks < 2] = high_C[block.tasks < 2] = np.nan
    edge_C = np.minimum(np.abs(block.value), np.abs(1 - block.value)) <= intervals.NOISE
    for cell in np.flatnonzero(edge_C & (block.tasks > 0)):
        if block.cells[int(cell)].metric in shares:
            tasks = int(block.tasks[cell])
            solved = round(float(block.value[cell])) * tasks
            low_C[cell], high_C[cell] = intervals.wilson(solved, tasks)
    return low_C, high_C
