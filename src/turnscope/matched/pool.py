"""Choose the states in which two policies are compared.

A state is a task, a hidden state and a number of turns left; of each, one of the source's visits is
picked at random, and whether the action before it was an error is known from that visit. Quarters
of the budget and errors / no errors make eight cells. Each source offers at most half of `per_task`
states of a task, from different cells: first a state of each cell, then some of the cells. Of what
is offered, equally many are taken from each cell, as far as there are. A state that was taken from
both sources is kept for one of them, by a fair coin.

Each of these draws takes some out of a group, all equally likely, so the probability is known, and
the weight of a state is its visits divided by the product. The sum over the states taken, weighted
so, of anything that is true of them has the sum over all visits as its expectation: that is the
average over what the source meets, from a pool that is spread evenly over the cells.

Source:
    Horvitz and Thompson 1952; for draws that depend on earlier ones, Sarndal, Swensson and Wretman
    1992, "Model Assisted Survey Sampling", section 9.3.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope.matched.pair import Pair, decisive
from turnscope.matched.visits import KEY, Visits, errors

QUARTERS = 4
"""Parts of the budget from which equally many states are taken."""
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Draw(NamedTuple):
    """Some of what there was."""

    chosen_M: Ints
    """Numbers, increasing."""
    probability_M: Floats
    """With which each was chosen."""


def codes(frame: pd.DataFrame, columns: list[str]) -> Ints:
    """Number the groups of rows that agree in some columns."""
    return np.asarray(frame.groupby(columns, sort=False).ngroup(), dtype=np.int64)


def draw(group_N: Ints, most: npt.ArrayLike, random: np.random.Generator) -> Draw:
    """Choose from each group as many as allowed, all subsets equally likely.

    Args:
        group_N: Group of each, from 0 on.
        most: How many of a group, at most; one number for all, or one for each group.
        random: Chooses.
    """
    size_G = np.bincount(group_N)
    most_G = np.broadcast_to(np.asarray(most), size_G.shape)
    order_N = np.lexsort((random.random(len(group_N)), group_N))
    first_G = np.cumsum(size_G) - size_G
    rank_N = np.arange(len(group_N)) - first_G[group_N[order_N]]
    chosen_M = np.sort(order_N[rank_N < most_G[group_N[order_N]]])
    share_G = np.minimum(1.0, most_G / np.maximum(size_G, 1))
    return Draw(chosen_M, share_G[group_N[chosen_M]])


def quotas(size_G: Ints, total: int) -> Ints:
    """Share a number out evenly among groups, none of which can take more than its size."""
    taken_G, left = np.zeros_like(size_G), total
    for rank, group in enumerate(np.argsort(size_G, kind="stable")):
        taken_G[group] = min(size_G[group], left // (len(size_G) - rank))
        left -= taken_G[group]
    return taken_G


def choose(
    pair: Pair, sources: Sequence[Visits], states: int, per_task: int
) -> list[dict[str, Any]]:
    """Choose states that were visited by either policy.

    Args:
        pair: Whose states.
        sources: Their visits.
        states: How many in all, at most.
        per_task: How many of a task, at most; half of them from each source.

    Returns:
        Records of table `pool` without `place`, by source, task and turn.

    Raises:
        ValueError: `per_task` is below 2, or `states` has no room for all cells of both sources.
    """
    least = len(sources) * 2 * QUARTERS
    if states < least:
        raise ValueError(f"states is {states}; legal is {least} or more, one from every cell")
    if per_task < 2:
        raise ValueError(f"per_task is {per_task}; legal is 2 or more, one from each source")
    found = pd.concat(
        [
            _taken(pair, visits, states // 2, per_task // 2).assign(source=visits.source)
            for visits in sources
        ],
        ignore_index=True,
    )
    kept, probability = draw(codes(found, KEY), 1, pair.random("twice"))
    found = found.iloc[kept].assign(chance=found["chance"].to_numpy()[kept] * probability)
    visits = {one.source: one for one in sources}
    records: Any = found.to_dict("records")
    return [_record(pair, visits[one["source"]], one) for one in records]


def placed(states: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Number states by how long their prefixes are: those played side by side are alike then."""
    names = ("turn", "injected", "task_id", "source")
    ordered = sorted(states, key=lambda one: [one[name] for name in names])
    return [one | {"place": place} for place, one in enumerate(ordered)]


def distinct(visits: Visits, random: np.random.Generator) -> pd.DataFrame:
    """List the states that were visited, each by one of its visits.

    Returns:
        Columns of `KEY` and `left`, with `row` (the visit) and `visits` (how many there were).
    """
    rows = pd.DataFrame({name: visits.columns[name] for name in (*KEY, "left")})
    state_N = codes(rows, KEY)
    row_M = draw(state_N, 1, random).chosen_M
    counts = np.bincount(state_N)[state_N[row_M]]
    return rows.iloc[row_M].assign(row=row_M, visits=counts).reset_index(drop=True)


def _taken(pair: Pair, visits: Visits, number: int, per_task: int) -> pd.DataFrame:
    """Choose states of one source; column `chance` is the probability of each."""
    random = pair.random("pool", visits.source)
    found = distinct(visits, random)
    found["errors"] = errors(pair, visits, found["row"].tolist())
    quarter = found["turn"] * QUARTERS // pair.budget.turns
    found["cell"] = 2 * quarter + (found["errors"] != "")
    found["chance"] = 1.0
    found = _draw(found, codes(found, ["task_id", "cell"]), 1, random)
    found = _draw(found, codes(found, ["task_id"]), per_task, random)
    cell_N = codes(found, ["cell"])
    return _draw(found, cell_N, quotas(np.bincount(cell_N), number), random)


def _draw(
    found: pd.DataFrame, group_N: Ints, most: npt.ArrayLike, random: np.random.Generator
) -> pd.DataFrame:
    chosen_M, probability_M = draw(group_N, most, random)
    kept = found.iloc[chosen_M].reset_index(drop=True)
    return kept.assign(chance=kept["chance"] * probability_M)


def _record(pair: Pair, visits: Visits, one: dict[str, Any]) -> dict[str, Any]:
    row, at = one["row"], visits.at(one["row"])
    return {
        **pair.who,
        **{name: at[name] for name in ("task_id", "turn", "left", "sample", "best", "seed")},
        **{name: one[name] for name in ("source", "errors", "visits")},
        **visits.prefix(row),
        "injected": False,
        "before": visits.at(row - 1)["best"] if at["turn"] else None,
        "solved": at["success"],
        "decisive": decisive(pair, at["task_id"], at["state_key"], at["left"]),
        "weight": one["visits"] / one["chance"],
        "state_key": at["state_key"],
    }
