import numpy as np
import pandas as pd
import pytest

from tests.metrics.by_hand import SETTINGS, cell, tasks, turns
from tests.simulated import study
from tests.simulated import turns as lay
from turnscope import sampling, tables
from turnscope.environments import frozen_lake
from turnscope.environments.frozen_lake import lake
from turnscope.metrics import Settings
from turnscope.metrics.handover import estimate
from turnscope.policies import oracle, uniform
from turnscope.types import Budget

PLAYED = {
    "base": {"a": [([0.8, 0.5], False), ([0.8], True), ([0.8, 0.1], None)]},
    "grpo-s0": {"a": [([0.8, 0.7], True), ([0.8, 0.9], True)]},
}


def values(found, metric, policy, against=None):
    return [cell(found, metric, policy, against=against, t=t)["value"] for t in (0, 1, 2)]


def test_by_hand():
    found = estimate(tasks("a"), turns(PLAYED), SETTINGS)
    assert values(found, "handover", "base") == pytest.approx([0.8, 0.75, 0.5])
    assert values(found, "handover", "grpo") == pytest.approx([0.8, 0.8, 1.0])
    assert values(found, "handover", "grpo", "base") == pytest.approx([0, 0.05, 0.5])
    loss = [cell(found, "handover_loss", "base", t=t)["value"] for t in (1, 2)]
    assert loss == pytest.approx([0.05, 0.25])
    gap = [cell(found, "handover_loss", "grpo", against="base", t=t)["value"] for t in (1, 2)]
    assert gap == pytest.approx([-0.05, -0.45])
    assert cell(found, "handover", "base", t=0)["samples"] == 2


def test_losses_sum_to_the_bound_minus_success():
    lakes, played = study(2, tasks=30, episodes=6, t_max=8, errors=0.05)
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=50, seed=1)
    found = estimate(lakes, lay(played), settings)
    test = played.loc[played["success"].notna()].astype({"success": float})
    for policy in ("base", "grpo-s0"):
        losses = found.loc[(found["metric"] == "handover_loss") & found["against"].isna()]
        total = losses.loc[losses["policy"] == policy, "value"].sum()
        own = test.loc[test["policy"] == policy].groupby("task_id")["success"].mean().mean()
        assert total == pytest.approx(0.95 - own)
        assert cell(found, "handover", policy, t=8)["value"] == pytest.approx(own)
    assert tables.conform(found, "estimates").num_rows == len(found)


@pytest.mark.filterwarnings("error")
def test_where_no_quality_is_known_there_is_nothing():
    unknown = {"base": {"a": [([None, None], False)]}}
    found = estimate(tasks("a"), turns(unknown), SETTINGS)
    assert tables.conform(found, "estimates").num_rows == 0


@pytest.fixture(scope="module")
def lakes(tmp_path_factory):
    """Played by a policy that is best, and by one that acts at random."""
    folder = tmp_path_factory.mktemp("lakes")
    problems = frozen_lake.tasks(3, train=0, test=12, sizes=[4], slip=0.2)
    frames = []
    for name, policy in (
        ("base", uniform.Policy(words=lake.WORDS)),
        ("oracle-s0", oracle.Policy(env="frozen_lake")),
    ):
        plan = sampling.Plan(
            environment=frozen_lake.Environment,
            tasks=problems,
            budget=Budget(turns=10, turn_tokens=8),
            episodes=40,
            batch=480,
            seed=1,
            temperature=1.0,
            who={"env": "frozen_lake", "model": "none", "policy": name},
            quality=frozen_lake.step_quality,
        )
        sampling.write([plan], policy, folder / "episodes.parquet", folder / "turns.parquet")
        frames.append(tables.read(folder / "turns.parquet", "turns"))
    names = [task.task_id for task in problems]
    bounds = [frozen_lake.bound(task, 10) for task in problems]
    known = tasks(names).assign(env="frozen_lake", bound=pd.Series(bounds, dtype=object))
    return known, pd.concat(frames, ignore_index=True)


def test_before_the_first_turn_it_is_the_bound_and_each_loss_is_the_regret(lakes):
    known, played = lakes
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=200, seed=1)
    found = estimate(known, played, settings)
    bound = np.mean([float(bound[-1]) for bound in known["bound"]])
    for policy in ("base", "oracle"):
        assert cell(found, "handover", policy, t=0)["value"] == pytest.approx(bound)
    regret = (played["best"] - played["quality"]).where(played["policy"] == "base")
    for turn in (0, 3, 9):
        loss = cell(found, "handover_loss", "base", t=turn + 1)["value"]
        expected = regret[played["turn"] == turn].sum() / (12 * 40)
        assert loss == pytest.approx(expected, abs=0.035)
    # the best policy loses nothing but to chance
    own = cell(found, "handover", "oracle", t=10)["value"]
    assert own == pytest.approx(bound, abs=0.08)
