"""R_multi and R_single along training: success of episodes, and quality of single actions.

Both are taken at evaluations during training. Column `t` holds the optimiser step, 0 being base.

Metrics, by policy and step (k is null):

- `r_multi`: success of the policy's own episodes, the mean over tasks of each task's mean.
- `r_single`: quality of the actions on these episodes, every visited turn alike.
- `r_single_task`: the same, every task alike; `r_single_first`: of first turns only.
- `r_single_probe`: quality of the actions in fixed states of base's episodes, every state alike.
- `r_multi_change`, `r_single_change` and so on: step t minus step 0, paired by task, against base.
- `r_single_composition`, `r_single_within`: two parts whose sum is `r_single_change`. Cells are a
  task and a hidden state of it. Within cells, quality changes at the mean of both shares of visits;
  composition is the rest: shares of visits change, and cells come or go.

The split is not free of what it leaves out. The best action, and its quality, may depend on the
turns left, which within a cell may differ between the two steps; and in a state that only one of
them visits, better actions are composition. `r_single_probe` alone is free of both.

Better agents end early where it is easy, so most turns that are left lie where it is hard:
`r_single` can fall, `r_multi` rise, and no action be worse. Composition then is all of the change.

An arm pools the turns of its training seeds. Steps that not all of them reached are left out.
Column `samples` counts the episodes of a task; of probe states, their actions. Without a step
quality, there is `r_multi` alone.

Source:
    Split: Kitagawa 1955, "Components of a difference between two rates"; Oaxaca 1973.
    Differs: rates are mean qualities, and cells that one side never visits go to composition.
    Ratios over resampled clusters: Davison and Hinkley 1997, chapter 2.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope import intervals
from turnscope.metrics import Settings
from turnscope.metrics._outcomes import BASE, Study, visited, without_outcomes
from turnscope.metrics._rows import joined, pointwise, rows
from turnscope.metrics._series import Series
from turnscope.metrics._visits import Ratio, Visits, divided, visits

SOURCE = "progress"

Floats = npt.NDArray[np.float64]


class Split(NamedTuple):
    """The change since step 0 and its two parts; the last axis is that of the steps or draws."""

    change: Floats
    composition: Floats
    within: Floats


def estimate(tasks: pd.DataFrame, progress: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Estimate R_multi and R_single of every policy and arm, and their changes since base.

    Args:
        tasks: Rows of table `tasks`.
        progress: Rows of table `progress`, all policies of one environment and model.
        settings: Uses `draws` and `seed`.

    Returns:
        Rows of table `estimates`; none if nothing was trained.

    Raises:
        ValueError: The rows are of several environments or models.
    """
    test = visited(tasks, progress)
    if test.empty:
        return joined([])
    steps = sorted(progress["step"].unique().tolist())
    t_max = int((progress["turn"] + progress["left"]).to_numpy().max())
    study = without_outcomes(test, progress, settings, t_max)
    weights = study.weights()
    return joined(
        part
        for one in visits(progress, list(test["task_id"]), steps)
        for part in _policy(study, one, steps, weights)
    )


def _policy(study: Study, one: Visits, steps: list[int], weights: Floats) -> Iterator[pd.DataFrame]:
    for name, ratio in one.ratios.items():
        level = _series(one, name, ratio, None)
        draws_SB = ratio.draws(weights)
        columns = _columns(ratio.mean(), draws_SB)
        if name == "r_multi":  # a probability, of which every task has one
            columns = pointwise(level, draws_SB[None], share=True)
        yield from _lines(study, name, level, steps, columns)
        if steps[0] == 0:
            both = (ratio.counted > 0) & (ratio.counted[:, :1] > 0)
            gap = _series(one, name, ratio.of(both), BASE)
            later, base = ratio.of(both), Ratio(*(part[:, :1] for part in ratio)).of(both)
            columns = _columns(
                later.mean() - base.mean(), later.draws(weights) - base.draws(weights)
            )
            yield from _lines(study, f"{name}_change", gap, steps, columns)
            if name == "r_single":
                value, draws = split(one.cells), split(one.cells, weights)
                for part in ("composition", "within"):
                    columns = _columns(getattr(value, part), getattr(draws, part))
                    yield from _lines(study, f"{name}_{part}", gap, steps, columns)


def split(cells: Ratio, weights_BN: Floats | None = None) -> Split:
    """Split the change of a mean quality since the first step.

    Args:
        cells: Quality of visited turns, shape (N, S, Q).
        weights_BN: Bootstrap samples of tasks; the tasks as they are by default.

    Returns:
        Parts of shape (S,), or (S, B) with weights.
    """
    paired = (cells.counted.sum(axis=2) > 0) & (cells.counted[:, :1].sum(axis=2) > 0)
    later = cells.of(paired[..., None])
    base = Ratio(*(part[:, :1] for part in cells)).of(paired[..., None])
    step = divided(later.total, later.counted) - divided(base.total, base.counted)
    step = np.where(np.isnan(step), 0.0, step)  # one side never came there

    def mean(total_NSQ: Floats, side: Ratio) -> Floats:
        ratio = Ratio(total_NSQ.sum(axis=2), side.counted.sum(axis=2))
        return ratio.mean() if weights_BN is None else ratio.draws(weights_BN)

    change = mean(later.total, later) - mean(base.total, base)
    within = (mean(step * later.counted, later) + mean(step * base.counted, base)) / 2
    return Split(change, change - within, within)


def _series(one: Visits, name: str, ratio: Ratio, against: str | None) -> Series:
    """Lay the means of the tasks out, which `rows` counts."""
    x_NS = divided(ratio.total, ratio.counted)
    return Series(one.policy, against, x_NS[:, None], one.samples[name], one.seeds)


def _columns(value_S: Floats, draws_SB: Floats) -> dict[str, Floats]:
    low, high = intervals.percentile(draws_SB)
    return {"value": value_S[None], "low": low[None], "high": high[None]}


def _lines(
    study: Study, metric: str, one: Series, steps: list[int], columns: dict[str, Floats]
) -> Iterator[pd.DataFrame]:
    """Yield the rows of the steps that have a value; of a change, without step 0."""
    known = ~np.isnan(columns["value"][0])
    chosen = [i for i, step in enumerate(steps) if known[i] and (step > 0 or one.against is None)]
    if chosen:
        some = one.replaced(one.x_NKT[:, :, chosen])
        picked = {name: column[:, chosen] for name, column in columns.items()}
        yield rows(study, metric, some, [None], [steps[i] for i in chosen], picked)
