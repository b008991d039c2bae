import numpy as np
import pytest
from matplotlib.patches import Rectangle

from tests.figures import synthetic
from turnscope.figures import crossover

NONE = synthetic.training(seeds=1, steps=1)
ARMS = ("grpo",)


def drawn():
    return crossover.data(synthetic.estimates(), NONE, k=8, arms=synthetic.named(*ARMS))


def test_bars_are_the_shares_and_the_last_one_is_never():
    frame = drawn()
    ax = crossover.plot(frame).axes[0]
    share = frame.loc[frame["metric"] == "crossover_share"]
    drawn_bars = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    bars = {bar.get_x() + bar.get_width() / 2: bar.get_height() for bar in drawn_bars}
    never = max(bars)
    assert never > 12
    assert bars.pop(never) == share.loc[share["t"].isna(), "value"].item()
    known = share.loc[share["t"].notna()]
    assert [round(place) for place in bars] == known["t"].tolist()
    assert list(bars.values()) == known["value"].tolist()
    assert sum(share["value"]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("value", "low", "high"), [(7, 5, 9), (7, 5, None), (None, 6, None), (None, None, None)]
)
def test_what_lies_beyond_the_last_budget_is_drawn_at_never(value, low, high):
    frame = drawn()
    frame.loc[frame["metric"] == "crossover", ["value", "low", "high"]] = [value, low, high]
    ax = crossover.plot(frame).axes[0]
    never = ax.get_xticks()[-1]
    line, mark = ax.lines
    expected = [never if turn is None else turn for turn in (low, value, high)]
    assert list(np.asarray(line.get_xdata(), float)) == expected
    assert list(np.asarray(mark.get_xdata(), float)) == [expected[1]]


def test_an_undefined_distribution_is_not_drawn_as_never():
    estimates = synthetic.estimates().copy()
    estimates.loc[estimates["metric"].str.startswith("crossover"), "value"] = np.nan
    with pytest.raises(ValueError, match="k=8"):
        crossover.data(estimates, NONE, k=8, arms=synthetic.named(*ARMS))


def test_seeds_are_left_to_the_table_of_estimates():
    assert set(drawn()["policy"]) == {"grpo"}


def test_an_arm_that_an_environment_lacks_is_said_to_be_missing():
    frame = crossover.data(
        synthetic.estimates(envs=("lake", "sql"), arms=("gigpo", "grpo"), seeds=1),
        NONE,
        k=8,
        arms=synthetic.named("grpo", "gigpo"),
    )
    frame = frame.loc[(frame["env"] == "lake") | (frame["policy"] == "grpo")]
    words = [[text.get_text() for text in ax.texts] for ax in crossover.plot(frame).axes]
    said = ["not run here" in found for found in words]
    assert said == [False, False, False, True]  # lines of grpo and gigpo, columns lake and sql
