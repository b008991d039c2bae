import pytest

from tests.algorithms.by_hand import moment
from turnscope.algorithms import tight


@pytest.mark.parametrize(("share", "turns"), [(0.25, 5), (0.5, 10), (0.75, 15), (1.0, 20)])
def test_the_budget_is_the_share_at_every_step_and_for_every_task(share, turns):
    made = tight.make(share=share)
    for step in range(10):
        assert made.turns(moment(step=step, task=f"task {step}", turns=20)) == turns


def test_turns_are_rounded_up():
    assert tight.make(share=0.25).turns(moment(turns=1)) == 1
    assert tight.make(share=0.25).turns(moment(turns=5)) == 2
