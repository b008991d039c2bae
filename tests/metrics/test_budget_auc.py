import numpy as np
import pytest

from tests.metrics.by_hand import SETTINGS, cell, episodes, tasks
from tests.simulated import study
from turnscope import tables
from turnscope.metrics import Settings
from turnscope.metrics.budget_auc import estimate


def test_by_hand():
    outcomes = {
        "base": {"a": [1, 3, None], "b": [None, None, 4]},
        "grpo-s0": {"a": [1, 1, 1], "b": [4, 4, 4]},
    }
    found = estimate(tasks("ab", bound=[0.5, 1, 1, 1]), episodes(outcomes), SETTINGS)
    # Pass@(1,T) of base: 1/6, 1/6, 2/6, 3/6
    base = cell(found, "budget_auc", "base", k=1, t=None)
    assert base["value"] == pytest.approx(7 / 24)
    assert cell(found, "budget_auc", "bound", k=1)["value"] == pytest.approx(7 / 8)
    assert cell(found, "budget_regret", "base", k=1)["value"] == pytest.approx(7 / 8 - 7 / 24)
    gap = cell(found, "budget_auc", "grpo", against="base", k=1)
    assert gap["value"] == pytest.approx(5 / 8 - 7 / 24)
    assert 0 < gap["p_value"] <= 1
    assert cell(found, "budget_auc_hat", "base", k=2)["value"] == pytest.approx(2 / 24)


def test_equals_one_less_the_share_of_turns_waited():
    t_max = 12
    frames = study(5, tasks=30, episodes=16, t_max=t_max)
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=10, seed=1)
    found = estimate(*frames, settings)
    base = frames[1].loc[frames[1]["policy"] == "base"]
    solved = base["success"].to_numpy(bool)
    tau = np.where(solved, base["turns"].to_numpy(), np.inf)
    waited = np.minimum(tau, t_max).mean() - 1 + (tau > t_max).mean()
    assert cell(found, "budget_auc", "base", k=1)["value"] == pytest.approx(1 - waited / t_max)


def test_rows_are_those_of_the_table():
    found = estimate(*study(5, tasks=20, episodes=4), SETTINGS)
    assert tables.conform(found, "estimates").num_rows == len(found)
    assert found["t"].isna().to_numpy().all()
