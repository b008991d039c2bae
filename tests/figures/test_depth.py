import numpy as np
import pytest

from tests.figures import matched, synthetic
from turnscope.figures import depth

NONE = synthetic.training(seeds=1, steps=1)


def drawn(estimates=None, arms=("grpo",)):
    rows = matched.estimates(arms) if estimates is None else estimates
    return depth.data(rows, NONE, k=8, arms=synthetic.named(*arms))


@pytest.mark.parametrize(("place", "metric"), [(0, "step_gap"), (1, "step_win")])
def test_points_are_the_estimates_in_the_middle_of_their_quarters(place, metric):
    frame = drawn()
    ax = depth.plot(frame).axes[place]
    curves = {line.get_marker(): line for line in ax.lines if line.get_marker() != "None"}
    for subset, (marker, _, aside) in depth.SUBSETS.items():
        rows = frame.loc[(frame["metric"] == metric) & (frame["subset"] == subset)]
        assert rows["t"].tolist() == [5, 10, 15, 20]
        assert np.asarray(curves[marker].get_ydata()).tolist() == rows["value"].tolist()
        x = np.asarray(curves[marker].get_xdata(), float) - aside
        assert x == pytest.approx([1 / 8, 3 / 8, 5 / 8, 7 / 8])


@pytest.mark.parametrize(("place", "metric"), [(2, "step_slope"), (3, "step_win_slope")])
def test_slopes_are_the_estimates(place, metric):
    frame = drawn()
    ax = depth.plot(frame).axes[place]
    marks = {
        line.get_marker(): float(np.asarray(line.get_xdata())[0])
        for line in ax.lines
        if line.get_marker() != "None"
    }
    slopes = frame.loc[frame["metric"] == metric].set_index("subset")["value"]
    assert marks == {marker: slopes[s] for s, (marker, *_) in depth.SUBSETS.items()}


def test_every_arm_has_its_panels():
    arms = ("grpo", "gigpo", "ppo", "budget_mix")
    figure = depth.plot(drawn(arms=arms))
    titles = [ax.get_title("left") for ax in figure.axes if ax.get_title("left")]
    assert titles == [f"simulated lake · nano · {arm}" for arm in arms]


def test_a_quarter_without_states_is_a_gap_at_its_place():
    rows = matched.estimates()
    frame = drawn(rows.loc[(rows["t"] != 10) | rows["t"].isna()])
    ax = depth.plot(frame).axes[0]
    (line,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert np.asarray(line.get_xdata(), float) == pytest.approx([1 / 8, 5 / 8, 7 / 8])


def test_the_caption_says_how_much_data_there_is():
    caption = depth.caption(drawn())
    assert "act 16 times in each state; arms pool 2 training seeds" in caption
    assert "40 test tasks at most" in caption


def test_without_depth_there_is_nothing_to_draw():
    rows = matched.estimates()
    with pytest.raises(ValueError, match="depth: no comparison"):
        drawn(rows.loc[rows["t"].isna()])
