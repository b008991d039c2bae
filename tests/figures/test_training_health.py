import numpy as np
import pandas as pd
import pytest

from tests.figures import synthetic
from turnscope.figures import _style, training_health

NONE = pd.DataFrame()


def rows(*values: tuple[str, int, str, float | None]) -> pd.DataFrame:
    frame = pd.DataFrame(values, columns=["policy", "step", "name", "value"])
    return frame.assign(env="lake", model="nano")


def test_means_are_over_the_seeds_that_have_a_value():
    training = rows(
        ("grpo-s0", 1, "success", 0.2),
        ("grpo-s1", 1, "success", 0.6),
        ("grpo-s0", 2, "success", 0.5),
        ("grpo-s1", 2, "success", None),
        ("grpo-s0", 1, "loss", 3.0),
    )
    frame = training_health.data(NONE, training, k=8, arms=synthetic.named("grpo"))
    means = frame[frame["policy"] == "grpo"].set_index("step")
    assert means["value"].to_dict() == {1: pytest.approx(0.4), 2: 0.5}
    assert means["seeds"].to_dict() == {1: 2, 2: 1}
    assert set(frame["name"]) == {"success"}
    assert len(frame) == 5


def test_credit_is_counted_by_tokens():
    training = rows(("grpo-s0", 1, "zero_advantage_share", 0.2))
    frame = training_health.data(NONE, training, k=8, arms=synthetic.named("grpo"))
    assert training_health.plot(frame).axes[0].get_title("left") == "tokens without credit"
    assert "a sampled token without credit has advantage 0" in training_health.caption(frame)


def test_what_was_not_measured_has_no_panel():
    training = rows(("grpo-s0", 1, "success", 0.2), ("grpo-s0", 1, "entropy", 1.2))
    figure = training_health.plot(
        training_health.data(NONE, training, k=8, arms=synthetic.named("grpo"))
    )
    assert [ax.get_title("left") for ax in figure.axes] == ["success", "entropy (nats)"]


def test_the_first_alarm_of_a_seed_is_marked_and_named():
    training = rows(
        *[("grpo-s0", step, "entropy", 1.0 / step) for step in (1, 2, 3, 4)],
        *[("grpo-s0", step, "collapse", float(step >= 3)) for step in (1, 2, 3, 4)],
        ("gigpo-s1", 1, "entropy", 0.7),
        ("gigpo-s1", 1, "collapse", 0.0),
    )
    frame = training_health.data(NONE, training, k=8, arms=synthetic.named("grpo", "gigpo"))
    ax = training_health.plot(frame).axes[0]
    crosses = [line for line in ax.lines if line.get_marker() == "x"]
    assert [np.asarray(line.get_xdata()).tolist() for line in crosses] == [[3]]
    assert [np.asarray(line.get_ydata()).tolist() for line in crosses] == [[1 / 3]]
    assert "raised by grpo-s0." in training_health.caption(frame)
    calm = training_health.data(NONE, training.iloc[:4], k=8, arms=synthetic.named("grpo"))
    assert "No seed raised the alarm" in training_health.caption(calm)


def test_arms_beyond_the_fourth_are_grey_and_named():
    arms = tuple("abcdef")
    training = rows(*[(f"{arm}-s0", step, "entropy", 0.5) for arm in arms for step in (1, 2)])
    frame = training_health.data(NONE, training, k=8, arms=synthetic.named(*arms))
    lines = training_health.plot(frame).axes[0].lines
    grey = [line for line in lines if line.get_color() == _style.FAINT]
    assert len(grey) == 2
    assert "Light grey: e, f." in training_health.caption(frame)
