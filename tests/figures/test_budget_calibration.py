import pandas as pd
import pytest

from tests.figures import synthetic
from turnscope.figures import budget_calibration

ARMS = ("grpo", "budget_mix", "budget_mix_told")
NO_ESTIMATES = synthetic.estimates().iloc[:0]


def curve(policy: str, name: str, *points: tuple[int, float]) -> pd.DataFrame:
    frame = pd.DataFrame(points, columns=["step", "value"])
    return frame.assign(env="lake", model="nano", policy=policy, name=name)


def drawn(training: pd.DataFrame) -> pd.DataFrame:
    return budget_calibration.data(NO_ESTIMATES, training, k=8, arms=("grpo", "budget_mix"))


def test_realised_budgets_are_averaged_over_all_steps_of_all_seeds():
    training = pd.concat(
        [
            curve("budget_mix-s0", "budget_T2", (1, 1.0), (2, 0.5)),
            curve("budget_mix-s0", "budget_T9", (2, 0.5)),
            curve("budget_mix-s1", "budget_T9", (1, 1.0), (2, 1.0)),
            curve("grpo-s0", "budget_T9", (1, 1.0), (2, 1.0)),
        ]
    )
    found = drawn(training)
    assert set(found["metric"]) == {"realised"}
    assert found["policy"].unique().tolist() == ["budget_mix"]
    assert found.set_index("t")["value"].to_dict() == {2: 1.5 / 4, 9: 2.5 / 4}
    assert "over the training of budget_mix" in budget_calibration.caption(found)


def test_waste_is_averaged_over_steps_and_then_over_seeds():
    training = pd.concat(
        [
            curve("grpo-s0", "zero_variance_groups", (1, 0.2), (2, 0.4)),
            curve("grpo-s1", "zero_variance_groups", (1, 0.5)),
        ]
    )
    found = drawn(training).set_index("policy")
    assert found["value"].to_dict() == pytest.approx({"grpo": 0.4, "grpo-s0": 0.3, "grpo-s1": 0.5})
    assert found["seeds"].to_dict() == {"grpo": 2, "grpo-s0": 1, "grpo-s1": 1}


def test_told_and_blind_are_the_estimates_of_single_episodes():
    estimates, training = synthetic.estimates(arms=ARMS), synthetic.training(arms=ARMS)
    frame = budget_calibration.data(estimates, training, k=8, arms=ARMS)
    told = estimates.query("metric == 'told' and policy == 'grpo' and k == 1")
    blind = estimates.query(
        "metric == 'pass_at_k' and policy == 'grpo' and k == 1 and against.isna()"
    )
    at = {"told": told, "blind": blind[blind["t"].isin([3, 6, 9, 12])]}
    for metric, rows in at.items():
        shown = frame[(frame["metric"] == metric) & (frame["policy"] == "grpo")]
        assert shown["value"].tolist() == rows.sort_values("t")["value"].tolist()
    assert set(frame.loc[frame["metric"] == "told", "policy"]) == {
        "base",
        "grpo",
        "budget_mix_told",
    }
    titles = [ax.get_title("left") for ax in budget_calibration.plot(frame).axes]
    assert titles == [
        "turns used",
        "success",
        "gain from being told",
        "groups without variance",
        "budgets drawn in training",
    ]


def test_a_study_in_which_nobody_was_told_shows_its_training():
    estimates = synthetic.estimates(arms=ARMS)
    estimates = estimates[~estimates["metric"].isin(budget_calibration.METRICS)]
    frame = budget_calibration.data(estimates, synthetic.training(arms=ARMS), k=8, arms=ARMS)
    titles = [ax.get_title("left") for ax in budget_calibration.plot(frame).axes]
    assert titles == ["groups without variance", "budgets drawn in training"]
    assert "No policy was told" in budget_calibration.caption(frame)
