"""Credit under several turn budgets at once, from episodes played under the largest."""

from collections.abc import Sequence

import numpy as np

from turnscope.advantages import Float, TurnBatch, placed, standardise


def anytime(
    batch: TurnBatch, *, budgets: Sequence[int], weights: Sequence[float], scale: str = "none"
) -> Float:
    """Credit each turn with what is paid under the budgets that it can still influence.

    A turn after B_(j-1) and within B_j gets the sum over l >= j of P_l times what its episode was
    paid within B_l, less the mean of that sum over all episodes of the group, those that ended
    before the turn included. A mean over those that got as far would be biased, because the policy
    decides who does.

    Where success ends an episode, a solved episode gets P(B >= turn of success) at each of its
    turns: what `speed_shaped` pays. What differs is the baseline, which falls from segment to
    segment as members are solved.

    Args:
        batch: N turns.
        budgets: B_1 <= ... <= B_m, turns. Turns after the last one get 0.
        weights: P_1, ..., P_m, probability of each budget.
        scale: Division of the centred sums of a segment, see `deviation`.

    Returns:
        Advantages, shape (N,).

    Raises:
        ValueError: Budgets do not rise, differ in number from the weights, or there is no such
            scale.

    Source:
        Qi et al. 2025, arXiv:2505.13438 (AnytimeReasoner), and its code.
        Differs: a segment is made of turns, and what counts at a budget is what was paid until
        then, without asking for a summary. The baseline is its group mean alone; BRPO mixes that
        with the rewards of the same episode at earlier budgets. Those are 0 wherever a turn is
        left to credit, because success ends an episode, and mixing 0 in would shrink the baseline
        more from segment to segment, which makes the mean gradient another one for a finite group.
        `scale` may divide; theirs does not.
    """
    budget_J, weight_J = np.asarray(budgets), np.asarray(weights, dtype=np.float64)
    if budget_J.shape != weight_J.shape:
        raise ValueError(
            f"{len(budgets)} budgets have {len(weights)} weights; they must be as many"
        )
    if np.any(np.diff(budget_J) < 0):
        raise ValueError(f"budgets {list(budgets)} do not rise")
    first_E, episode_N = placed(batch)
    segment_N = np.searchsorted(budget_J, batch.turn_N + 1)
    paid_EJ = np.zeros((len(first_E), len(budget_J) + 1))
    np.add.at(paid_EJ, (episode_N, segment_N), batch.reward_N)
    value_EJ = np.cumsum(paid_EJ[:, :-1], axis=1) * weight_J
    ahead_EJ = np.cumsum(value_EJ[:, ::-1], axis=1)[:, ::-1]
    credit_EJ = np.zeros_like(paid_EJ)
    for j in range(len(budget_J)):
        credit_EJ[:, j] = standardise(ahead_EJ[:, j], batch.group_N[first_E], scale)
    return credit_EJ[episode_N, segment_N]
