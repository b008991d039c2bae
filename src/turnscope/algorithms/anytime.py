"""Anytime credit: full budget, and credit under all budgets of BudgetMix at once.

Source:
    Qi et al. 2025, arXiv:2505.13438; how turns differ from tokens is said in
    `turnscope.advantages.anytime`.
"""

from functools import partial

from turnscope.advantages import Float, TurnBatch
from turnscope.advantages.anytime import anytime
from turnscope.algorithms._arm import Algorithm, full, known, outcome
from turnscope.algorithms._mix import Mix
from turnscope.budgets import grid


def make(
    *,
    interval: float = 0.1,
    distribution: str = "uniform",
    decay: float = 0.8,
    scale: str = "group",
) -> Algorithm:
    """Make the arm.

    Args:
        interval: See `turnscope.algorithms._mix.Mix`, as for the next two.
        distribution: `uniform` or `geometric`.
        decay: Of the geometric distribution.
        scale: Division of the centred credit, see `turnscope.advantages.deviation`; `none` as
            published.

    Raises:
        ValueError: An option is out of range.
    """
    mix = Mix(interval, distribution, decay)
    return Algorithm(
        turns=full, rewards=outcome, credit=partial(at_all_budgets, mix=mix, scale=known(scale))
    )


def at_all_budgets(batch: TurnBatch, *, mix: Mix, scale: str) -> Float:
    """Credit a batch under the budgets of a mix; its first turn tells the full budget."""
    budgets = grid(mix.shares, int(batch.turn_N[0] + batch.left_N[0]))
    return anytime(batch, budgets=budgets, weights=mix.weights(), scale=scale)
