import numpy as np
import pandas as pd

from tests.figures import synthetic
from turnscope.figures import entropy_matched

NONE = pd.DataFrame()


def drawn(estimates=None, **study):
    rows = synthetic.estimates(**study) if estimates is None else estimates
    arms = synthetic.named(*study.get("arms", ("grpo",)))
    return entropy_matched.data(rows, NONE, k=8, arms=arms)


def test_one_curve_as_trained_and_one_heated():
    frame = drawn()
    (ax,) = entropy_matched.plot(frame).axes
    cold, hot = (np.asarray(line.get_ydata(), float).tolist() for line in ax.lines[1:])
    rows = frame.loc[frame["policy"] == "grpo"]
    assert cold == rows.loc[rows["metric"] == "pass_at_k", "value"].tolist()
    assert hot == rows.loc[rows["metric"] == "heated_gap", "value"].tolist()
    assert (len(cold), len(hot)) == (5, 4)


def test_the_caption_says_how_hot_and_how_often():
    estimates = synthetic.estimates()
    caption = entropy_matched.caption(drawn())
    assert "temperature 1 (1.25)" in caption
    assert "16 episodes of each task, and 8 when heated" in caption
    warm = (estimates["metric"] == "heated_temperature") & (estimates["policy"] == "grpo-s1")
    varied = estimates.assign(value=estimates["value"].mask(warm, 1.5))
    assert "temperature 1 (1.25 to 1.50)" in entropy_matched.caption(drawn(varied))


def test_arms_that_were_not_heated_are_not_drawn():
    estimates = synthetic.estimates(arms=("ppo", "grpo"))
    hot = estimates["metric"].str.startswith("heated") & estimates["policy"].str.startswith("ppo")
    frame = drawn(estimates.loc[~hot], arms=("ppo", "grpo"))
    assert set(frame["policy"].str.split("-s").str[0]) == {"grpo"}
