"""After an error, who still solves the task? Continuations of both policies from the same states.

Base and a trained policy go on from the same prefixes, each by itself, under the turns that are
left. Every state counts once, by the mean of its continuations. An arm has the states of all its
training seeds. k is null; t is the number of further turns, or null for all that are left.

Column `part` is SOURCE/SUBSET. SOURCE says whose episode led to the state: `base`, `trained`, or
`mixture` for both. SUBSET is `error` (the last action meets any definition of an error), the name
of one definition, or `injected` (a wrong action was put in; neither policy chose it).

- `continuation`: share of continuations solved; at t of states with at least t turns left.
- `continuation_base`: that of base in the same states; `continuation_gap`: the difference to it,
  against base.
- `continuation_bound`: mean quality of the best action there, which no policy can pass.
- `continuation_both` (part both/SUBSET): `continuation_gap` after base's errors and after the
  trained policy's, averaged with equal weights. The headline: it favours neither policy.
- `continuation_interaction` (the same parts): the gap after the trained policy's errors minus that
  after base's. Counts and interval of both are those of the side that has fewer tasks.
- `naive_continuation_gap` (part base/error): `continuation_gap` in those states alone that base's
  episode went on to lose. States in which base is weak are chosen so: a policy that is as good as
  base on average, but not in the same states, seems better. `naive_continuation_mirror`
  (trained/error) makes the opposite choice, and base seem better.
- `recovered`, `recovered_base`, `recovered_gap` (mixture): share that within t turns came to where
  the best action is again worth what it was before the error, or solved the task; where a quality
  is of an action by itself, share that took one that is no error. At t = 0 stands what the error
  did not set back. `recovery_hazard`, `recovery_hazard_base`: share recovering at turn t of what
  was still played and had not recovered.

Policies `base` and `bound` have the same metrics over the states of all comparisons together.
Column `samples` is the fewest continuations of a state. Continuations in which the environment
failed are left out.

Source:
    Continuations of two policies from matched prefixes of both, and the trap: ours. Ratios over
    resampled clusters: Davison and Hinkley 1997, chapter 2.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope.metrics import Settings
from turnscope.metrics._continued import Continued, continued
from turnscope.metrics._duels import ERROR, MIXTURE, SOURCES
from turnscope.metrics._fractions import Block, Cell, Fraction, estimated, rows
from turnscope.metrics._outcomes import BASE, Study, visited, without_outcomes
from turnscope.metrics._rows import joined

SOURCE = "continuations"

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

BOTH, BOUND = "both", "bound"
LEVEL, GAP, LIMIT = "continuation", "continuation_gap", "continuation_bound"
BACK, HAZARD = "recovered", "recovery_hazard"
NAIVE = {"base": "naive_continuation_gap", "trained": "naive_continuation_mirror"}
PROBABILITIES = {
    *(f"{name}{suffix}" for name in (LEVEL, BACK, HAZARD) for suffix in ("", "_base")),
    LIMIT,
}
"""Metrics that are probabilities, of a policy and not of a difference."""


class Part(NamedTuple):
    """States that are averaged."""

    name: str
    chosen_S: Bools


def estimate(tasks: pd.DataFrame, continuations: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Estimate how every policy and arm goes on after an error, against base.

    Args:
        tasks: Rows of table `tasks`.
        continuations: Rows of that table, all policies of one environment and model.
        settings: Uses `draws` and `seed`.

    Returns:
        Rows of table `estimates`; none without continuations after an error.

    Raises:
        ValueError: The rows are of several environments or models.
    """
    test = visited(tasks, continuations)
    found = continued(continuations, list(test["task_id"]))
    if not found:
        return joined([])
    t_max = int((continuations["turn"] + continuations["left"]).to_numpy().max())
    study = without_outcomes(test, continuations, settings, t_max)
    weights = study.weights()
    *compared, everything = found
    return joined(
        [
            *(part for one in compared for part in _compared(study, one, weights)),
            *_alone(study, everything, weights),
        ]
    )


def _compared(study: Study, one: Continued, weights: Floats) -> Iterator[pd.DataFrame]:
    """Yield all rows of a policy or an arm."""
    who = one.policy, one.seeds
    levels = _estimated(one, [*_levels(study, one), *_limits(one)], weights)
    yield _alone_rows(study, who, levels)
    gaps = _estimated(one, list(_gaps(study, one)), weights)
    yield rows(study, who, gaps, ())
    if (both := _over_sources(gaps)).cells:
        yield rows(study, who, both, ())


def _alone(study: Study, everything: Continued, weights: Floats) -> Iterator[pd.DataFrame]:
    """Yield rows of base, and of the best possible policy, over the states of all comparisons."""
    own = [
        (cell._replace(metric=cell.metric.removesuffix("_base")), fraction)
        for cell, fraction in _levels(study, everything)
        if cell.metric.endswith("_base")
    ]
    yield _alone_rows(study, (BASE, 0), _estimated(everything, own, weights))
    if limits := list(_limits(everything)):
        yield _alone_rows(study, (BOUND, 0), _estimated(everything, limits, weights))


