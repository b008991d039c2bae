import numpy as np
from hypothesis import given

from tests.advantages.by_hand import batch, batches
from tests.algorithms.by_hand import credit, moment
from turnscope.algorithms import gigpo, grpo

PAIR = batch([[0, 1], [0, 0, 0]], [0, 0], states=[[0, 1], [0, 0, 1]])


@given(batches())
def test_weight_0_is_grpo(made):
    np.testing.assert_array_equal(credit(gigpo.make(weight=0), made), credit(grpo.make(), made))


def test_options_reach_the_credit():
    # Worked out in tests/advantages/test_anchors.py.
    plain = credit(gigpo.make(scale="none", discount=0.5), PAIR)
    np.testing.assert_allclose(plain, [5 / 6, 1, -2 / 3, -2 / 3, -1], rtol=1e-14)
    left = credit(gigpo.make(anchor="state+remaining", scale="none", discount=0.5), PAIR)
    np.testing.assert_allclose(left, [0.75, 0.5, -0.75, -0.5, -0.5], rtol=1e-14)
    steps = credit(gigpo.make(scale="none", weight=0, episode_stats="steps"), PAIR)
    np.testing.assert_allclose(steps, [0.6, 0.6, -0.4, -0.4, -0.4], rtol=1e-14)


def test_the_budget_is_full_and_not_told():
    assert gigpo.make().turns(moment(turns=20)) == 20
    assert not gigpo.make().told
