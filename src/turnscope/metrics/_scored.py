"""From rows of table `likelihood` to sums over the turns of each task."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope import intervals
from turnscope.metrics._outcomes import BASE, Study
from turnscope.metrics._rows import rows
from turnscope.metrics._series import Series, arms
from turnscope.metrics._visits import Ratio

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Quantity(NamedTuple):
    """A sum over turns, divided by another one."""

    name: str
    part: str | None
    """Which turns, as `base/success`; None if the name says it."""
    amount_R: Floats
    per_R: Floats


@dataclass(frozen=True)
class Scored:
    """R turns of base and of a policy that is compared with it, or of all seeds of an arm."""

    policy: str
    seeds: int
    """Training seeds that entered."""
    task_R: Ints
    """Place of the task, of N."""
    turn_R: Ints
    """Number of the turn, from 0."""
    episode_R: Ints
    """Number of the episode, from 0."""
    base_R: Bools
    """Whether base acts."""
    solved_R: Bools
    """Whether the episode was solved."""
    tokens_R: Floats
    nll_R: Floats
    """Negative log-probability of the action under base, nats."""
    own_R: Floats
    """That under the actor."""
    entropy_R: Floats
    """Entropy of the actor's choices, summed over tokens, nats."""
    outside_R: Floats
    """Tokens outside of base's nucleus."""
    llr_R: Floats
    """Log-probability under the trained policy minus that under base, nats."""
    sampled_R: Floats
    """Stored by the sampler minus that under the actor, nats."""
    again_R: Floats
    """Scored a second time minus that under the actor, nats."""
    episodes_2N: Ints
    """Fewest episodes of base, and of the trained policies, at each task."""

    def actions(self, base: bool) -> Series:
        """Say whose actions are meant, without values yet: base's or the policy's."""
        nothing = np.empty((self.episodes_2N.shape[1], 0, 0))
        if base:
            return Series(BASE, None, nothing, self.episodes_2N[0], 0)
        return Series(self.policy, None, nothing, self.episodes_2N[1], self.seeds)

    def pair(self, against: str | None) -> Series:
        """Say that both are meant, without values yet."""
        nothing = np.empty((self.episodes_2N.shape[1], 0, 0))
        return Series(self.policy, against, nothing, self.episodes_2N.min(axis=0), self.seeds)

    @property
    def first_R(self) -> Floats:
        """Return 1 for the first turn of each episode."""
        return np.where(self.turn_R == 0, 1.0, 0.0)

    @property
    def episode_llr_R(self) -> Floats:
        """Return the likelihood ratio of the whole episode, at each of its turns."""
        return np.bincount(self.episode_R, self.llr_R).astype(np.float64)[self.episode_R]

    def parts(self) -> dict[str, Bools]:
        """Return the turns of each actor in all, in solved and in failed episodes."""
        return {
            f"{actor}/{subset}": acts & among
            for actor, acts in (("base", self.base_R), ("trained", ~self.base_R))
            for subset, among in (
                ("all", np.full(len(acts), True)),
                ("success", self.solved_R),
                ("failure", ~self.solved_R),
            )
        }

    def ratio(self, quantities: Sequence[Quantity]) -> Ratio:
        """Sum quantities up, shape (N, number of them)."""
        size = self.episodes_2N.shape[1]

        def summed(values_R: Floats) -> Floats:
            return np.bincount(self.task_R, values_R, size).astype(np.float64)

        pairs = [(summed(one.amount_R), summed(one.per_R)) for one in quantities]
        return Ratio(*(np.stack(part, axis=1) for part in zip(*pairs, strict=True)))

    def histogram(self, bin_R: Ints, bins: int, base: bool) -> Ratio:
        """Count the turns of one actor by bin, of all its turns at the task, shape (N, bins)."""
        size, keep = self.episodes_2N.shape[1], self.base_R == base
        cells = np.bincount(self.task_R[keep] * bins + bin_R[keep], minlength=size * bins)
        total_NC = cells.reshape(size, bins).astype(np.float64)
        return Ratio(total_NC, np.repeat(total_NC.sum(axis=1, keepdims=True), bins, axis=1))

    def paths(self, keep_R: Bools, turns: int) -> Floats:
        """Return the cumulative ratio of each episode, shape (episodes, turns).

        A finished episode keeps its last value.
        """
        _, row = np.unique(self.episode_R[keep_R], return_inverse=True)
        steps_ET = np.zeros((int(row.max(initial=-1)) + 1, turns))
        steps_ET[row, self.turn_R[keep_R]] = self.llr_R[keep_R]
        return steps_ET.cumsum(axis=1)


