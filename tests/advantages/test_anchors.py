import numpy as np
from hypothesis import given

from tests.advantages.by_hand import batch, batches, take
from turnscope.advantages.anchors import anchor_sizes, anchors

PAIR = batch([[0, 1], [0, 0, 0]], [0, 0], states=[[0, 1], [0, 0, 1]])


def test_sizes_of_anchor_groups():
    assert anchor_sizes(PAIR) == (2.5, 0.0)
    assert anchor_sizes(PAIR, "state+remaining") == (1.25, 0.6)
    nothing = take(PAIR, np.zeros(0, dtype=int))
    assert np.isnan(anchor_sizes(nothing)).all()


@given(batches())
def test_anchor_groups_are_equal_keys(made):
    keys = list(zip(made.group_N, made.state_N, made.left_N, strict=True))
    number_N = anchors(made, "state+remaining")
    for one, first in zip(number_N, keys, strict=True):
        same = [key == first for key in keys]
        assert (number_N == one).tolist() == same
