from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.played import batch_of, credited, episode, turn
from tests.toys import Hall, Speaker, hall
from turnscope import draws, practice, registry
from turnscope.advantages import TurnBatch
from turnscope.algorithms import grpo, ppo
from turnscope.algorithms._arm import Algorithm, Moment, full, outcome
from turnscope.critic import Critic, value
from turnscope.practice import Batch, Recipe, Study, credit, tokens
from turnscope.training._layout import spread
from turnscope.types import Budget, Episode, Quality, StopReason, Task

RECIPE = Recipe(steps=2, tasks=4, group=4, learning_rate=1e-3, checkpoint_steps=2)


def study(tasks: list[Task], **changes: Any) -> Study:
    usual = Study(Hall, tasks, Budget(turns=6, turn_tokens=4), grpo.make(), 0)
    return replace(usual, **changes)


def test_the_layout_of_tokens_by_hand():
    played = episode(turn([1, 2, 3], [4, 5]), turn([6], [7]), turn([8, 9], [4, 4, 5]))
    assert tokens(played, 99) == (
        [1, 2, 3],
        [4, 5, 6, 7, 8, 9, 4, 4, 5],
        [1, 1, 0, 1, 0, 0, 1, 1, 1],
    )
    assert tokens(episode(turn([1], [2])), 99) == ([1], [2], [1])


def test_where_the_policys_tokens_lie_by_hand():
    played = episode(turn([1, 2, 3], [4, 5]), turn([6], [7]), turn([8, 9], [4, 4, 5]))
    assert played.spans() == [(0, 2), (3, 4), (6, 9)]
    assert played.tokens == 6
    assert (episode().spans(), episode().tokens) == ([], 0)


def test_an_episode_that_failed_keeps_its_tokens_and_teaches_nothing():
    failed = replace(episode(turn([1], [2]), turn([3], [4])), stop=StopReason.ERROR)
    assert tokens(failed, 99) == ([1], [2, 3, 4], [0, 0, 0])
    assert tokens(replace(failed, turns=[]), 99) == ([99], [99], [0])


def test_credit_by_hand():
    # Group 0: returns 1 and 0, one failed; group 1: returns 2, 2, 0.5.
    episodes = [
        episode(turn([], [1]), turn([], [1], 1.0)),
        episode(turn([], [1], 9.0), stop=StopReason.ERROR),
        episode(turn([], [1])),
        episode(turn([], [1], 2.0)),
        episode(turn([], [1], 1.5), turn([], [1], 0.5)),
        episode(turn([], [1], 0.5)),
    ]
    got = credited(grpo.make(scale="none"), episodes, [5] * 6, 3)
    assert [part.tolist() for part in got] == [[0.5, 0.5], [0.0], [-0.5], [0.5], [0.5, 0.5], [-1.0]]
    scaled = credited(grpo.make(), episodes, [5] * 6, 3)
    one, two = 0.5**0.5 + 1e-4, (2 * 0.25 / 2 + 1 / 2) ** 0.5 + 1e-4
    expected = [0.5 / one] * 2 + [0] + [-0.5 / one] + [0.5 / two] * 3 + [-1 / two]
    np.testing.assert_allclose(np.concatenate(scaled), expected, rtol=1e-12)


def test_where_all_or_all_but_one_failed_nothing_is_earned():
    failed = episode(stop=StopReason.ERROR)
    alone = episode(turn([], [1], 1.0))
    assert [part.tolist() for part in credited(grpo.make(), [failed, alone], [5, 5], 2)] == [
        [],
        [0],
    ]
    assert [part.tolist() for part in credited(grpo.make(), [failed] * 2, [5, 5], 2)] == [[], []]


def test_a_pass_takes_tasks_once_in_another_order_and_steps_do_not_span_passes():
    what, recipe = study(halls(10)), replace(RECIPE, steps=5, tasks=4)
    places = practice.order(what, recipe)
    assert len(places) == 20
    passes = [places[:8], places[8:16]]
    assert all(len(set(each)) == 8 for each in passes)
    assert passes[0] != passes[1]
    assert set(places) == set(range(10))  # those that sat out come in another pass
    assert practice.order(what, replace(recipe, steps=3)) == places[:12]
    assert practice.order(replace(what, seed=what.seed + 1), recipe) != places
    even = practice.order(what, replace(recipe, tasks=5, steps=4))
    assert sorted(even[:10]) == sorted(even[10:]) == list(range(10))


def test_tokens_do_not_enter_credit():
    short = [episode(turn([1], [2], 1.0)), episode(turn([1], [2]))]
    long = [
        episode(replace(e.turns[0], context_ids=[7] * 50, action_ids=[8] * 9, observation="x" * 99))
        for e in short
    ]
    one, two = (credited(grpo.make(), each, [5, 5], 2) for each in (short, long))
    assert [part.tolist() for part in one] == [part.tolist() for part in two]


