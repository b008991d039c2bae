from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from tests.algorithms.by_hand import moment
from turnscope.algorithms._mix import Mix

mixes = st.builds(
    Mix,
    interval=st.sampled_from([1.0, 0.5, 1 / 3, 0.25, 0.2, 0.1, 0.05]),
    distribution=st.sampled_from(["uniform", "geometric"]),
    decay=st.sampled_from([0.5, 0.8, 0.95]),
    clip=st.booleans(),
)


def test_the_grid_of_ten():
    mix = Mix()
    assert mix.budgets(moment(turns=20)) == (2, 4, 6, 8, 10, 12, 14, 16, 18, 20)
    assert mix.budgets(moment(turns=15)) == (2, 3, 5, 6, 8, 9, 11, 12, 14, 15)
    assert mix.budgets(moment(turns=5)) == (1, 1, 2, 2, 3, 3, 4, 4, 5, 5)
    assert mix.weights() == pytest.approx([0.1] * 10)


def test_a_geometric_mix_by_hand():
    # At least the first, second, third, fourth budget: 1, 1/2, 1/4, 1/8.
    mix = Mix(interval=0.25, distribution="geometric", decay=0.5)
    assert mix.weights() == (0.5, 0.25, 0.125, 0.125)
    at = moment(turns=8)
    assert [mix.survival(at, turns) for turns in (1, 2, 3, 4, 5, 7, 8, 9)] == [
        1, 1, 0.5, 0.5, 0.25, 0.125, 0.125, 0,
    ]  # fmt: skip


def test_clipping_raises_budgets_that_are_too_small_for_the_task():
    mix = Mix(interval=0.25, clip=True)
    assert mix.budgets(moment(turns=8, least=5)) == (5, 5, 6, 8)
    assert mix.budgets(moment(turns=8, least=None)) == (2, 4, 6, 8)
    assert mix.budgets(moment(turns=8, least=11)) == (8, 8, 8, 8)
    assert Mix(interval=0.25).budgets(moment(turns=8, least=5)) == (2, 4, 6, 8)


@pytest.mark.parametrize("mix", [Mix(), Mix(0.2, "geometric", 0.7), Mix(0.25, clip=True)])
def test_realised_budgets_follow_the_weights(mix):
    number = 4000
    drawn = Counter(mix.draw(moment(task=f"task {i}", turns=20, least=7)) for i in range(number))
    expected = Counter()
    at = moment(turns=20, least=7)
    for budget, weight in zip(mix.budgets(at), mix.weights(), strict=True):
        expected[budget] += weight * number
    assert set(drawn) == set(expected)
    budgets = sorted(expected)
    observed = [drawn[budget] for budget in budgets]
    assert chisquare(observed, [expected[budget] for budget in budgets]).pvalue > 0.01


def test_survival_is_the_share_of_budgets_drawn_that_reach_a_turn():
    mix, number = Mix(0.2, "geometric", 0.7), 4000
    drawn = np.array([mix.draw(moment(task=f"task {i}", turns=10)) for i in range(number)])
    for turns in range(1, 12):
        expected = mix.survival(moment(turns=10), turns)
        error = 4 * np.sqrt(expected * (1 - expected) / number)
        assert abs(np.mean(drawn >= turns) - expected) <= error + 1e-12


def test_a_draw_is_a_function_of_seed_step_and_task():
    mix = Mix()
    one = [mix.draw(moment(seed=1, step=s, task="a", steps=50)) for s in range(50)]
    assert one == [mix.draw(moment(seed=1, step=s, task="a", steps=99)) for s in range(50)]
    for other in ({"seed": 2, "task": "a"}, {"seed": 1, "task": "b"}):
        assert one != [mix.draw(moment(**other, step=s, steps=50)) for s in range(50)]
    assert len(set(one)) > 5


@given(mixes, st.integers(1, 40), st.one_of(st.none(), st.integers(1, 50)), st.integers(0, 99))
def test_every_mix_is_a_distribution_of_legal_budgets(mix, turns, least, step):
    at = moment(turns=turns, least=least, step=step, steps=100)
    budgets = mix.budgets(at)
    assert len(budgets) == len(mix.weights())
    assert list(budgets) == sorted(budgets)
    assert budgets[-1] == turns
    assert budgets[0] >= 1
    assert sum(mix.weights()) == pytest.approx(1)
    assert min(mix.weights()) > 0
    assert mix.draw(at) in budgets
    assert mix.survival(at, 1) == pytest.approx(1)
    assert mix.survival(at, turns + 1) == 0
    if mix.clip and least is not None:
        assert budgets[0] >= min(least, turns)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": 0.3}, "interval is 0.3"),
        ({"interval": 0.0}, "interval is 0.0"),
        ({"interval": -0.5}, "interval is -0.5"),
        ({"interval": 1.5}, "interval is 1.5"),
        ({"interval": 1e-6}, "interval is 1e-06"),
        ({"distribution": "normal"}, "'normal'; legal is uniform, geometric"),
        ({"decay": 0.0}, "decay is 0.0"),
        ({"decay": 1.0}, "decay is 1.0"),
    ],
)
def test_what_is_out_of_range_is_refused_in_one_line(options, message):
    with pytest.raises(ValueError, match=message) as caught:
        Mix(**options)
    assert "\n" not in str(caught.value)
