"""From table `actions` to what both policies did in each matched state.

Shapes end in S (states), G (actions), N (tasks).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope.arms import seeded

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MIXTURE = "mixture"
SOURCES = (MIXTURE, "base", "trained")
"""Whose episodes led to the states; `mixture` is both together."""
ALL, ERROR, CLEAN, INJECTED = "all", "error", "clean", "injected"


@dataclass(frozen=True)
class States:
    """States in which a policy was compared with base, or all training seeds of an arm were."""

    policy: str
    seeds: int
    task_S: Ints
    """Place of the task among those that count."""
    turn_S: Ints
    """Turns before the state."""
    trained_S: Bools
    """Whether an episode of the trained policy led there, not one of base."""
    injected_S: Bools
    errors_S: npt.NDArray[np.object_]
    """Definitions that the last action meets, a tuple of names."""
    decisive_S: Floats
    """1 if actions differ in quality, 0 if not; NaN when unknown."""
    weight_S: Floats
    """Visits for which the state stands; NaN for injected ones."""
    fewest_S: Ints
    """Actions with a quality, of the policy that has fewer."""

    def parts(self) -> dict[str, Bools]:
        """Select states by source and by the last action, as `SOURCE/SUBSET`."""
        plain = ~self.injected_S
        names = sorted({name for names in set(self.errors_S) for name in names})
        erred = np.array([bool(names) for names in self.errors_S], bool)
        subsets = {ALL: plain, ERROR: plain & erred, CLEAN: plain & ~erred}
        for name in names:
            subsets[name] = plain & np.array([name in met for met in self.errors_S], bool)
        subsets[INJECTED] = self.injected_S
        sources = dict(
            zip(SOURCES, (np.full(len(plain), True), ~self.trained_S, self.trained_S), strict=True)
        )
        return {
            f"{source}/{subset}": mine & chosen
            for source, mine in sources.items()
            for subset, chosen in subsets.items()
        }


class Duels(NamedTuple):
    """The states of one policy, and the qualities of the actions there; NaN where missing."""

    states: States
    best_S: Floats
    """Quality of the best action; NaN if unknown."""
    base_SG: Floats
    trained_SG: Floats


def read(actions: pd.DataFrame, task_ids: Sequence[str]) -> list[Duels]:
    """Lay out the actions of every trained policy and of base beside it.

    Args:
        actions: Rows of table `actions`.
        task_ids: The tasks that count, in order.

    Returns:
        One for each policy, sorted.

    Raises:
        ValueError: An action occurs twice.
    """
    actions = actions.loc[actions["task_id"].isin(task_ids)]
    tasks = pd.Index(list(task_ids))
    found = sorted(actions.groupby("policy").indices.items())
    return [_duels(str(policy), actions.iloc[rows], tasks) for policy, rows in found]


def _duels(policy: str, actions: pd.DataFrame, tasks: pd.Index) -> Duels:
    place, first_S, state = np.unique(
        actions["place"].to_numpy(np.int64), return_index=True, return_inverse=True
    )
    sample = actions["sample"].to_numpy(np.int64)
    own = (actions["actor"] == "trained").to_numpy(bool)
    shape = 2, len(place), int(sample.max(initial=0)) + 1
    cell = (own * shape[1] + state) * shape[2] + sample
    if len(np.unique(cell)) < len(cell):
        raise ValueError(f"policy {policy}: some actions in matched states occur twice")
    quality = np.full(shape, np.nan)
    quality.flat[cell] = actions["quality"].to_numpy(np.float64)
    one = actions.iloc[first_S]
    states = States(
        policy,
        int(bool(seeded(policy))),
        tasks.get_indexer(pd.Index(one["task_id"])).astype(np.int64),
        one["turn"].to_numpy(np.int64),
        (one["source"] == "trained").to_numpy(bool),
        one["injected"].to_numpy(bool),
        _tuples(one["errors"]),
        np.array(one["decisive"].astype("Float64").to_numpy(float, na_value=np.nan), float),
        one["weight"].to_numpy(np.float64),
        (~np.isnan(quality)).sum(axis=2).min(axis=0),
    )
    return Duels(states, one["best"].to_numpy(np.float64), quality[0], quality[1])


def _tuples(errors: pd.Series) -> npt.NDArray[np.object_]:
    found = np.empty(len(errors), object)
    found[:] = [tuple(names.split()) for names in errors]
    return found


def pooled(arm: str, members: Sequence[States]) -> States:
    """Put the states of the training seeds of an arm together."""
    columns = [
        np.concatenate([getattr(one, name) for one in members])
        for name in States.__dataclass_fields__
        if name.endswith("_S")
    ]
    return States(arm, len(members), *columns)