def test_what_an_estimator_is_told():
    told: list[TurnBatch] = []

    def watch(batch: TurnBatch) -> np.ndarray:
        told.append(batch)
        return batch.reward_N * 0

    arm = Algorithm(full, outcome, watch)
    episodes = [
        episode(turn([], [1], key="a"), turn([], [1], 1.0, "b")),
        episode(turn([], [1], key="a")),
        episode(stop=StopReason.ERROR),
        episode(turn([], [1], key="b"), turn([], [1], key="b")),
    ]
    got = credited(arm, episodes, [5, 5, 3, 3], 2)
    assert [len(part) for part in got] == [2, 1, 0, 2]
    (batch,) = told
    assert batch.episode_N.tolist() == [0, 0, 1, 3, 3]
    assert batch.group_N.tolist() == [0, 0, 0, 1, 1]
    assert batch.turn_N.tolist() == [0, 1, 0, 0, 1]
    assert batch.left_N.tolist() == [5, 4, 5, 3, 2]
    assert batch.reward_N.tolist() == [0, 1, 0, 0, 0]
    a, b, a_again, other, other_again = batch.state_N.tolist()
    assert a == a_again != b
    assert other == other_again
    assert other not in (a, b)  # the same name in another task is another state


def test_rewards_of_the_wrong_number_are_refused():
    arm = Algorithm(full, lambda episode, moment: [1.0], grpo.make().credit)
    with pytest.raises(ValueError, match="reward"):
        credited(arm, [episode(turn([], [1]), turn([], [1]))] * 2, [5, 5], 2)


def halls(number: int) -> list[Task]:
    return [hall(3, f"h{i}", slip=0.4) for i in range(number)]


def play(what: Study, tasks: list[Task], step: int = 0, recipe: Recipe = RECIPE) -> Batch:
    return practice.play(what, Speaker(0.6), [t for t in tasks for _ in range(4)], step, recipe)


def test_schedules_give_each_group_one_budget():
    moments: list[Moment] = []

    def schedule(moment: Moment) -> int:
        moments.append(moment)
        return 1 + int(moment.task_id[1:]) % 3

    arm = replace(grpo.make(), turns=schedule, told=True)
    what = study(halls(3), algorithm=arm, seed=7)
    batch = play(what, halls(3), step=5)
    assert batch.budgets == [1] * 4 + [2] * 4 + [3] * 4
    assert all(len(e.turns) <= b for e, b in zip(batch.episodes, batch.budgets, strict=True))
    assert {(m.seed, m.step, m.steps, m.turns) for m in moments} == {(7, 5, 2, 6)}
    first = [e.turns[0].observation for e in batch.episodes]
    assert first == [f"at=0\nturns left {b}" for b in batch.budgets]


@pytest.mark.parametrize("turns", [0, 7])
def test_a_schedule_out_of_range_is_refused(turns):
    arm = replace(grpo.make(), turns=lambda moment: turns)
    with pytest.raises(ValueError, match=rf"{turns}.*1 to 6"):
        play(study(halls(1), algorithm=arm), halls(1))


def test_draws_depend_on_seed_step_task_and_member_alone():
    what = study(halls(3))
    usual = play(what, halls(3)).episodes
    assert play(what, halls(3)[::-1]).episodes == usual[8:] + usual[4:8] + usual[:4]
    assert play(what, halls(3)[1:2]).episodes == usual[4:8]
    others = [
        play(what, halls(3), step=1).episodes,
        play(replace(what, seed=1), halls(3)).episodes,
    ]
    for other in others:
        same = sum(one == two for one, two in zip(usual, other, strict=True))
        assert same < 4
    assert len({tuple(turn.action for turn in e.turns) for e in usual[:4]}) > 1


def test_seeds_of_steps_are_all_different():
    """The noise of a step is named by (seed, step, task, member)."""
    names = {
        draws.seed("train", seed, step, task, member)
        for seed in range(3)
        for step in range(20)
        for task in ("a", "b")
        for member in range(8)
    }
    assert len(names) == 3 * 20 * 2 * 8


def test_a_critic_leaves_credit_to_the_training_loop():
    got = credited(ppo.make(), [episode(turn([], [1], 1.0)), episode(turn([], [1]))], [5, 5], 2)
    assert [part.tolist() for part in got] == [[0.0], [0.0]]


def test_every_turn_is_graded_with_the_turns_that_its_budget_left():
    asked = []

    def judge(task: Task, state_key: str, action: str, left: int) -> Quality | None:
        asked.append((task.task_id, state_key, left))
        return Quality(0.25, 1.0) if action == "go" else None

    arm = replace(grpo.make(), turns=lambda moment: 2)
    batch = play(study(halls(1), algorithm=arm, quality=judge), halls(1))
    turns = [turn for one in batch.episodes for turn in one.turns]
    lefts = [2 - number for one in batch.episodes for number in range(len(one.turns))]
    states = [turn.state_key for turn in turns]
    assert asked == [("h0", key, left) for key, left in zip(states, lefts, strict=True)]
    known = [turn.action == "go" for turn in turns]
    assert 0 < sum(known) < len(known)
    assert np.isnan(batch.rows.process_N).tolist() == [not one for one in known]
    assert set(batch.rows.process_N[known]) == {-0.75}


