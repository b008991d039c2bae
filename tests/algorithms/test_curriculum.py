from hypothesis import given
from hypothesis import strategies as st

from tests.algorithms.by_hand import moment
from turnscope.algorithms import curriculum


def schedule(made, steps: int, turns: int = 20) -> list[int]:
    return [made.turns(moment(step=step, steps=steps, turns=turns)) for step in range(steps)]


def test_tti_by_hand():
    # A third of 20 turns is 7, two thirds are 14; clipped at 20 from the third of five phases on.
    made = curriculum.make(schedule="tti", least=1 / 3, iterations=5)
    assert schedule(made, 10) == [7, 7, 14, 14, 20, 20, 20, 20, 20, 20]


def test_tti_multiplies():
    made = curriculum.make(schedule="tti", least=0.2, iterations=5)
    assert schedule(made, 5) == [4, 8, 12, 16, 20]


def test_scaling_inter_by_hand():
    made = curriculum.make(schedule="scaling_inter")
    assert schedule(made, 9) == [6, 6, 6, 13, 13, 13, 20, 20, 20]
    assert schedule(made, 7) == [6, 6, 13, 13, 20, 20, 20]


def test_fewer_steps_than_phases_end_with_the_full_budget():
    for name in curriculum.SCHEDULES:
        assert schedule(curriculum.make(schedule=name), 1) == [20]
        assert schedule(curriculum.make(schedule=name), 2)[-1] == 20


rising = st.lists(st.integers(1, 99), max_size=5).map(
    lambda parts: [part / 100 for part in sorted(parts)] + [1.0]
)


@given(rising, st.integers(1, 40), st.integers(1, 30))
def test_scaling_inter_never_falls_and_ends_full(shares, steps, turns):
    made = schedule(curriculum.make(schedule="scaling_inter", shares=shares), steps, turns)
    assert made == sorted(made)
    assert made[-1] == turns
    assert made[0] >= 1


@given(st.integers(1, 9), st.integers(0, 4), st.integers(1, 40), st.integers(1, 30))
def test_tti_never_falls_and_ends_full(parts, more, steps, turns):
    options = {"schedule": "tti", "least": 1 / parts, "iterations": parts + more}
    made = schedule(curriculum.make(**options), steps, turns)
    assert made == sorted(made)
    assert made[-1] == turns
    assert made[0] >= 1


def test_phases_are_equally_long():
    made = schedule(curriculum.make(schedule="scaling_inter"), 300)
    assert [made.count(turns) for turns in (6, 13, 20)] == [100, 100, 100]
