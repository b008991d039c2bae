"""What holds for every arm, also for one that is added tomorrow."""

import inspect

import numpy as np
import pytest

from tests.advantages.by_hand import batch
from tests.algorithms.by_hand import episode, moment
from turnscope import registry
from turnscope.advantages import SCALES
from turnscope.algorithms._arm import Critic
from turnscope.types import StopReason

NAMES = registry.names("algorithms")


@pytest.fixture(params=NAMES)
def make(request):
    return registry.load("algorithms", request.param).make


def test_budgets_are_legal(make):
    algorithm = make()
    for turns in (1, 2, 7, 20):
        for step in range(12):
            for least in (None, 1, 5, 30):
                at = moment(step=step, steps=12, turns=turns, least=least)
                assert 1 <= algorithm.turns(at) <= turns
                assert algorithm.turns(at) == algorithm.turns(at)


def test_every_turn_is_paid(make):
    algorithm = make()
    for rewards in ([1.0], [0.0, 0.0, 1.0], [0.0, 0.5, 0.25]):
        assert len(algorithm.rewards(episode(rewards), moment())) == len(rewards)
    assert algorithm.rewards(episode([0.0] * 3, StopReason.BUDGET), moment()) == [0, 0, 0]


def test_success_is_paid_and_not_more_than_it_is_worth(make):
    first, *_ = make().rewards(episode([1.0]), moment())
    assert first == pytest.approx(1.0)
    late = make().rewards(episode([0.0] * 19 + [1.0]), moment())
    assert late[:-1] == [0.0] * 19
    assert 0 < late[-1] <= 1


def test_credit_is_one_finite_number_for_each_turn(make):
    credit = make().credit
    if isinstance(credit, Critic):
        return
    made = batch([[0, 1], [0, 0, 0]], [0, 0], process=[[-0.1, 0.0], [-0.2, 0.0, 0.0]])
    advantage_N = credit(made)
    assert advantage_N.shape == (5,)
    assert np.isfinite(advantage_N).all()
    assert advantage_N[1] > 0 > advantage_N[2]


def test_equal_episodes_teach_nothing(make):
    credit = make().credit
    if isinstance(credit, Critic):
        return
    made = batch([[0, 1], [0, 1]], [0, 0], [[0, 1], [0, 1]], [[0.0, 0.0], [0.0, 0.0]])
    assert credit(made).tolist() == [0, 0, 0, 0]


def test_an_unknown_scale_is_refused_in_one_line(make):
    if "scale" not in inspect.signature(make).parameters:
        return
    with pytest.raises(ValueError, match=f"scale is 'std'; legal is {', '.join(SCALES)}") as caught:
        make(scale="std")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("gigpo", {"anchor": "text"}, "anchor is 'text'"),
        ("gigpo", {"weight": -1.0}, "weight is -1.0"),
        ("gigpo", {"discount": 0.0}, "discount is 0.0"),
        ("gigpo", {"discount": 1.1}, "discount is 1.1"),
        ("gigpo", {"episode_stats": "rows"}, "episode_stats is 'rows'"),
        ("oracle_process", {"weight": 0.0}, "weight is 0.0"),
        ("ppo", {"level": "sentence"}, "level is 'sentence'; legal is token, turn"),
        ("ppo", {"discount": 0.0}, "discount is 0.0"),
        ("ppo", {"trace": 1.5}, "trace is 1.5"),
        ("ppo", {"learning_rate": 0.0}, "learning_rate is 0.0"),
        ("ppo", {"clip": -0.5}, "clip is -0.5"),
        ("ppo", {"epochs": 0}, "epochs is 0"),
        ("ppo", {"warmup": -1}, "warmup is -1"),
        ("budget_mix", {"interval": 0.3}, "interval is 0.3"),
        ("speed_shaped", {"distribution": "normal"}, "distribution is 'normal'"),
        ("anytime", {"decay": 2.0}, "decay is 2.0"),
        ("tight", {"share": 0.0}, "share is 0.0"),
        ("tight", {"share": 1.5}, "share is 1.5"),
        ("curriculum", {"schedule": "steep"}, "schedule is 'steep'; legal is tti, scaling_inter"),
        ("curriculum", {"least": 0.0}, "least is 0.0"),
        ("curriculum", {"least": 0.1, "iterations": 5}, "iterations is 5"),
        ("curriculum", {"shares": [1.0, 0.5, 1.0]}, "shares is"),
        ("curriculum", {"shares": [0.5, 0.9]}, "shares is"),
        ("curriculum", {"shares": []}, "shares is"),
        ("curriculum", {"shares": [0.0, 1.0]}, "shares is"),
    ],
)
def test_what_is_out_of_range_is_refused_in_one_line(name, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        registry.load("algorithms", name).make(**options)
    assert "\n" not in str(caught.value)
