"""Credit by a value function: generalised advantage estimation on compressed steps.

A step is a token of the policy or a turn. Text of the environment is no step, so it neither
discounts nor cuts a return.
"""

from typing import Any

import numpy as np

from turnscope.advantages import Float, Int, standardise


def gae(
    reward_M: Float, value_M: Float, episode_M: Int, *, discount: float, trace: float
) -> tuple[Float, Float]:
    """Estimate how much better each step was than its value.

    What follows the last step of an episode is worth 0, also where the turn budget ran out: the
    horizon is part of the task.

    Args:
        reward_M: Payment of M steps, shape (M,).
        value_M: Value predicted before each step, shape (M,).
        episode_M: Number of the episode; the steps of an episode follow each other, in order.
        discount: Gamma, for each step.
        trace: Lambda. With 1 the advantage is the return to go less the value.

    Returns:
        Advantages, and what the values should have been, both of shape (M,).

    Raises:
        ValueError: The steps of an episode do not follow each other.

    Source:
        Schulman et al. 2016, arXiv:1506.02438, equation 16.
    """
    _, first_E, place_M = np.unique(episode_M, return_index=True, return_inverse=True)
    step_M = np.arange(len(episode_M)) - first_E[place_M]
    length_E = np.bincount(place_M, minlength=len(first_E))
    if np.any(step_M >= length_E[place_M]):
        raise ValueError("the steps of an episode must follow each other")
    longest = int(length_E.max(initial=0))
    # A row per position, so that the loop below runs over contiguous rows of E numbers.
    reward_LE = np.zeros((longest, len(first_E)))
    value_LE = np.zeros((longest + 1, len(first_E)))
    reward_LE[step_M, place_M] = reward_M
    value_LE[step_M, place_M] = value_M
    advantage_LE = reward_LE + discount * value_LE[1:] - value_LE[:-1]
    for step in range(longest - 2, -1, -1):
        advantage_LE[step] += discount * trace * advantage_LE[step + 1]
    advantage_M = advantage_LE[step_M, place_M]
    return advantage_M, advantage_M + value_M


def to_go(reward_M: Float, episode_M: Int, *, discount: float = 1.0) -> Float:
    """Sum what an episode is paid from each step on, shape (M,); arguments as for `gae`."""
    return gae(reward_M, np.zeros_like(reward_M), episode_M, discount=discount, trace=1.0)[0]


def whiten(advantage_M: Float) -> Float:
    """Give the advantages of a batch mean 0 and standard deviation 1; equal ones become 0."""
    return standardise(advantage_M, np.zeros(len(advantage_M), dtype=np.int64), "batch")


def token_rewards(reward_N: Float, tokens_N: Int) -> Float:
    """Pay each turn at its last token.

    Args:
        reward_N: Payment of N turns.
        tokens_N: Tokens that the policy sampled in each, >= 1.

    Returns:
        Payment of each token, shape (sum of `tokens_N`,).

    Raises:
        ValueError: A turn has no token.
    """
    if len(tokens_N) and tokens_N.min() < 1:
        raise ValueError(f"turn {int(tokens_N.argmin())} has {tokens_N.min()} tokens; it needs 1")
    reward_M = np.zeros(int(tokens_N.sum()))
    reward_M[np.cumsum(tokens_N) - 1] = reward_N
    return reward_M


def spread(value_N: Any, tokens_N: Int) -> Any:
    """Give the number of each turn to all its tokens, shape (sum of `tokens_N`,)."""
    return np.repeat(value_N, tokens_N)
