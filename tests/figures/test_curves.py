import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from tests.figures import synthetic
from turnscope.figures import (
    _style,
    budget_auc,
    crossover,
    pass_at_k,
    pass_at_t,
    pass_surface,
    process_supervision,
)

NONE = synthetic.training(seeds=1, steps=1)
ARMS = ("grpo",)


def curves(ax, colour):
    """Return y of the thick lines of a colour."""
    lines = [line for line in ax.lines if to_hex(line.get_color()) == colour]
    return [np.asarray(line.get_ydata(), float) for line in lines if line.get_linewidth() > 1]


def test_breadth_shows_the_largest_budget_of_each_environment():
    small, large = (synthetic.estimates(envs=(e,), t_max=t) for e, t in (("sql", 6), ("lake", 12)))
    frame = pass_at_k.data(pd.concat([large, small]), NONE, k=8, arms=synthetic.named(*ARMS))
    assert frame.groupby("env")["t"].unique().map(list).to_dict() == {"lake": [12], "sql": [6]}
    assert set(frame["k"]) == set(synthetic.KS)


def test_breadth_leaves_out_k_beyond_the_episodes():
    estimates = synthetic.estimates().copy()
    estimates.loc[estimates["k"] == 16, "value"] = np.nan
    assert max(pass_at_k.data(estimates, NONE, k=8, arms=synthetic.named(*ARMS)).loc[:, "k"]) == 8


def test_the_bands_of_the_lead_hold_over_what_runs_along_the_axis():
    estimates = synthetic.estimates()
    cell = (estimates["policy"] == "grpo") & (estimates["against"] == "base")
    cell &= (estimates["metric"] == "pass_at_k") & (estimates["k"] == 8) & (estimates["t"] == 12)
    row = estimates.loc[cell].iloc[0]
    for module, band in ((pass_at_k, "band_k"), (pass_at_t, "band_t")):
        frame = module.data(estimates, NONE, k=8, arms=synthetic.named(*ARMS))
        shown = frame.query("policy == 'grpo' and against == 'base' and k == 8 and t == 12")
        assert shown["band_low"].item() == row[f"{band}_low"]
        assert shown["band_high"].item() == row[f"{band}_high"]


@pytest.mark.parametrize("module", [pass_at_k, pass_at_t])
def test_the_thick_lines_are_the_estimates(module):
    frame = module.data(synthetic.estimates(), NONE, k=8, arms=synthetic.named(*ARMS))
    above, below = module.plot(frame).axes[:2]
    levels = frame[(frame["metric"] == "pass_at_k") & frame["against"].isna()]
    leads = frame[(frame["metric"] == "pass_at_k") & (frame["against"] == "base")]
    for ax, rows, policy in (
        (above, levels, "base"),
        (above, levels, "grpo"),
        (below, leads, "grpo"),
    ):
        colour = _style.looks(frame)[policy].colour
        expected = rows.loc[rows["policy"] == policy, "value"].to_numpy(float)
        assert any(np.array_equal(y, expected) for y in curves(ax, colour))


@pytest.mark.parametrize("module", [pass_at_k, pass_at_t])
def test_of_many_arms_the_first_four_of_the_study_are_drawn(module):
    arms = ("zeta", "grpo", "mine", "alpha", "gigpo")
    frame = module.data(
        synthetic.estimates(arms=arms, seeds=1), NONE, k=8, arms=synthetic.named(*arms)
    )
    assert set(arms) < set(frame["policy"])  # the table holds all of them
    labels = [text.get_text() for text in module.plot(frame).legends[0].get_texts()]
    assert labels[:5] == ["base", *arms[:4]]
    assert "gigpo" not in labels
    assert module.caption(frame).endswith(" Not shown: gigpo; see budget_auc.")


def test_depth_with_several_arms_keeps_the_crossovers_below_the_leads():
    arms = ("grpo", "gigpo")
    frame = pass_at_t.data(synthetic.estimates(arms=arms), NONE, k=8, arms=synthetic.named(*arms))
    below = pass_at_t.plot(frame).axes[1]
    leads = frame[(frame["metric"] == "pass_at_k") & (frame["against"] == "base")]
    room = below.transData.transform((1, leads["band_low"].min()))[1]
    marks = [line for line in below.lines if line.get_marker() == "^"]
    highest = [
        line.get_transform().transform((1, float(np.asarray(line.get_ydata())[0])))[1]
        for line in marks
        if line.get_markeredgecolor() == "white"
    ]
    assert len(highest) == 2
    assert max(highest) < room


@pytest.mark.parametrize(
    "module", [pass_at_k, pass_at_t, pass_surface, budget_auc, crossover, process_supervision]
)
def test_an_arm_that_was_trained_told_is_said_to_be_played_blind(module):
    study = synthetic.named("grpo", ppo_told="ppo")
    estimates = synthetic.estimates(arms=("grpo", "ppo_told"), seeds=2)
    words = "ppo_told is played blind here, without the turns left it was trained with."
    assert words in module.caption(module.data(estimates, NONE, k=8, arms=study))
    study["ppo_told"] = study["ppo_told"]._replace(told=False)
    assert "played blind" not in module.caption(module.data(estimates, NONE, k=8, arms=study))


def test_depth_shows_one_k_only():
    estimates = synthetic.estimates()
    frame = pass_at_t.data(estimates, NONE, k=4, arms=synthetic.named(*ARMS))
    assert set(frame["k"]) == {4}
    assert set(frame["metric"]) == {"pass_at_k", "bound", "crossover"}
    with pytest.raises(ValueError, match="k=5"):
        pass_at_t.data(estimates, NONE, k=5, arms=synthetic.named(*ARMS))


def test_depth_without_a_bound_shows_no_headroom():
    estimates = synthetic.estimates()
    figure = pass_at_t.plot(
        pass_at_t.data(
            estimates.loc[estimates["metric"] != "bound"], NONE, k=8, arms=synthetic.named(*ARMS)
        )
    )
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["base", "grpo", "single training seed"]


@pytest.mark.parametrize(
    ("metric", "words"), [("bound", "structural bound"), ("crossover", "T*, the turn budget")]
)
def test_the_caption_of_depth_tells_what_is_drawn(metric, words):
    estimates = synthetic.estimates()
    without = estimates.loc[estimates["metric"] != metric]
    assert words in pass_at_t.caption(
        pass_at_t.data(estimates, NONE, k=8, arms=synthetic.named(*ARMS))
    )
    assert words not in pass_at_t.caption(
        pass_at_t.data(without, NONE, k=8, arms=synthetic.named(*ARMS))
    )


@pytest.mark.parametrize(
    ("value", "low", "high", "words"),
    [
        (7, 5, 9, "T* = 7 [5, 9]"),
        (7, 5, None, "T* = 7 [5, never]"),
        (1, 1, 3, "T* = 1 [1, 3], never behind"),
        (None, None, None, "no T*: behind at the end"),
    ],
)
def test_the_crossover_is_written_where_there_is_one_arm(value, low, high, words):
    frame = pass_at_t.data(synthetic.estimates(), NONE, k=8, arms=synthetic.named(*ARMS))
    frame.loc[frame["metric"] == "crossover", ["value", "low", "high"]] = [value, low, high]
    below = pass_at_t.plot(frame).axes[1]
    assert below.get_title("right") == words
