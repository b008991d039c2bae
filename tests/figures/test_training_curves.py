import pandas as pd
import pytest

from turnscope.figures import training_curves

NONE = pd.DataFrame()


def rows(*values: tuple[str, int, str, float | None]) -> pd.DataFrame:
    frame = pd.DataFrame(values, columns=["policy", "step", "name", "value"])
    return frame.assign(env="lake", model="nano")


def test_means_are_over_the_seeds_that_have_a_value():
    training = rows(
        ("grpo-s0", 1, "reward", 0.2),
        ("grpo-s1", 1, "reward", 0.6),
        ("grpo-s0", 2, "reward", 0.5),
        ("grpo-s1", 2, "reward", None),
        ("grpo-s0", 1, "loss", 3.0),
    )
    frame = training_curves.data(NONE, training, k=8)
    means = frame[frame["policy"] == "grpo"].set_index("step")
    assert means["value"].to_dict() == {1: pytest.approx(0.4), 2: 0.5}
    assert means["seeds"].to_dict() == {1: 2, 2: 1}
    assert set(frame["name"]) == {"reward"}
    assert len(frame) == 5


def test_what_was_not_measured_has_no_panel():
    training = rows(("grpo-s0", 1, "reward", 0.2), ("grpo-s0", 1, "entropy", 1.2))
    figure = training_curves.plot(training_curves.data(NONE, training, k=8))
    assert [ax.get_title("left") for ax in figure.axes] == ["reward", "entropy (nats)"]
