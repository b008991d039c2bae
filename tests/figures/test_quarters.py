import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from tests.figures import synthetic
from turnscope import intervals
from turnscope.figures import _quarters, _style, budget_mix, process_supervision

NONE = synthetic.training(seeds=1, steps=1)
ARMS = ("grpo", "gigpo", "budget_mix", "budget_mix_told", "tight_50")


def drawn(module, arms=ARMS):
    return module.data(synthetic.estimates(arms=arms), NONE, k=8, arms=synthetic.named(*arms))


def variants(module, **algorithms):
    """Show arms that are called otherwise than their algorithms."""
    arms = ("grpo", *algorithms)
    study = synthetic.named("grpo", **algorithms)
    return module.data(synthetic.estimates(arms=arms, seeds=2), NONE, k=8, arms=study)


def mark(ax, colour):
    """Return the large mark of a colour: where it stands and whether it is filled."""
    (line,) = [
        line
        for line in ax.lines
        if to_hex(line.get_color()) == colour
        and line.get_marker() not in ("None", "<", None)
        and line.get_linestyle() != "--"
    ]
    return line.get_xdata()[0], line.get_markerfacecolor() != "white"


def of(frame, metric, policy, turns):
    rows = frame[(frame["metric"] == metric) & (frame["policy"] == policy)]
    return rows[rows["t"] == turns].iloc[0]


def test_arms_that_differ_in_credit_are_compared_with_the_reference():
    frame = drawn(process_supervision)
    assert _style.arms_of(frame) == ["grpo", "gigpo"]
    assert process_supervision.caption(frame).endswith(" Not run here: oracle_process, ppo.")
    axes = process_supervision.plot(frame).axes
    titles = [ax.get_title("left") for ax in axes[2:]]
    assert titles == ["25%: 3 turns", "50%: 6 turns", "75%: 9 turns", "100%: 12 turns"]
    for ax, turns in zip(axes[2:], (3, 6, 9, 12), strict=True):
        row = of(frame, "between_arms", "gigpo", turns)
        sure = row["low"] > 0 or row["high"] < 0
        assert mark(ax, _style.HUES["gigpo"]) == (row["value"], sure)


def test_budget_mix_and_its_controls_stand_at_the_quarters():
    frame = drawn(budget_mix)
    assert _style.arms_of(frame) == ["grpo", "budget_mix", "budget_mix_told", "tight_50"]
    assert set(frame["t"]) == {3, 6, 9, 12}
    axes = budget_mix.plot(frame).axes
    for ax, turns in zip(axes[:4], (3, 6, 9, 12), strict=True):
        row = of(frame, "pass_at_k", "tight_50", turns)
        assert mark(ax, _style.HUES["tight_50"])[0] == row["value"]
    shown = [text.get_text() for text in axes[4].get_yticklabels()]
    assert shown == ["budget_mix", "tight_50"]


def test_an_arm_that_was_told_is_played_told_and_compared_with_none_that_was_not():
    frame = drawn(budget_mix)
    rows = frame[frame["policy"] == "budget_mix_told"]
    assert set(rows["metric"]) == {"told"}
    told = synthetic.estimates(arms=ARMS).query(
        "metric == 'told' and policy == 'budget_mix_told' and k == 8"
    )
    assert rows["value"].tolist() == told["value"].tolist()
    assert set(frame.loc[frame["policy"] == "grpo", "metric"]) == {"pass_at_k"}
    assert "budget_mix_told: played for that budget" in budget_mix.caption(frame)
    assert "played for that budget" not in budget_mix.caption(
        drawn(budget_mix, ("grpo", "budget_mix"))
    )


def test_an_arm_that_was_trained_blind_stays_blind_though_it_was_played_told_too():
    estimates = synthetic.estimates(arms=ARMS)
    told = estimates.query("metric == 'told' and policy == 'grpo' and k == 8")
    more = pd.concat([estimates, told.assign(policy="budget_mix")])
    frame = budget_mix.data(more, NONE, k=8, arms=synthetic.named(*ARMS))
    pd.testing.assert_frame_equal(frame, drawn(budget_mix))
    assert of(frame, "pass_at_k", "budget_mix", 6)["value"] > 0
    assert "budget_mix: played for that budget" not in budget_mix.caption(frame)


def test_no_arm_is_compared_with_a_reference_that_was_trained_told():
    arms = synthetic.named("gigpo", "budget_mix", grpo="grpo")
    arms["grpo"] = arms["grpo"]._replace(told=True)
    frame = budget_mix.data(synthetic.estimates(arms=ARMS), NONE, k=8, arms=arms)
    assert set(frame["metric"]) == {"pass_at_k", "told"}
    assert set(frame.loc[frame["policy"] == "grpo", "metric"]) == {"told"}


def test_arms_are_chosen_by_their_algorithm_whatever_they_are_called():
    frame = variants(process_supervision, slow_critic="ppo", by_turn="ppo", odd="tight")
    assert _style.arms_of(frame) == ["grpo", "slow_critic", "by_turn"]
    assert process_supervision.caption(frame).endswith("Not run here: oracle_process, gigpo.")
    process_supervision.plot(frame).draw_without_rendering()
    frame = variants(budget_mix, short="tight", grow="curriculum", like_grpo="grpo", odd="ppo")
    assert _style.arms_of(frame) == ["grpo", "short", "grow", "like_grpo"]
    left = "Not run here: budget_mix, speed_shaped, anytime."
    assert budget_mix.caption(frame).endswith(left)


def test_controls_that_are_no_algorithm_of_their_own_are_missed_too():
    caption = budget_mix.caption(drawn(budget_mix, ("grpo", "budget_mix")))
    assert "budget_mix with the turns left shown, a second grpo, such as grpo_matched." in caption
    caption = budget_mix.caption(drawn(budget_mix, ("grpo", "budget_mix_told", "grpo_matched")))
    assert "turns left shown, a second" not in caption
    assert caption.endswith("Not run here: speed_shaped, tight, curriculum, anytime.")


def test_the_reference_is_shown_whatever_its_algorithm():
    estimates = synthetic.estimates(arms=("grpo", "budget_mix", "gigpo"))
    arms = synthetic.named("budget_mix", "gigpo", grpo="ppo")
    frame = budget_mix.data(estimates, NONE, k=8, arms=arms)
    assert _style.arms_of(frame) == ["budget_mix", "grpo"]


def test_the_margin_of_no_inferiority_stands_at_the_full_budget_alone():
    axes = budget_mix.plot(drawn(budget_mix)).axes
    margins = [
        [np.asarray(line.get_xdata())[0] for line in ax.lines if line.get_linestyle() == "--"]
        for ax in axes[4:]
    ]
    assert margins == [[], [], [], [-intervals.NONINFERIORITY]]


@pytest.mark.parametrize("module", [budget_mix, process_supervision])
def test_a_study_without_anything_to_compare_shows_its_levels(module):
    frame = drawn(module, ("grpo",))
    assert set(frame["metric"]) <= {"pass_at_k", "bound"}
    assert "Not run here" in module.caption(frame)
    module.plot(frame).draw_without_rendering()


def test_the_reference_is_the_one_of_the_estimates():
    frame = pd.DataFrame({"metric": ["pass_at_k", "between_arms"], "against": [None, "mine"]})
    assert _quarters.reference(frame) == "mine"
    assert _quarters.reference(frame.iloc[:1]) == "grpo"
