import numpy as np

from tests.advantages.by_hand import batch
from tests.algorithms.by_hand import credit, episode, moment
from turnscope.algorithms import anytime, speed_shaped


def test_budgets_are_parts_of_that_of_the_batch():
    # Budgets 2 and 4, equally likely: solved at 2 is worth 1 and at 4 a half.
    made = batch([[0, 1], [0, 0, 0, 1]], [0, 0], budget=4)
    advantage_N = credit(anytime.make(interval=0.5, scale="none"), made)
    # Ahead of the first segment 1 and 1/2: mean 3/4. Of the second 1/2 and 1/2.
    np.testing.assert_allclose(advantage_N, [0.25, 0.25, -0.25, -0.25, 0, 0], atol=1e-15)


def test_before_the_baseline_credit_is_speed_shaped():
    """An unsolved partner makes the baseline of the first segment half of what was won."""
    mix = {"interval": 0.25, "distribution": "geometric", "decay": 0.5}
    won = speed_shaped.make(**mix).rewards(episode([0.0, 0.0, 1.0]), moment(turns=4))[-1]
    made = batch([[0, 0, 1], [0, 0, 0, 0]], [0, 0], budget=4)
    advantage_N = credit(anytime.make(**mix, scale="none"), made)
    np.testing.assert_allclose(advantage_N[:3], won / 2, rtol=1e-14)
