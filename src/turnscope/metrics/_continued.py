"""How both policies went on after an error: one entry for each state, with the shares of both.

Shapes end in A (base and the trained policy, in this order), S (states), T (turns).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope.arms import seeded
from turnscope.metrics._duels import ERROR, INJECTED, MIXTURE
from turnscope.metrics._series import arms

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

ACTORS = ("base", "trained")


@dataclass(frozen=True)
class Continued:
    """Continuations from the error states of one comparison with base, or of several.

    States from which either policy has no continuation that counts are left out.
    """

    policy: str
    seeds: int
    """Training seeds that entered."""
    task_S: Ints
    """Number of the task."""
    source_S: npt.NDArray[np.str_]
    """Whose episode led there."""
    subsets: dict[str, Bools]
    """By name, which states: `error`, each definition of it, and `injected`."""
    failed_S: Bools
    """Whether that episode was lost in the end; False where an error was put in."""
    left_S: Ints
    """Turns left in the budget."""
    best_S: Floats
    """Quality of the best action; NaN if none."""
    samples_S: Ints
    """Continuations that count: the fewer of both policies."""
    solved_AST: Floats
    """Share solved within 1, ..., T further turns."""
    back_AST: Floats
    """Share recovered within 0, ..., T further turns; NaN where that is unknown."""
    going_AST: Floats
    """Share still played and not recovered before turn 1, ..., T; NaN likewise."""

    @property
    def known_S(self) -> Bools:
        """Say where it is known what recovery would be."""
        return ~np.isnan(self.back_AST[0, :, 0])

    def of(self, source: str) -> Bools:
        """Say to which states an episode of `base` or `trained` led; `mixture` is either."""
        return np.full(len(self.source_S), True) if source == MIXTURE else self.source_S == source

    def within(self, place: int, turns: int | None) -> Floats:
        """Return the share solved within so many turns; NaN in states that have fewer left.

        Args:
            place: 0 for base, 1 for the other policy.
            turns: How many; None is all that are left.
        """
        shares_ST = self.solved_AST[place]
        if turns is None:
            return shares_ST[:, -1]
        some = shares_ST[:, min(turns, shares_ST.shape[1]) - 1]
        return np.where(self.left_S >= turns, some, np.nan)


def continued(rows: pd.DataFrame, task_ids: Sequence[str]) -> list[Continued]:
    """Gather the continuations of every comparison by state.

    Args:
        rows: Rows of table `continuations`.
        task_ids: The N tasks that count, in order.

    Returns:
        One for each policy, one for each arm with the states of all its seeds, and last those of
        all comparisons under the name of base.
    """
    after = (rows["errors"] != "") | rows["injected"]
    rows = rows.loc[after & rows["task_id"].isin(task_ids)]
    names = sorted({name for errors in rows["errors"].unique() for name in errors.split()})
    longest = int(rows["left"].max()) if len(rows) else 0
    single = {
        str(policy): _continued(str(policy), found, task_ids, names, longest)
        for policy, found in rows.groupby("policy")
    }
    single = {policy: one for policy, one in single.items() if len(one.task_S)}
    groups = {arm: [single[name] for name in members] for arm, members in arms([*single]).items()}
    pooled = [_pooled(arm, members, len(members)) for arm, members in groups.items()]
    return [
        *single.values(),
        *pooled,
        *([_pooled("base", [*single.values()], 0)] if single else []),
    ]


def _continued(
    policy: str, rows: pd.DataFrame, task_ids: Sequence[str], names: Sequence[str], longest: int
) -> Continued:
    place_S, first, state_R = np.unique(rows["place"], return_index=True, return_inverse=True)
    cell_R = (rows["actor"] == ACTORS[1]).to_numpy(np.int64) * len(place_S) + state_R.ravel()
    states, counts_R = rows.iloc[first], rows["success"].notna().to_numpy(bool)
    counted_AS = _count(cell_R[counts_R], (2, len(place_S)))
    solved_AST, back_AST, going_AST = _turns(
        rows[counts_R], cell_R[counts_R], len(place_S), longest
    )
    both_S = counted_AS.min(axis=0) > 0
    shares = (x / np.maximum(counted_AS, 1)[..., None] for x in (solved_AST, back_AST, going_AST))
    solved_AST, back_AST, going_AST = (x[:, both_S] for x in shares)
    states = states.loc[both_S]
    unknown_S = states["before"].isna().to_numpy(bool)
    back_AST[:, unknown_S], going_AST[:, unknown_S] = np.nan, np.nan
    solved = states["solved"].astype("boolean").fillna(True).to_numpy(bool)
    return Continued(
        policy,
        int(bool(seeded(policy))),
        pd.Index(list(task_ids)).get_indexer(pd.Index(states["task_id"])).astype(np.int64),
        states["source"].to_numpy(str),
        _subsets(states, names),
        ~solved,
        states["left"].to_numpy(np.int64),
        states["best"].to_numpy(np.float64),
        counted_AS.min(axis=0)[both_S],
        solved_AST,
        back_AST,
        going_AST,
    )


def _subsets(states: pd.DataFrame, names: Sequence[str]) -> dict[str, Bools]:
    """Say which states are errors, by any definition and by each, and which were put in."""
    injected_S = states["injected"].to_numpy(bool)
    met = [set(errors.split()) for errors in states["errors"]]
    found = {name: np.array([name in one for one in met], bool) & ~injected_S for name in names}
    return {ERROR: ~injected_S, **found, INJECTED: injected_S}


def _turns(
    rows: pd.DataFrame, cell_R: Ints, states: int, longest: int
) -> tuple[Floats, Floats, Floats]:
    """Count what was solved, had recovered and was still going, by turn.

    A continuation that solves the task has recovered by then.
    """
    shape = (2, states, longest + 1)
    turns_R = np.minimum(rows["turns"].to_numpy(np.int64), longest)
    solved_R = rows["success"].to_numpy(bool)
    never = longest + 1
    back_R = rows["recovered"].fillna(never).to_numpy(np.int64)
    back_R = np.minimum(back_R, np.where(solved_R, turns_R, never))
    came_R = back_R < never
    cells_R = cell_R * (longest + 1)
    solved = _count((cells_R + turns_R)[solved_R], shape).cumsum(axis=-1)
    back = _count((cells_R + back_R)[came_R], shape).cumsum(axis=-1)
    # a turn was played without having recovered before it
    last = _count(cells_R + np.minimum(turns_R, back_R), shape)
    going = last[..., ::-1].cumsum(axis=-1)[..., ::-1]
    return solved[..., 1:], back, going[..., 1:]


def _count(cell_R: Ints, shape: tuple[int, ...]) -> Floats:
    return np.bincount(cell_R, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)


def _pooled(name: str, members: Sequence[Continued], seeds: int) -> Continued:
    """Put the states of several comparisons side by side."""

    def along(field: str, axis: int = 0) -> np.ndarray:
        return np.concatenate([getattr(one, field) for one in members], axis=axis)

    subsets: Mapping[str, list[Bools]] = {
        subset: [one.subsets[subset] for one in members] for subset in members[0].subsets
    }
    return Continued(
        name,
        seeds,
        along("task_S"),
        along("source_S"),
        {subset: np.concatenate(masks) for subset, masks in subsets.items()},
        along("failed_S"),
        along("left_S"),
        along("best_S"),
        along("samples_S"),
        along("solved_AST", 1),
        along("back_AST", 1),
        along("going_AST", 1),
    )
