import math

from turnscope.audits._recorded import Recorded, chosen, differing, same
from turnscope.audits._results import Settings
from turnscope.rollout import Start, rollout
from turnscope.types import Budget, StopReason, Turn


def test_a_sample_depends_on_its_seed_and_name_alone():
    few = Settings(seed=1, episodes=3)
    assert chosen(few, "a", 100) == chosen(few, "a", 100)
    assert len({tuple(chosen(few, name, 100)) for name in "abcdef"}) > 1
    assert chosen(few, "a", 100) != chosen(Settings(seed=2, episodes=3), "a", 100)
    assert chosen(few, "a", 100) == sorted(set(chosen(few, "a", 100)))
    assert chosen(few, "a", 2) == chosen(Settings(episodes=None), "a", 2) == [0, 1]
    assert chosen(Settings(episodes=0), "a", 2) == []


def test_values_are_the_same_if_both_are_missing_or_close():
    assert same(None, math.nan)
    assert not same(None, 0.0)
    assert same(0.5, 0.5 + 1e-12)
    assert not same(0.5, 0.5001)
    assert not same([1, 2], [1])


def test_the_first_difference_is_named_with_both_values():
    assert differing({"a": 1, "b": 2}, {"a": 1, "b": 3}, "ab") == "b is 3, recorded was 2"
    assert differing({"a": 1, "b": 2}, {"a": 1, "b": 3}, "a") is None


def test_recorded_actions_are_said_in_order_and_then_nothing(lakes):
    from turnscope.environments import frozen_lake

    task = lakes[0]
    starts = [Start(task, sample, 5, Budget(3, 4)) for sample in (0, 1)]
    turns = [[Turn("", "", "wait", 0.0, True)], [Turn("", "", text, 0.0, True) for text in "abc"]]
    one, other = rollout(frozen_lake.Environment, starts, Recorded(turns))
    assert [turn.action for turn in one.turns] == ["wait"]
    assert [turn.action for turn in other.turns] == ["a", "b", "c"]
    assert (one.stop, other.stop) == (StopReason.TOKENS, StopReason.BUDGET)
