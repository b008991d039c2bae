import pandas as pd
import pytest

from tests import duels, likely
from tests.metrics import continued
from tests.simulated import heated, progress, study, training, turns
from turnscope import registry, schemas, tables
from turnscope.metrics import COLUMNS, TASKS, Settings

SETTINGS = Settings(ks=[1, 4], k=4, shares=[0.3, 1.0], draws=100, seed=1, reference="grpo")

KINDS = {name: name for name in schemas.TABLES} | {"heated": "episodes"}
"""Table of each source."""


@pytest.fixture(scope="module")
def frames():
    test_tasks, episodes = study(
        1, tasks=20, episodes=8, resampled=[6], resampled_tasks=10, told=[5, 20]
    )
    arms = [episodes]
    for policy in ("grpo-s0", "grpo-s1"):
        copied = episodes.loc[episodes["policy"] == policy]
        arms.append(copied.assign(policy=policy.replace("grpo", "other")))
    whole = episodes.loc[~episodes["told"] & (episodes["budget"] == 20)].reset_index(drop=True)
    ids = test_tasks.loc[test_tasks["split"] == "test", "task_id"].tolist()
    leads = {"grpo-s0": 0.1, "grpo-s1": 0.1, "other-s0": 0.0, "other-s1": 0.0}
    return {
        "tasks": test_tasks,
        "episodes": pd.concat(arms, ignore_index=True),
        "progress": progress(1, test_tasks),
        "training": training(1),
        "turns": turns(whole),
        "actions": duels.actions(1, test_tasks),
        "continuations": continued.continuations(1, ids, leads, injected=5),
        "likelihood": likely.rows(1, ids, {"grpo-s0": 0.3, "grpo-s1": 0.5}),
        "heated": heated(whole),
    }


@pytest.mark.parametrize("name", registry.names("metrics"))
def test_the_declared_columns_are_enough(name, frames):
    metric = registry.load("metrics", name)
    source = getattr(metric, "SOURCE", "episodes")
    tasks, rows = frames["tasks"], frames[source]
    found = metric.estimate(tasks[TASKS], rows[COLUMNS[source]], SETTINGS)
    assert len(found)
    assert found.equals(metric.estimate(tasks, rows, SETTINGS))
    assert tables.conform(found, "estimates").num_rows == len(found)


@pytest.mark.parametrize("table", COLUMNS)
def test_declared_columns_are_those_of_the_table(table):
    assert set(TASKS) <= set(schemas.TASKS.names)
    assert set(COLUMNS[table]) <= set(schemas.TABLES[KINDS[table]].names)


def test_made_up_frames_are_those_of_the_tables(frames):
    for table, frame in frames.items():
        assert tables.conform(frame, KINDS[table]).num_rows == len(frame)