def _alone_rows(study: Study, who: tuple[str, int], block: Block) -> pd.DataFrame:
    """Lay levels out, which are no difference to base."""
    return rows(study, who, block, PROBABILITIES).assign(against=None)


def _estimated(one: Continued, found: list[tuple[Cell, Fraction]], weights: Floats) -> Block:
    # a cell without states says nothing
    cells, fractions = zip(*(one for one in found if one[1].under_S.any()), strict=True)
    return estimated(cells, fractions, one.task_S, one.samples_S, weights)


def _levels(study: Study, one: Continued) -> Iterator[tuple[Cell, Fraction]]:
    """Yield what base and the other policy achieve in the same states."""
    for place, suffix in enumerate(("_base", "")):
        for part in _parts(one):
            for t in (None, *study.quarters[:-1]):
                within_S = one.within(place, t)
                yield Cell(f"{LEVEL}{suffix}", part.name, t), _over(part.chosen_S, within_S)
        for name, chosen_S in _mixed(one):
            known_S = chosen_S & one.known_S
            back_ST, going_ST = one.back_AST[place], one.going_AST[place]
            for t, back_S in enumerate(back_ST.T):
                yield Cell(f"{BACK}{suffix}", name, t), _over(known_S, back_S)
            for t in range(1, back_ST.shape[1]):
                pair = back_ST[:, t] - back_ST[:, t - 1], going_ST[:, t - 1]
                hazard = Fraction(*(np.where(known_S, x_S, 0.0) for x_S in pair))
                yield Cell(f"{HAZARD}{suffix}", name, t), hazard


def _limits(one: Continued) -> Iterator[tuple[Cell, Fraction]]:
    """Yield what the best possible policy achieves there."""
    for part in _parts(one):
        yield Cell(LIMIT, part.name), _over(part.chosen_S, one.best_S)


def _gaps(study: Study, one: Continued) -> Iterator[tuple[Cell, Fraction]]:
    """Yield differences between the two."""
    for part in _parts(one):
        for t in (None, *study.quarters[:-1]):
            gap_S = one.within(1, t) - one.within(0, t)
            yield Cell(GAP, part.name, t), _over(part.chosen_S, gap_S)
    gap_S = one.within(1, None) - one.within(0, None)
    for source, metric in NAIVE.items():
        lost_S = one.of(source) & one.subsets[ERROR] & one.failed_S
        yield Cell(metric, f"{source}/{ERROR}"), _over(lost_S, gap_S)
    for name, chosen_S in _mixed(one):
        for t, gap_S in enumerate((one.back_AST[1] - one.back_AST[0]).T):
            yield Cell(f"{BACK}_gap", name, t), _over(chosen_S & one.known_S, gap_S)


def _over(chosen_S: Bools, x_S: Floats) -> Fraction:
    """Average some states, those that have a value; each counts once."""
    known_S = chosen_S & ~np.isnan(x_S)
    return Fraction(np.where(known_S, x_S, 0.0), known_S.astype(float))


def _parts(one: Continued) -> list[Part]:
    """List each source with each subset, both sources together first."""
    return [
        Part(f"{source}/{subset}", one.of(source) & chosen_S)
        for source in SOURCES
        for subset, chosen_S in one.subsets.items()
    ]


def _mixed(one: Continued) -> list[Part]:
    return [part for part in _parts(one) if part.name.startswith(MIXTURE)]


def _over_sources(gaps: Block) -> Block:
    """Average the gaps over the two sources, and subtract them, subset by subset."""
    place = {cell: i for i, cell in enumerate(gaps.cells)}
    single = {
        cell: [cell._replace(part=cell.part.replace(MIXTURE, source)) for source in NAIVE]
        for cell in gaps.cells
        if cell.metric == GAP and cell.part.startswith(MIXTURE)
    }
    mixed = [cell for cell, both in single.items() if all(one in place for one in both)]
    base, trained = ([place[single[cell][i]] for cell in mixed] for i in (0, 1))
    cells = [
        Cell(metric, cell.part.replace(MIXTURE, BOTH), cell.t)
        for metric in ("continuation_both", "continuation_interaction")
        for cell in mixed
    ]
    value, draws = (
        np.concatenate([(x[base] + x[trained]) / 2, x[trained] - x[base]])
        for x in (gaps.value, gaps.draws)
    )
    found = gaps.derived(cells, value, draws, base * 2)
    return found._replace(
        tasks=np.minimum(found.tasks, gaps.tasks[trained * 2]),
        samples=np.minimum(found.samples, gaps.samples[trained * 2]),
    )
