import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from tests.figures import synthetic
from tests.metrics.by_hand import tasks
from tests.metrics.continued import continuations
from turnscope.figures import _style, continuation
from turnscope.metrics import Settings
from turnscope.metrics.recovery import estimate

NONE = synthetic.training(seeds=1, steps=1)
NAMES = [f"t{number}" for number in range(30)]


def estimates(*arms, env="frozen_lake", seeds=2, injected=10):
    leads = {f"{a}-s{i}": 0.1 * place for place, a in enumerate(arms) for i in range(seeds)}
    rows = continuations(1, NAMES, leads, injected=injected, t_max=8, env=env)
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=50, seed=1)
    found = estimate(tasks(NAMES), rows, settings)
    return found.astype({"k": "Int32", "t": "Int32"})


def drawn(*arms, rows=None):
    found = estimates(*arms) if rows is None else rows
    return continuation.data(found, NONE, k=8, arms=synthetic.named(*arms))


def labels(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def marks(ax, colour):
    """Return the horizontal places of all single marks of a colour."""
    return {
        float(np.asarray(line.get_xdata())[0])
        for line in ax.lines
        if line.get_color() == colour and len(np.asarray(line.get_xdata())) == 1
    }


def test_dots_and_differences_are_the_estimates():
    frame = drawn("grpo")
    left, right = continuation.plot(frame).axes
    assert labels(left) == list(continuation.LEVELS.values())
    assert labels(right) == [
        "errors of both",
        "base's errors",
        "its own errors",
        "both, away",
        "both, loss",
        "both, injected",
        "naive: base lost",
        "naive: itself lost",
    ]
    of = {metric: set(rows["value"]) for metric, rows in frame.groupby("metric")}
    assert marks(left, _style.BASE) == of["continuation_base"]
    assert marks(left, _style.HUES["grpo"]) == of["continuation"]
    assert marks(left, _style.BOUND) == of["continuation_bound"]
    gaps = frame[frame["against"] == "base"]
    assert marks(right, _style.HUES["grpo"]) == set(gaps["value"])


def test_all_turns_that_are_left_count():
    frame, found = drawn("grpo"), estimates("grpo")
    expected = found.query(
        "metric == 'continuation' and policy == 'grpo' and part == 'base/error' and t.isna()"
    )
    one = frame.query("metric == 'continuation' and part == 'base/error'")
    assert one["value"].tolist() == expected["value"].tolist()
    assert "base" not in set(frame["policy"])


def test_the_caption_says_what_is_there():
    frame = drawn("grpo")
    caption = continuation.caption(frame)
    assert "each 8 times" in caption
    assert "2 training seeds" in caption
    assert "Grey tick" in caption
    assert "Hollow" in caption
    less = frame[~frame["metric"].str.contains("naive|bound")]
    assert "Grey tick" not in continuation.caption(less)
    assert "Hollow" not in continuation.caption(less)


@pytest.mark.filterwarnings("error")
def test_many_arms_and_environments_stay_legible():
    arms = ("grpo", "gigpo", "ppo", "budget_mix", "anytime")
    rows = pd.concat([estimates(*arms), estimates("grpo", env="sql", injected=0)])
    frame = drawn(*arms, rows=rows)
    figure = continuation.plot(frame)
    figure.draw_without_rendering()
    assert [len(labels(ax)) for ax in figure.axes] == [4, 8, 2, 7]
    assert continuation.caption(frame).endswith("Not shown: anytime; see table error_states.")
    texts = [text for text in figure.findobj(Text) if text.get_text().strip()]
    assert min(float(text.get_fontsize()) for text in texts) >= 7
    assert figure.legends[0].get_window_extent().x1 <= figure.bbox.x1


def test_missing_intervals_leave_gaps():
    frame = drawn("grpo").assign(low=np.nan, high=np.nan)
    continuation.plot(frame).draw_without_rendering()


def test_without_continuations_there_is_nothing_to_draw():
    with pytest.raises(ValueError, match="continuation"):
        continuation.data(estimates("grpo").iloc[:0], NONE, k=8, arms=synthetic.named("grpo"))
