"""Batches written out by hand, and batches drawn at random."""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
from hypothesis import strategies as st

from turnscope.advantages import TurnBatch


def batch(
    episodes: Sequence[Sequence[float]],
    groups: Sequence[int],
    states: Sequence[Sequence[int]] | None = None,
    process: Sequence[Sequence[float]] | None = None,
    budget: int = 9,
) -> TurnBatch:
    """Lay out the rewards of each turn of each episode."""
    rows = [(e, g, t, r) for e, g in enumerate(groups) for t, r in enumerate(episodes[e])]
    episode, group, turn, reward = (np.array(column) for column in zip(*rows, strict=True))
    return TurnBatch(
        episode,
        group,
        turn,
        reward.astype(float),
        np.zeros_like(turn) if states is None else np.concatenate(states),
        budget - turn,
        np.full(len(turn), np.nan) if process is None else np.concatenate(process),
    )


def take(made: TurnBatch, rows: np.ndarray) -> TurnBatch:
    """Take some rows, in that order."""
    return TurnBatch(**{field.name: getattr(made, field.name)[rows] for field in fields(made)})


def reordered(made: TurnBatch, seed: int) -> np.ndarray:
    """Return rows in an order in which the episodes are shuffled and their turns are not."""
    numbers = np.unique(made.episode_N)
    shuffled = np.random.Generator(np.random.PCG64(seed)).permutation(numbers)
    return np.concatenate([np.flatnonzero(made.episode_N == number) for number in shuffled])


@st.composite
def batches(draw: st.DrawFn) -> TurnBatch:
    """Draw one to six episodes of one to five turns in one to three groups."""
    lengths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=6))
    groups = sorted(draw(st.integers(0, 2)) for _ in lengths)

    def column(elements: st.SearchStrategy) -> list[list]:
        return [draw(st.lists(elements, min_size=n, max_size=n)) for n in lengths]

    rewards = column(st.integers(0, 3).map(float))
    process = column(st.integers(-4, 0).map(lambda quarter: quarter / 4))
    return batch(rewards, groups, column(st.integers(0, 2)), process)
