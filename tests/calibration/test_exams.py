import numpy as np

from tests.calibration.test_frames import games
from turnscope import tables
from turnscope.calibration import exams
from turnscope.calibration.scenarios import Boost


def test_all_policies_start_as_base():
    rows = exams.progress(games(), [0, 1], 10, 15, np.random.default_rng(0))
    tables.conform(rows, "progress")
    start = rows.loc[rows["step"] == 0].drop(columns="policy")
    base, trained = (
        start.loc[(rows["policy"] == name)].reset_index(drop=True) for name in ("base", "grpo-s0")
    )
    assert base.equals(trained)
    assert set(rows["step"]) == {0, 1}


def test_probe_states_are_different_and_the_same_at_each_step():
    rows = exams.progress(games(), [1], 10, 15, np.random.default_rng(0))
    probes = rows.loc[rows["source"] == "probe"]
    key = ["task_id", "state_key", "turn", "place"]
    states = {step: part[key].drop_duplicates() for step, part in probes.groupby("step")}
    assert len(states[0]) == 15 == len(states[0].drop(columns="place").drop_duplicates())
    assert states[0].reset_index(drop=True).equals(states[1].reset_index(drop=True))
    assert probes["success"].isna().all()


def test_a_better_policy_acts_better_in_probe_states():
    rows = exams.progress(games(Boost(0.6)), [1], 10, 60, np.random.default_rng(0))
    means = rows.loc[rows["source"] == "probe"].groupby("step")["quality"].mean()
    assert means[1] > means[0]
