import numpy as np
import pandas as pd
import pytest

from tests.calibration.lakes import lakes
from turnscope.calibration import frames, scenarios, studies, worlds
from turnscope.calibration.studies import Design
from turnscope.claims import _judges
from turnscope.metrics import Settings
from turnscope.types import Arm


def test_tasks_are_drawn_with_replacement_and_named_anew():
    some = studies.drawn(lakes(), 41, np.random.default_rng(0))
    assert some.tasks["task_id"].is_unique
    assert some.tasks["cluster"].equals(some.tasks["task_id"])
    assert some.tasks["stratum"].value_counts().to_dict() == {"3x3": 21, "4x4": 20}
    # 41 tasks of 12 lakes: some are the same lake
    assert len({tuple(bound) for bound in some.tasks["bound"]}) <= 12


@pytest.fixture(scope="module")
def estimates():
    design = Design(draws=100, tasks=60)
    rng = np.random.default_rng(1)
    some = studies.drawn(worlds.draw(1, 40, design.t_max, (4, 5)), design.tasks, rng)
    names = scenarios.policies(scenarios.NULL.arms)
    skills = scenarios.skills(scenarios.NULL, design.tasks, design.t_max, rng)
    games = frames.games(some, names, skills, design.episodes, rng)
    settings = Settings(design.ks, design.k, [0.1, 0.2, 0.3, 1.0], design.draws, 1)
    parts = studies._estimates(games, scenarios.NULL, design, settings, rng)
    return pd.concat([*parts], ignore_index=True)


@pytest.mark.slow
def test_verdicts_are_those_of_the_ledger(estimates):
    found = dict(studies._verdicts(estimates, scenarios.NULL))
    arms = {name: Arm(name, name, False) for name in scenarios.ARMS}
    one_seed = {f"{name}-s{seed}" for name in arms for seed in (1, 2)}
    rows = estimates.loc[~estimates["policy"].isin(one_seed)]
    ledger = {
        (record["claim"], record["policy"]): record["verdict"]
        for record in _judges.assemble(rows, arms, (), ())
    }
    assert found == {key: ledger[key] for key in found}
    assert {claim for claim, _ in found} >= {"C1", "C2a", "C3b", "C3c", "C4b", "C5", "C6a", "C7a"}


@pytest.mark.slow
def test_numbers_are_found_by_what_they_are_of(estimates):
    cells = studies._cells(estimates)
    assert len(cells) == len(estimates)
    findings = studies.Findings(cells, {})
    rows = estimates.loc[
        (estimates["metric"] == "pass_at_k")
        & (estimates["policy"] == "grpo")
        & (estimates["against"] == "base")
        & (estimates["k"] == 8)
        & (estimates["t"] == 12)
    ]
    cell = findings.at("pass_at_k", k=8, t=12)
    assert cell is not None
    assert cell.value == rows["value"].item()
    assert cell.band_t_low == rows["band_t_low"].item()
    assert findings.at("pass_at_k", k=3, t=12) is None