def test_schedules_and_rewards_see_the_structural_minimum():
    seen = []

    def rewards(played, moment: Moment) -> list[float]:
        seen.append((moment.task_id, moment.min_turns, moment.turns))
        return outcome(played, moment)

    tasks = [hall(2, "short"), hall(5, "long")]
    play(study(tasks, algorithm=replace(grpo.make(), rewards=rewards)), tasks)
    assert set(seen) == {("short", 2, 6), ("long", 5, 6)}


def wordy(played: Episode, lengths: list[int]) -> Episode:
    """Let the environment say more, or less, before each turn but the first."""
    turns = [
        replace(part, context_ids=[7] * length if number else part.context_ids)
        for number, (part, length) in enumerate(zip(played.turns, lengths, strict=False))
    ]
    return replace(played, turns=turns)


@pytest.mark.parametrize("name", registry.names("algorithms"))
@given(data=st.data())
def test_text_of_the_environment_changes_no_advantage_of_any_arm(name, data):
    arm = registry.load("algorithms", name).make()
    lengths = st.lists(st.integers(0, 5), min_size=4, max_size=4)
    sizes = st.lists(st.integers(1, 3), min_size=1, max_size=4)
    played, counts = [], []
    for number in range(4):
        tokens = data.draw(sizes)
        turns = [turn([1], [2] * size, 0.0, f"s{at}") for at, size in enumerate(tokens)]
        turns[-1] = replace(turns[-1], reward=float(number % 2))
        stop = StopReason.SUCCESS if number % 2 else StopReason.BUDGET
        played.append(replace(episode(*turns), stop=stop))
        counts.append(tokens)
    other = [wordy(one, data.draw(lengths)) for one in played]
    qualities = [[Quality(0.5, 0.5 + 0.1 * at) for at in range(len(each))] for each in counts]
    found = []
    for each in (played, other):
        made = batch_of(arm, each, [4] * 4, 2, qualities)
        if isinstance(arm.credit, Critic):
            for level in ("token", "turn"):
                steps = value.lay(each, made.rewards, level)
                found.append((steps.reward_M.tolist(), steps.tokens_M.tolist()))
        else:
            width = sum(len(part.context_ids) + len(part.action_ids) for part in each[0].turns)
            credit = spread(made, 40 + width)
            found.append([row[row != 0].tolist() for row in credit])
    half = len(found) // 2
    assert found[:half] == found[half:]


@pytest.mark.parametrize(
    ("immediate", "expected"),
    [(False, [-0.75, -0.5, -0.25]), (True, [0.0, 0.0, -0.25])],
)
def test_a_process_reward_is_what_was_given_away_at_each_turn_or_at_the_last(immediate, expected):
    played = episode(turn([1], [2]), turn([3], [4]), turn([5], [6]))
    qualities = [[Quality(value, 1.0) for value in (0.25, 0.5, 0.75)]]
    rows = practice.lay([played], [[0.0, 0.0, 0.0]], qualities, [3], 1, immediate)
    assert rows.process_N.tolist() == expected


def test_an_action_without_a_quality_leaves_what_came_of_it_unknown():
    played = episode(turn([1], [2]), turn([3], [4]), turn([5], [6]))
    qualities = [[Quality(0.25, 1.0), Quality(1.0, 1.0), None]]
    for immediate, known in ((False, [True, True, False]), (True, [True, True, False])):
        rows = practice.lay([played], [[0.0, 0.0, 1.0]], qualities, [3], 1, immediate)
        assert (~np.isnan(rows.process_N)).tolist() == known


def test_losing_early_is_credited_below_failing_first_and_solving_where_quality_is_immediate():
    """Of two programs, one passes what is shown and is lost; three attempts solve the task."""
    episodes = [
        episode(turn([1], [2]), stop=StopReason.FAILURE),
        episode(turn([1], [2]), turn([3], [4]), turn([5], [6]), stop=StopReason.SUCCESS),
    ]
    qualities = [[Quality(0.875, 1.0)], [Quality(value, 1.0) for value in (0.25, 0.5, 1.0)]]
    rows = practice.lay(episodes, [[0.0], [0.0, 0.0, 1.0]], qualities, [6, 6], 2, True)
    arm = registry.load("algorithms", "oracle_process").make()
    lost, solved = credit(arm, episodes, rows)
    assert lost[0] < -1 < 1 < solved[0]
