import numpy as np

from tests.advantages.by_hand import batch
from tests.algorithms.by_hand import credit
from turnscope.algorithms import oracle_process


def test_it_asks_for_the_quality_of_every_turn():
    assert oracle_process.make().process


def test_options_reach_the_credit():
    made = batch([[0, 1], [0]], [0, 0], process=[[-0.3, 0.0], [-0.6]])
    advantage_N = credit(oracle_process.make(weight=2.0, scale="none"), made)
    np.testing.assert_allclose(advantage_N, [0.8, 0.5, -0.8], rtol=1e-13)
