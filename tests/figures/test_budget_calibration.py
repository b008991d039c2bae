import numpy as np
import pandas as pd
import pytest

from tests.figures import synthetic
from turnscope.figures import budget_calibration

NONE = synthetic.training(seeds=1, steps=1)
ARMS = ("grpo", "budget_mix", "budget_mix_told")
LOWER = ["groups without variance", "budgets drawn"]


def drawn(estimates: pd.DataFrame, arms=ARMS) -> pd.DataFrame:
    return budget_calibration.data(estimates, NONE, k=8, arms=synthetic.named(*arms))


def untold(arms) -> pd.DataFrame:
    estimates = synthetic.estimates(arms=arms)
    return estimates[~estimates["metric"].str.contains("told|awareness|blind")]


def titles(frame: pd.DataFrame) -> list[str]:
    return [ax.get_title("left") for ax in budget_calibration.plot(frame).axes]


def test_what_training_was_spent_on_are_the_estimates():
    estimates = untold(ARMS)
    frame = drawn(estimates)
    for metric in ("waste", "budget_share"):
        rows = estimates[(estimates["metric"] == metric) & (estimates["policy"] == "budget_mix")]
        shown = frame[(frame["metric"] == metric) & (frame["policy"] == "budget_mix")]
        assert shown["value"].tolist() == rows.sort_values("t")["value"].tolist() != []
    seeds = frame[frame["metric"] == "waste"]["policy"]
    assert "budget_mix-s2" in set(seeds)
    # grpo has one budget only, and seeds are drawn nowhere
    shares = frame[frame["metric"] == "budget_share"]
    assert set(shares["policy"]) == {"budget_mix", "budget_mix_told"}
    assert "over the steps of training, of budget_mix, bud" in budget_calibration.caption(frame)


def test_budgets_that_are_drawn_are_apart_from_those_on_a_schedule():
    arms = ("grpo", "budget_mix", "curriculum_tti")
    frame = drawn(untold(arms), arms)
    figure = budget_calibration.plot(frame)
    assert titles(frame) == [*LOWER, "budgets on a schedule"]
    for ax, arm in zip(figure.axes[1:], arms[1:], strict=True):
        rows = frame[(frame["metric"] == "budget_share") & (frame["policy"] == arm)]
        (line,) = ax.lines
        assert np.asarray(line.get_ydata()).tolist() == rows["value"].tolist()
    caption = budget_calibration.caption(frame)
    assert "of budget_mix. Budgets on a schedule: the same for curriculum_tti, whose" in caption
    assert "No arm here had its budget set by a schedule" in budget_calibration.caption(
        drawn(untold(ARMS))
    )


def test_told_and_blind_are_the_estimates_of_single_episodes():
    estimates = synthetic.estimates(arms=ARMS)
    frame = drawn(estimates)
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
    solved = [f"told {budget}" for budget in (3, 6, 9, 12)]
    upper = ["turns used", "success", "gain from being told"]
    assert titles(frame) == [*upper, *solved, *LOWER]
    caption = budget_calibration.caption(frame)
    assert "shown in the training of budget_mix_told alone" in caption


def test_turns_of_success_are_drawn_for_each_told_budget():
    estimates = synthetic.estimates(arms=ARMS)
    axes = budget_calibration.plot(drawn(estimates)).axes
    (ax,) = [ax for ax in axes if ax.get_title("left") == "told 6"]
    rows = estimates.query("metric == 'told_solved_6' and policy == 'grpo'").sort_values("t")
    assert rows["t"].tolist() == [1, 2, 3, 4, 5, 6]
    assert float(ax.get_ylim()[1]) >= estimates.query("metric == 'told_solved_12'")["value"].max()
    assert rows["value"].tolist() in [np.asarray(line.get_ydata()).tolist() for line in ax.lines]


def test_of_many_told_budgets_the_ends_are_drawn():
    rows = synthetic.estimates(arms=ARMS).query("metric == 'told_solved_6'")
    many = pd.concat([rows.assign(metric=f"told_solved_{budget}") for budget in range(2, 13)])
    frame = drawn(many)
    assert list(budget_calibration._solved(frame)) == [2, 5, 9, 12]


def test_a_study_in_which_nobody_was_told_shows_its_training():
    frame = drawn(untold(ARMS))
    assert titles(frame) == LOWER
    assert "No policy was told" in budget_calibration.caption(frame)


def test_a_study_without_either_is_refused():
    with pytest.raises(ValueError, match="budget_calibration"):
        drawn(synthetic.estimates().iloc[:0])
