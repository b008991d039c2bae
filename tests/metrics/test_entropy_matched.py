import numpy as np
import pandas as pd
import pytest

from tests.metrics.by_hand import SETTINGS, cell, episodes, tasks
from tests.simulated import heated, study
from turnscope import tables
from turnscope.metrics import Settings
from turnscope.metrics.entropy_matched import estimate

COLD = {
    "base": {"a": [1, None, None, None], "b": [4, 4, None, None]},
    "grpo-s0": {"a": [1, 1, 1, None], "b": [1, 1, 1, 1]},
    "grpo-s1": {"a": [1, 1, 1, 1], "b": [1, 1, 1, 1]},
}


def hot(policy, outcomes, temperature=1.5):
    return episodes({policy: outcomes}).assign(temperature=temperature)


def test_by_hand():
    cold = {name: COLD[name] for name in ("base", "grpo-s0")}
    rows = pd.concat([episodes(cold), hot("grpo-s0", {"a": [2, None], "b": [2, 2]})])
    found = estimate(tasks("ab"), rows, SETTINGS)
    assert cell(found, "heated_pass_at_k", "grpo-s0", k=1, t=4)["value"] == 0.75
    gap = cell(found, "heated_gap", "grpo-s0", against="base", k=1, t=4)
    assert gap["value"] == 0.75 - 0.375
    assert gap["samples"] == 2
    change = cell(found, "heated_change", "grpo-s0", against="grpo-s0", k=1, t=4)
    assert change["value"] == 0.75 - 0.875
    assert cell(found, "heated_temperature", "grpo-s0")["value"] == 1.5


def test_an_arm_is_the_mean_of_the_seeds_that_were_heated():
    first = hot("grpo-s0", {"a": [2, None], "b": [2, 2]})
    second = hot("grpo-s1", {"a": [2, 2], "b": [2, 2]}, 1.3)
    both = estimate(tasks("ab"), pd.concat([episodes(COLD), first, second]), SETTINGS)
    assert cell(both, "heated_pass_at_k", "grpo", k=1, t=4)["value"] == 0.875
    assert cell(both, "heated_temperature", "grpo")["value"] == pytest.approx(1.4)
    change = cell(both, "heated_change", "grpo", against="grpo", k=1, t=4)
    assert (change["value"], change["seeds"]) == (0.875 - (0.875 + 1) / 2, 2)


def test_a_policy_may_be_as_random_as_base_already():
    first = hot("grpo-s0", {"a": [2, None], "b": [2, 2]})
    same = hot("grpo-s1", {"a": [2, None], "b": [None, 2]}, temperature=1.0)
    found = estimate(tasks("ab"), pd.concat([episodes(COLD), first, same]), SETTINGS)
    assert cell(found, "heated_pass_at_k", "grpo-s1", k=1, t=4)["value"] == 0.5
    change = cell(found, "heated_change", "grpo-s1", against="grpo-s1", k=1, t=4)
    assert (change["value"], change["samples"]) == (-0.5, 2)
    assert cell(found, "heated_temperature", "grpo-s1")["value"] == 1.0
    assert cell(found, "heated_temperature", "grpo")["value"] == 1.25


def test_a_policy_that_was_not_heated_is_named():
    first = hot("grpo-s0", {"a": [2, None], "b": [2, 2]})
    for rows, name in (([first], "grpo-s1"), ([], "grpo-s0")):
        with pytest.raises(ValueError, match=f"policy {name}: no heated episodes"):
            estimate(tasks("ab"), pd.concat([episodes(COLD), *rows]), SETTINGS)
    base = episodes({"base": COLD["base"]})
    assert tables.conform(estimate(tasks("ab"), base, SETTINGS), "estimates").num_rows == 0


def test_no_more_attempts_are_asked_for_than_were_played():
    settings = Settings(ks=[1, 4, 16], k=8, shares=[1.0], draws=50, seed=1)
    lakes, played = study(2, tasks=20, episodes=16, t_max=6)
    found = estimate(lakes, heated(played), settings)
    assert sorted(found["k"].dropna().unique()) == [1, 4, 8]
    assert found["value"].notna().all()
    gap = found.loc[found["metric"] == "heated_gap"]
    assert gap[["low", "high", "band_k_low", "band_t_high"]].notna().all(axis=None)
    assert tables.conform(found, "estimates").num_rows == len(found)


def test_base_is_of_one_temperature():
    rows = pd.concat([episodes(COLD), hot("base", {"a": [1], "b": [1]})])
    with pytest.raises(ValueError, match=r"temperatures of base: \[1.0, 1.5\]"):
        estimate(tasks("ab"), rows, SETTINGS)
    with pytest.raises(ValueError, match="temperatures of base"):
        estimate(tasks("ab"), rows.loc[rows["policy"] != "base"], SETTINGS)


def test_base_under_another_name_does_not_differ():
    lakes, played = study(7, tasks=100, episodes=16, t_max=6)
    settings = Settings(ks=[1], k=4, shares=[1.0], draws=500, seed=1)
    base = played.loc[played["policy"] == "base"]
    again = base.assign(policy="twin-s0")
    found = estimate(lakes, heated(pd.concat([base, again], ignore_index=True)), settings)
    gap = found.loc[(found["metric"] == "heated_gap") & (found["policy"] == "twin")]
    assert np.mean((gap["low"] <= 0) & (gap["high"] >= 0)) > 0.8
