import pytest

from tests.algorithms.by_hand import episode, moment
from turnscope.algorithms import speed_shaped
from turnscope.types import StopReason


def test_success_is_paid_by_the_share_of_budgets_that_allow_it():
    # Budgets 2, 4, ..., 20: one of them ends before turn 3, nine before turn 19.
    made = speed_shaped.make()
    for turn, paid in ((1, 1.0), (2, 1.0), (3, 0.9), (18, 0.2), (19, 0.1), (20, 0.1)):
        rewards = made.rewards(episode([0.0] * (turn - 1) + [1.0]), moment(turns=20))
        assert rewards == pytest.approx([0.0] * (turn - 1) + [paid])


def test_a_geometric_mix_discounts():
    made = speed_shaped.make(interval=0.25, distribution="geometric", decay=0.5)
    assert made.rewards(episode([0.0, 0.0, 1.0]), moment(turns=4)) == pytest.approx([0, 0, 0.25])


def test_every_payment_counts_as_often_as_its_turn_is_played():
    made = speed_shaped.make(interval=0.5)
    rewards = made.rewards(episode([0.5, 0.0, 0.5, 1.0]), moment(turns=4))
    assert rewards == pytest.approx([0.5, 0, 0.25, 0.5])


def test_clipping_is_that_of_the_mix():
    made = speed_shaped.make(interval=0.25, clip=True)
    assert made.rewards(episode([0.0, 0.0, 1.0]), moment(turns=4, least=3))[-1] == pytest.approx(1)


def test_failure_is_not_paid_and_the_budget_is_full():
    made = speed_shaped.make()
    assert made.rewards(episode([0.0] * 20, StopReason.BUDGET), moment()) == [0.0] * 20
    assert made.turns(moment(turns=20)) == 20
