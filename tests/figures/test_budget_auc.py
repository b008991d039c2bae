import numpy as np
import pytest
from matplotlib.colors import to_hex

from tests.figures import synthetic
from turnscope.figures import _style, budget_auc

NONE = synthetic.training(seeds=1, steps=1)
ARMS = ("grpo",)


def drawn(**study):
    return budget_auc.data(synthetic.estimates(**study), NONE, k=8, arms=synthetic.named(*ARMS))


def value(frame, **where):
    rows = frame
    for column, wanted in where.items():
        rows = rows[rows[column].isna() if wanted is None else rows[column] == wanted]
    return rows["value"].item()


def test_marks_stand_at_the_estimates():
    frame = drawn()
    left, right = budget_auc.plot(frame).axes
    blue = _style.HUES["grpo"]
    points = {
        ax: [
            float(np.asarray(line.get_xdata())[0])
            for line in ax.lines
            if line.get_marker() == "o" and line.get_markersize() > 4
            if to_hex(line.get_color()) == blue
        ]
        for ax in (left, right)
    }
    key = {"policy": "grpo", "against": None}
    assert points[left] == [
        value(frame, metric="budget_auc_hat", **key),
        value(frame, metric="budget_auc", **key),
    ]
    assert points[right] == [value(frame, metric="budget_auc", policy="grpo", against="base")]


def test_the_printed_numbers_are_the_estimates():
    frame = drawn()
    figure = budget_auc.plot(frame)
    printed = [text.get_text() for ax in figure.axes for text in ax.texts]
    for policy in ("base", "grpo"):
        assert f"{value(frame, metric='budget_regret', policy=policy):.3f}" in printed
    row = frame[(frame["against"] == "base") & (frame["policy"] == "grpo")].iloc[0]
    lead = f"{row['value']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"
    assert lead.replace("-", "−") in printed


def test_without_an_interval_only_the_value_is_printed():
    frame = drawn()
    frame["low"] = frame["high"] = float("nan")
    printed = [text.get_text() for text in budget_auc.plot(frame).axes[1].texts]
    lead = value(frame, metric="budget_auc", policy="grpo", against="base")
    assert f"{lead:+.3f}".replace("-", "−") in printed


def test_without_a_bound_there_is_no_regret():
    estimates = synthetic.estimates()
    known = (estimates["policy"] != "bound") & (estimates["metric"] != "budget_regret")
    frame = budget_auc.data(estimates.loc[known], NONE, k=8, arms=synthetic.named(*ARMS))
    assert "best possible policy" in budget_auc.caption(drawn())
    assert "best possible policy" not in budget_auc.caption(frame)
    figure = budget_auc.plot(frame)
    assert len(figure.axes[0].texts) == 0
    assert "bound" not in [text.get_text() for text in figure.legends[0].get_texts()]


def test_a_k_that_was_not_estimated_is_named():
    with pytest.raises(ValueError, match="k=3"):
        budget_auc.data(synthetic.estimates(), NONE, k=3, arms=synthetic.named(*ARMS))
