"""Credit: from the rewards of a batch of episodes to one advantage for each turn.

Arrays in, arrays out, numpy only. A row is a turn; tokens do not appear, so text of the
environment cannot change an advantage.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]

SCALES = ("group", "batch", "none")
"""By what `deviation` can divide."""
EPSILON = 1e-4
"""Added to a standard deviation before dividing by it, as TRL does."""


@dataclass(frozen=True, slots=True)
class TurnBatch:
    """The turns of one batch, episode after episode, in order.

    N turns of E episodes. Episodes whose environment failed have no turn here.
    """

    episode_N: Int
    """Number of the episode, from 0, not decreasing."""
    group_N: Int
    """Number of the group: episodes of one task that are compared with each other."""
    turn_N: Int
    """Number of the turn in its episode, from 0."""
    reward_N: Float
    """Payment for the turn alone."""
    state_N: Int
    """Number of the hidden state before the turn; equal numbers, equal states."""
    left_N: Int
    """Turns left in the budget before the turn."""
    process_N: Float
    """Step quality less that of the best action, at most 0; where a quality is of an action by
    itself, 0 but for the last turn of an episode. NaN where there is none."""


def placed(batch: TurnBatch) -> tuple[Int, Int]:
    """Number the episodes of a batch from 0, in order.

    Returns:
        Row of the first turn of each episode, shape (E,), and number of the episode of each turn,
        shape (N,).
    """
    _, first_E, episode_N = np.unique(batch.episode_N, return_index=True, return_inverse=True)
    return first_E, episode_N


def returns(batch: TurnBatch) -> tuple[Float, Int]:
    """Sum the rewards of each episode.

    Returns:
        The return of each episode and the number of its group, both of shape (E,), in the order
        of the episodes.
    """
    first_E, episode_N = placed(batch)
    return_E = np.zeros(len(first_E))
    np.add.at(return_E, episode_N, batch.reward_N)
    return return_E, batch.group_N[first_E]


def deviation(values_M: Float, group_M: Int, scale: str) -> Float:
    """Compute what differences are divided by.

    Args:
        values_M: Values, shape (M,).
        group_M: Number of the group of each value, shape (M,).
        scale: `group` is the sample standard deviation of the group, `batch` that of all values,
            both with `EPSILON` added; `none` is 1.

    Returns:
        Shape (M,), above 0.

    Raises:
        ValueError: There is no such scale.
    """
    if scale == "none":
        return np.ones(len(values_M))
    if scale == "batch":
        spread = values_M.std(ddof=1) if len(values_M) > 1 else 0.0
        return np.full(len(values_M), spread + EPSILON)
    if scale != "group":
        raise ValueError(f"scale {scale!r} is unknown; known: {', '.join(SCALES)}")
    _, place_M, size_G = np.unique(group_M, return_inverse=True, return_counts=True)
    mean_G = np.bincount(place_M, weights=values_M) / size_G
    squares_G = np.bincount(place_M, weights=(values_M - mean_G[place_M]) ** 2)
    return np.sqrt(squares_G / np.maximum(size_G - 1, 1))[place_M] + EPSILON


def standardise(values_M: Float, group_M: Int, scale: str) -> Float:
    """Centre values within groups and, if asked, divide by the spread.

    Args:
        values_M: Values, shape (M,).
        group_M: Number of the group of each value, shape (M,).
        scale: See `deviation`.

    Returns:
        Shape (M,). A group of one, and a group of equal values, gives 0.

    Raises:
        ValueError: There is no such scale.
    """
    _, place_M, size_G = np.unique(group_M, return_inverse=True, return_counts=True)
    mean_G = np.bincount(place_M, weights=values_M) / size_G
    centred_M = values_M - mean_G[place_M]
    low_G, high_G = np.full(len(size_G), np.inf), np.full(len(size_G), -np.inf)
    np.minimum.at(low_G, place_M, values_M)
    np.maximum.at(high_G, place_M, values_M)
    # their mean may differ from equal values by rounding, which a small deviation would blow up
    centred_M[(low_G == high_G)[place_M]] = 0.0
    return centred_M / deviation(values_M, group_M, scale)


def group_relative(batch: TurnBatch, *, scale: str = "group") -> Float:
    """Compare the return of each episode with the others of its group.

    Args:
        batch: N turns.
        scale: See `deviation`.

    Returns:
        Advantages, shape (N,): every turn of an episode gets that of the episode.

    Source:
        Shao et al. 2024, arXiv:2402.03300, section 4.1.2, outcome supervision.
        Differs: the standard deviation is that of a sample and 1e-4 is added, as in TRL.
    """
    return_E, group_E = returns(batch)
    return standardise(return_E, group_E, scale)[placed(batch)[1]]
