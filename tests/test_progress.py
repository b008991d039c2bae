from collections import Counter
from dataclasses import replace

import pytest

from tests.toys import Hall, Speaker, hall
from turnscope import progress, tables
from turnscope.algorithms import grpo
from turnscope.practice import Study
from turnscope.progress import Exam
from turnscope.types import Budget, Quality, Task

BUDGET = Budget(turns=8, turn_tokens=4)
TASKS = [hall(6, f"h{number}", slip=0.3) for number in range(5)]
WHO = {"env": "hall", "model": "nano", "policy": "base"}


def judge(task: Task, state_key: str, action: str, left: int) -> Quality | None:
    return Quality(float(action == "go"), left / 8)


STUDY = Study(Hall, [], BUDGET, grpo.make(), 0, judge)


def chosen(states: int = 24, tasks=TASKS, **changes):
    how = {"policy": Speaker(0.6), "seed": 1} | changes
    return progress.choose(Hall, tasks, BUDGET, how["policy"], how["seed"], states, WHO)


def exam(states, **changes) -> Exam:
    return replace(Exam(TASKS, 3, 4, states, 1), **changes)


def test_probe_states_are_different_and_spread_over_the_budget():
    states = chosen()
    keys = [(one["task_id"], one["state_key"], one["turn"]) for one in states]
    assert len(set(keys)) == len(keys) == 24
    assert set(Counter(one["turn"] * 4 // 8 for one in states).values()) == {6}
    for one in states:
        assert len(one["actions"]) == len(one["state_keys"]) == one["turn"]
    assert chosen() == states
    assert chosen(seed=2) != states


def test_all_states_are_taken_where_there_are_few():
    short = [hall(1, "short")]
    (only,) = chosen(24, short, policy=Speaker(1.0))
    assert (only["state_key"], only["turn"], only["actions"]) == ("p0", 0, [])


def test_states_survive_their_table(tmp_path):
    states = chosen()
    tables.write(tables.conform(states, "states"), tmp_path / "states.parquet", "states")
    again = tables.read(tmp_path / "states.parquet", "states").to_dict("records")
    one, two = (progress.examine(STUDY, exam(s), Speaker(0.5)) for s in (states, again))
    assert one == two


def test_an_exam_by_hand():
    """A policy that always goes, in halls where no step slips."""
    tasks = [hall(3, "h3"), hall(9, "h9")]
    states = chosen(4, tasks, policy=Speaker(1.0))
    rows = progress.examine(STUDY, exam(states, tasks=tasks, episodes=2), Speaker(1.0))
    own = [row for row in rows if row["source"] == "policy"]
    assert Counter((row["task_id"], row["place"]) for row in own) == {
        ("h3", 0): 3,
        ("h3", 1): 3,
        ("h9", 0): 8,
        ("h9", 1): 8,
    }
    assert {(row["task_id"], row["success"]) for row in own} == {("h3", True), ("h9", False)}
    assert [(row["turn"], row["left"], row["best"]) for row in own[:3]] == [
        (0, 8, 1.0),
        (1, 7, 0.875),
        (2, 6, 0.75),
    ]
    probes = [row for row in rows if row["source"] == "probe"]
    assert [row["place"] for row in probes] == [n for n in range(len(states)) for _ in range(4)]
    assert {row["quality"] for row in rows} == {1.0}
    assert {row["success"] for row in probes} == {None}


def test_probes_act_in_the_states_themselves():
    states = chosen()
    asked = []

    def watch(task: Task, state_key: str, action: str, left: int) -> Quality | None:
        asked.append((task.task_id, state_key, 8 - left))
        return None

    rows = progress.examine(replace(STUDY, quality=watch), exam(states, episodes=0), Speaker(0.5))
    expected = [(s["task_id"], s["state_key"], s["turn"]) for s in states for _ in range(4)]
    assert asked == expected
    assert all(row["quality"] is None for row in rows)


def test_another_policy_meets_the_same_noise_and_actions_differ_between_attempts():
    states = chosen()
    one, two = (progress.examine(STUDY, exam(states), Speaker(0.5)) for _ in range(2))
    assert one == two
    groups = [[row["quality"] for row in one if row["place"] == n][-4:] for n in range(24)]
    assert sum(len(set(group)) > 1 for group in groups) > 10
    assert progress.examine(STUDY, exam(states, seed=2), Speaker(0.5)) != one


def test_episodes_that_failed_are_left_out():
    tasks = [hall(3, "fine"), hall(3, "broken", breaks="reset")]
    rows = progress.examine(STUDY, exam([], tasks=tasks), Speaker(1.0))
    assert {row["task_id"] for row in rows} == {"fine"}


def test_policies_that_are_told_their_budget_are_told_in_their_own_episodes_alone():
    seen: list[tuple[int, str, int, int]] = []
    states = chosen()
    told = replace(STUDY, algorithm=replace(grpo.make(), told=True))
    progress.examine(told, exam(states, episodes=1), Speaker(0.5, seen))
    own = [text for row, text, _, left in seen if "turns left" in text]
    assert len(own) >= len(TASKS)
    assert any("turns left" not in text for _, text, _, _ in seen)


@pytest.mark.parametrize("left", [1, 4])
def test_a_state_that_cannot_be_reached_again_stops_the_run(left):
    states = [one for one in chosen() if one["turn"] >= left]
    states[0]["state_keys"][0] = "elsewhere"
    with pytest.raises(ValueError, match="elsewhere"):
        progress.examine(STUDY, exam(states), Speaker(0.5))
