import io

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from tests.figures import matched, synthetic
from turnscope.figures import _style, step_quality

NONE = synthetic.training(seeds=1, steps=1)
FOUR = ("grpo", "gigpo", "ppo", "budget_mix")


def drawn(estimates=None, arms=("grpo",)):
    rows = matched.estimates(arms) if estimates is None else estimates
    return step_quality.data(rows, NONE, k=8, arms=synthetic.named(*arms))


def bars(ax, line):
    found = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    return [bar for bar in found if abs(bar.get_y() + bar.get_height() / 2 - line) < 1e-9]


def test_bars_are_the_shares_and_ticks_those_of_identical_policies():
    frame = drawn()
    ax = step_quality.plot(frame).axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == list(step_quality.SUBSETS)
    for line, subset in enumerate(step_quality.SUBSETS):
        rows = frame.loc[(frame["subset"] == subset) & (frame["source"] == "mixture")]
        value = rows.set_index("metric")["value"]
        widths = [bar.get_width() for bar in bars(ax, line)]
        assert widths == pytest.approx(
            [value[f"step_{name}"] for name in ("better", "tie", "worse")]
        )
        assert sum(widths) == pytest.approx(1)
        ticks = {
            float(np.asarray(one.get_xdata())[0])
            for one in ax.lines
            if abs(np.mean(np.asarray(one.get_ydata(), float)) - line) < 0.5
        }
        assert ticks == {value["step_better_null"], 1 - value["step_worse_null"]}
    assert [to_hex(bar.get_facecolor()) for bar in bars(ax, 0)] == [
        _style.HUES["grpo"],
        _style.FAINT,
        _style.BASE,
    ]


@pytest.mark.parametrize(("place", "metric", "null"), [(1, "step_gap", 0), (2, "step_win", 0.5)])
def test_marks_stand_at_the_estimates_of_every_source(place, metric, null):
    frame = drawn()
    ax = step_quality.plot(frame).axes[place]
    marks = {
        (line.get_marker(), float(np.asarray(line.get_xdata())[0]))
        for line in ax.lines
        if line.get_marker() != "None"
    }
    rows = frame.loc[frame["metric"] == metric]
    shapes = {source: marker for source, (_, marker, _) in step_quality.LANES.items()}
    assert marks == {(shapes[row["source"]], row["value"]) for row in rows.to_dict("records")}
    assert set(rows["source"]) == {"mixture", "base", "trained"}
    assert np.asarray(ax.lines[0].get_xdata()).tolist() == [null, null]


def test_arms_have_their_own_lines():
    frame = drawn(arms=FOUR)
    figure = step_quality.plot(frame)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [f"{arm}: {subset}" for arm in FOUR for subset in step_quality.SUBSETS]
    assert "Not shown" not in step_quality.caption(frame)


def test_the_caption_says_what_was_done():
    caption = step_quality.caption(drawn())
    assert "act 16 times in each state" in caption
    assert "Arms pool 2 training seeds" in caption
    assert "injected" in caption
    rows = matched.estimates()
    without = drawn(rows.loc[~rows["part"].str.endswith("injected")])
    assert "injected" not in step_quality.caption(without)


def test_the_caption_says_what_a_tie_was_in_each_environment():
    lake = matched.estimates()
    assert "tied (up to 0.01) or worse" in step_quality.caption(drawn(lake))
    code = lake.assign(env="code")
    assert "tied (up to 0.01) or worse" in step_quality.caption(drawn(pd.concat([code, lake])))
    code.loc[code["metric"] == "step_tie_margin", "value"] = 0.125
    frame = drawn(pd.concat([lake, code]))
    both = f"tied (up to 0.125 in code, 0.01 in {lake['env'].iloc[0]}) or worse"
    assert both in step_quality.caption(frame)
    again = pd.read_csv(io.StringIO(frame.to_csv(index=False)))
    assert both in step_quality.caption(again)


def test_without_matched_states_there_is_nothing_to_draw():
    with pytest.raises(ValueError, match="step_quality: no comparison in matched states"):
        drawn(matched.estimates().iloc[:0])
