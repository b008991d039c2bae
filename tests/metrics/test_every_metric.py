import pytest

from tests.simulated import study
from turnscope import registry, schemas, tables
from turnscope.metrics import EPISODES, TASKS, Settings

SETTINGS = Settings(ks=[1, 4], k=4, shares=[0.3, 1.0], draws=100, seed=1)


@pytest.mark.parametrize("name", registry.names("metrics"))
def test_the_declared_columns_are_enough(name):
    assert set(TASKS) <= set(schemas.TASKS.names)
    assert set(EPISODES) <= set(schemas.EPISODES.names)
    tasks, episodes = study(1, tasks=20, episodes=8, resampled=[6], resampled_tasks=10)
    estimate = registry.load("metrics", name).estimate
    found = estimate(tasks[TASKS], episodes[EPISODES], SETTINGS)
    assert len(found)
    assert found.equals(estimate(tasks, episodes, SETTINGS))
    assert tables.conform(found, "estimates").num_rows == len(found)
