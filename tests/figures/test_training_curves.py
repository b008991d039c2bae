import numpy as np
import pytest
from matplotlib.patches import Rectangle

from tests.figures import synthetic
from turnscope.figures import _style, training_curves

NONE = synthetic.training(seeds=1, steps=1)
ARMS = ("grpo", "gigpo")


def drawn(estimates=None):
    rows = synthetic.estimates(arms=ARMS) if estimates is None else estimates
    return training_curves.data(rows, NONE, k=8, arms=synthetic.named(*ARMS))


def row(frame, metric, policy="gigpo"):
    return frame[(frame["metric"] == metric) & (frame["policy"] == policy)]


def test_changes_are_those_of_the_last_step_and_of_arms():
    frame = drawn()
    changes = frame[frame["metric"].isin([*training_curves.CHANGES, *training_curves.PARTS])]
    assert set(changes["step"]) == {60}
    assert set(changes["policy"]) == set(ARMS)
    assert row(frame, "r_multi")["step"].tolist() == [0, 20, 40, 60]


def test_curves_and_bars_are_the_estimates():
    frame = drawn()
    axes = training_curves.plot(frame).axes
    assert [ax.get_title("left") for ax in axes[:3]] == list(training_curves.LEVELS.values())
    for ax, metric in zip(axes, training_curves.LEVELS, strict=False):
        expected = row(frame, metric)["value"].tolist()
        assert any(np.asarray(line.get_ydata()).tolist() == expected for line in ax.lines)
    widths = [bar.get_width() for bar in axes[3].patches if isinstance(bar, Rectangle)]
    assert widths == [
        row(frame, metric, arm)["value"].item() for metric in training_curves.PARTS for arm in ARMS
    ]
    marks = {
        float(np.asarray(line.get_xdata())[0])
        for line in axes[4].lines
        if line.get_marker() in ("o", "D")
    }
    assert marks == {
        row(frame, metric, arm)["value"].item()
        for metric in training_curves.CHANGES
        for arm in ARMS
    }


def test_without_step_quality_there_is_the_multi_turn_reward_alone():
    estimates = synthetic.estimates(arms=ARMS)
    frame = drawn(estimates[~estimates["metric"].str.startswith("r_single")])
    titles = [ax.get_title("left") for ax in training_curves.plot(frame).axes]
    assert titles == ["R_multi", "change since step 0"]
    assert "split" not in training_curves.caption(frame)
    assert "R_single is not known" in training_curves.caption(frame)


def test_all_arms_have_their_changes_though_four_have_curves():
    arms = synthetic.FIFTEEN
    estimates = synthetic.estimates(arms=arms, seeds=2)
    frame = training_curves.data(estimates, NONE, k=8, arms=synthetic.named(*arms))
    figure = training_curves.plot(frame)
    thick = [line for line in figure.axes[0].lines if line.get_linewidth() > 1]
    assert len(thick) == _style.LEGIBLE
    assert [text.get_text() for text in figure.axes[3].get_yticklabels()] == list(arms)
    assert "see the lower panels" in training_curves.caption(frame)


def test_arms_whose_last_steps_differ_have_them_printed():
    estimates = synthetic.estimates(arms=ARMS)
    assert "at the last step, 60, with" in training_curves.caption(drawn(estimates))
    short = estimates[~((estimates["policy"] == "gigpo") & (estimates["t"] == 60))]
    frame = drawn(short)
    assert row(frame, "r_multi_change")["step"].tolist() == [40]
    assert len(row(frame, "r_multi", "gigpo-s1")) == 4
    figure = training_curves.plot(frame)
    names = [text.get_text() for text in figure.axes[3].get_yticklabels()]
    assert names == ["grpo, step 60", "gigpo, step 40"]
    caption = training_curves.caption(frame)
    assert "at the last step that all seeds of the arm reached, which is printed" in caption
    assert "at the last step, " not in caption


def test_an_arm_that_was_trained_told_is_said_to_be_measured_so():
    arms = ("grpo", "budget_mix_told")
    study = synthetic.named(*arms)
    frame = training_curves.data(synthetic.estimates(arms=arms), NONE, k=8, arms=study)
    caption = training_curves.caption(frame)
    assert (
        "budget_mix_told: told the turns left, as in training, where R_multi and R_sing" in caption
    )
    assert "in fixed states no policy is told" in caption
    assert "told the turns left" not in training_curves.caption(drawn())


def test_a_study_without_evaluations_on_the_way_is_refused():
    with pytest.raises(ValueError, match="r_multi"):
        drawn(synthetic.estimates(arms=ARMS).iloc[:0])
