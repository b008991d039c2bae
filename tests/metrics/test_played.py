import numpy as np
import pytest

from tests.metrics.by_hand import SETTINGS, tasks, turns
from turnscope.metrics import _played

PLAYED = turns(
    {
        "grpo-s0": {"b": [([0.5, 0.5], True)], "a": [([0.7], True)]},
        "base": {"a": [([0.9, 0.8, 0.7], False), ([0.9], None)], "b": [([0.4], True)]},
    }
)


def read(frame):
    played = _played.read(tasks("abc"), frame, SETTINGS)
    assert played is not None
    return played


def test_turns_are_gathered_into_episodes():
    played = read(PLAYED)
    assert played.task_ids == ["a", "b"]
    assert played.study.t_max == 3
    base, trained = played.study.outcomes["base"], played.study.outcomes["grpo-s0"]
    assert base.n_N.tolist() == [1, 1]
    assert base.c_NT.tolist() == [[0, 0, 0], [1, 1, 1]]
    assert trained.c_NT.tolist() == [[1, 1, 1], [0, 1, 1]]


def test_the_order_of_the_turns_does_not_matter():
    shuffled = PLAYED.sample(frac=1, random_state=2)
    for frame in (PLAYED, shuffled):
        played = read(frame)
        best_NC = [one.x_NKT[:, 0] for one in _played.means(played, np.nan_to_num(best(played)))]
        np.testing.assert_allclose(best_NC[0], [[0.9, 0.8, 0.7], [0.4, 0, 0]])
        np.testing.assert_allclose(best_NC[1], [[0.7, 0, 0], [0.5, 0.5, 0]])


def best(played):
    return _played.surface(played, "best")


def test_a_column_is_undefined_after_the_last_turn():
    played = read(PLAYED)
    lengths = (~np.isnan(best(played))).sum(axis=1)
    assert lengths.tolist() == played.episodes["turns"].tolist()


def test_what_is_unknown_leaves_its_task_out():
    played = read(PLAYED)
    base = _played.means(played, best(played))[0]
    assert np.isnan(base.x_NKT[1, 0, 1:]).all()
    assert base.x_NKT[0, 0].tolist() == [0.9, 0.8, 0.7]  # the failed episode is not in it


def test_without_turns_there_is_nothing():
    assert _played.read(tasks("a"), PLAYED.iloc[:0], SETTINGS) is None


def test_a_policy_without_episodes_of_a_task_is_named():
    with pytest.raises(ValueError, match="grpo-s0"):
        read(PLAYED.loc[(PLAYED["policy"] == "base") | (PLAYED["task_id"] == "a")])
