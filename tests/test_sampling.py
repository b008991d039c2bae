from collections import Counter
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.toys import Hall, Speaker, hall
from turnscope import sampling, tables
from turnscope.sampling import Plan
from turnscope.types import Budget, Episode, StopReason, Task

WHO = {"env": "hall", "model": "m", "policy": "base"}
TASKS = [
    hall(4, "a", slip=0.3),
    hall(2, "b"),
    hall(3, "c", breaks="step", at=1),
    hall(3, "d", breaks="reset"),
    hall(9, "e", slip=0.5),
]


def plan(**changes: Any) -> Plan:
    full = Plan(Hall, TASKS, Budget(turns=6, turn_tokens=4), 3, 4, 1, 1.0, WHO)
    return replace(full, **changes)


def play(what: Plan) -> list[Episode]:
    return [episode for batch in sampling.batches(what, Speaker(0.7)) for episode in batch]


def write(what: Plan, folder: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    paths = folder / "episodes.parquet", folder / "turns.parquet"
    sampling.write([what], Speaker(0.7), *paths)
    return tables.read(paths[0], "episodes"), tables.read(paths[1], "turns")


def test_episodes_come_task_by_task_attempt_by_attempt():
    episodes = play(plan())
    assert [e.task_id for e in episodes] == [name for name in "abcde" for _ in range(3)]
    assert [e.sample for e in episodes] == [0, 1, 2] * 5


def test_batches_do_not_matter():
    assert play(plan(batch=1)) == play(plan(batch=4)) == play(plan(batch=999))
    sizes = [len(batch) for batch in sampling.batches(plan(batch=4), Speaker())]
    assert sizes == [4, 4, 4, 3]


def test_tables_hold_what_was_played(tmp_path):
    heads, turns = write(plan(), tmp_path)
    episodes = play(plan())
    assert len(heads) == len(episodes)
    rows: list[Any] = list(heads.itertuples())
    for row, episode in zip(rows, episodes, strict=True):
        assert (row.env, row.model, row.policy) == ("hall", "m", "base")
        assert (row.task_id, row.sample) == (episode.task_id, episode.sample)
        assert (row.budget, row.told) == (6, False)
        assert (row.turns, row.stop) == (len(episode.turns), str(episode.stop))
        assert row.tokens == sum(len(turn.action_ids) for turn in episode.turns)
        assert row.reward == sum(turn.reward for turn in episode.turns)
        assert (None if pd.isna(row.success) else bool(row.success)) == episode.success
        assert (None if pd.isna(row.error) else row.error) == episode.error
        assert row.final_observation == episode.final_observation
        assert row.final_state_key == episode.final_state_key
    said = [
        (episode, number, turn) for episode in episodes for number, turn in enumerate(episode.turns)
    ]
    assert len(turns) == len(said)
    rows = list(turns.itertuples())
    for row, (episode, number, turn) in zip(rows, said, strict=True):
        assert (row.task_id, row.sample, row.turn) == (episode.task_id, episode.sample, number)
        assert (row.state_key, row.observation) == (turn.state_key, turn.observation)
        assert (row.action, row.valid, row.reward) == (turn.action, turn.valid, turn.reward)
        assert row.context_ids.tolist() == turn.context_ids
        assert row.action_ids.tolist() == turn.action_ids
        assert row.logprobs.tolist() == turn.logprobs
    assert {episode.stop for episode in episodes} >= {StopReason.SUCCESS, StopReason.ERROR}


def test_a_study_whose_environment_is_down_is_written(tmp_path):
    heads, turns = write(plan(tasks=TASKS[3:4]), tmp_path)
    assert heads["success"].isna().all()
    assert len(turns) == 0


def test_equal_plans_give_equal_bytes(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write(plan(batch=2 if name == "one" else 7), tmp_path / name)
    one, two = ((tmp_path / name / "turns.parquet") for name in ("one", "two"))
    assert tables.read(one, "turns").astype(str).equals(tables.read(two, "turns").astype(str))
    write(plan(batch=7), tmp_path / "one")
    assert one.read_bytes() == two.read_bytes()


def test_a_policy_that_fails_leaves_no_table(tmp_path):
    class Weary(Speaker):
        def begin(self, seats):
            if seats[0].task.task_id == "b":
                raise RuntimeError("tired")
            return super().begin(seats)

    paths = tmp_path / "e.parquet", tmp_path / "t.parquet"
    with pytest.raises(RuntimeError, match="tired"):
        sampling.write([plan(batch=3)], Weary(), *paths)
    assert list(tmp_path.iterdir()) == []


def seeds(what: Plan) -> list[int]:
    return [start.seed for start in sampling.starts(what)]


def test_each_attempt_has_its_own_noise():
    assert len(set(seeds(plan(episodes=50)))) == 250


def test_more_attempts_and_other_tasks_keep_the_noise():
    assert seeds(plan(tasks=TASKS[1:2], episodes=2)) == seeds(plan(episodes=9))[9:11]


def test_policies_meet_the_same_noise_and_draw_independently():
    other = plan(who=WHO | {"policy": "grpo-s0"})
    assert seeds(other) == seeds(plan())
    assert sampling.stream(other) != sampling.stream(plan())
    same = [one == two for one, two in zip(play(other), play(plan()), strict=True)]
    assert not all(same)


def test_budgets_draw_and_meet_noise_independently():
    """Their agreement is tested in the study, so nothing may make it trivial."""
    budget = plan().budget
    budgets = [budget, replace(budget, turns=5), replace(budget, told=True)]
    plans = [plan(budget=each) for each in budgets]
    assert len({sampling.stream(each) for each in plans}) == 3
    assert len({seed for each in plans for seed in seeds(each)}) == 3 * 15


def test_studies_and_environments_differ():
    kinds = [plan(), plan(seed=2), plan(who=WHO | {"env": "other"})]
    assert len({seed for each in kinds for seed in seeds(each)}) == 3 * 15
    assert sampling.stream(plan(who=WHO | {"model": "x"})) != sampling.stream(plan())


def tasks_of(strata: list[str]) -> list[Task]:
    return [Task(f"t{i}", "test", s, f"t{i}", {}, None) for i, s in enumerate(strata)]


@given(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=60),
    st.integers(1, 60),
)
def test_strata_keep_their_shares_in_a_subset(strata, number):
    tasks = tasks_of(strata)
    chosen = sampling.subset(tasks, number)
    assert len(chosen) == min(number, len(tasks))
    numbers = [int(task.task_id[1:]) for task in chosen]
    assert numbers == sorted(set(numbers))
    share = min(1, number / len(tasks))
    counts, all_counts = (Counter(t.stratum for t in which) for which in (chosen, tasks))
    assert all(abs(counts[s] - share * all_counts[s]) < 1 for s in all_counts)


@pytest.mark.parametrize("number", [30, 20, 12])
def test_strata_in_turn_are_not_lost_to_the_step(number):
    """Every second task of two strata in turn is always of the same one."""
    counts = Counter(t.stratum for t in sampling.subset(tasks_of(["4x4", "5x5"] * 30), number))
    assert counts["4x4"] == counts["5x5"] == number / 2


def test_no_number_is_all():
    tasks = tasks_of(list("abc"))
    assert sampling.subset(tasks, None) == sampling.subset(tasks, 99) == tasks