def scored(found: pd.DataFrame, task_ids: Sequence[str]) -> list[Scored]:
    """Lay out the turns of every pair, and of every arm, which pools its seeds.

    Args:
        found: Rows of table `likelihood`.
        task_ids: The N tasks that count, in order.
    """
    found = found.loc[found["task_id"].isin(task_ids)]
    single = sorted(found["policy"].unique())
    groups = {name: [name] for name in single} | arms(single)
    return [
        _laid(name, found.loc[found["policy"].isin(members)], members, task_ids)
        for name, members in groups.items()
    ]


def _laid(
    policy: str, found: pd.DataFrame, members: Sequence[str], task_ids: Sequence[str]
) -> Scored:
    task_R = pd.Index(list(task_ids)).get_indexer(pd.Index(found["task_id"])).astype(np.int64)
    base_R = (found["actor"] == "base").to_numpy(bool)
    member_R = pd.Index(list(members)).get_indexer(pd.Index(found["policy"])).astype(np.int64)
    turn_R = found["turn"].to_numpy(np.int64)
    ours_R, theirs_R = found["logp_base"].to_numpy(float), found["logp_trained"].to_numpy(float)
    own_R = np.where(base_R, ours_R, theirs_R)
    side_R = 2 * member_R + ~base_R
    first = turn_R == 0
    played = np.bincount(
        side_R[first] * len(task_ids) + task_R[first], minlength=2 * len(members) * len(task_ids)
    ).reshape(len(members), 2, len(task_ids))
    names = side_R * len(task_ids) + task_R, found["sample"].to_numpy(np.int64)
    return Scored(
        policy,
        len(members),
        task_R,
        turn_R,
        names[0] * (1 + names[1].max(initial=0)) + names[1],
        base_R,
        found["success"].to_numpy(bool),
        found["tokens"].to_numpy(float),
        -ours_R,
        -own_R,
        np.where(base_R, found["entropy_base"], found["entropy_trained"]).astype(float),
        found["outside"].to_numpy(float),
        theirs_R - ours_R,
        found["logp_sampled"].to_numpy(float) - own_R,
        found["logp_again"].to_numpy(float) - own_R,
        played.min(axis=0),
    )


def lines(
    study: Study, one: Series, quantities: Sequence[Quantity], ratio: Ratio, weights: Floats
) -> Iterator[pd.DataFrame]:
    """Yield a row of table `estimates` for each quantity.

    Args:
        study: Names the environment and the model.
        one: Whose they are.
        quantities: Name and part of each.
        ratio: Their sums.
        weights: Bootstrap samples of tasks.
    """
    means, draws = ratio.mean(), ratio.draws(weights)
    for place, quantity in enumerate(quantities):
        level = known(one, ratio.counted[:, place] > 0)
        yield line(study, quantity.name, level, means[place], draws[place], quantity.part)


def line(
    study: Study, metric: str, one: Series, value: float, draws_B: Floats, part: str | None = None
) -> pd.DataFrame:
    """Write a row with its percentile interval; NaN if a draw is undefined."""
    low, high = intervals.percentile(draws_B)
    columns = shaped({"value": value, "low": low, "high": high})
    return rows(study, metric, one, [None], [None], columns, part=part)


def known(one: Series, known_N: Any) -> Series:
    """Say which tasks entered, which are counted."""
    return one.replaced(np.where(known_N, 0.0, np.nan)[:, None, None])


def shaped(columns: dict[str, Any]) -> dict[str, Floats]:
    """Give single numbers the shape of a surface, (1, 1)."""
    return {name: np.full((1, 1), value) for name, value in columns.items()}
