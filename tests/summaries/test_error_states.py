import io

import pandas as pd
import pytest

from tests.figures import matched, synthetic
from turnscope.summaries import error_states

NO_CURVES = pd.DataFrame(columns=["env", "model", "policy", "step", "name", "value"])
ARMS = ("ppo", "grpo")


def continued():
    """Write what metric `recovery` would say of one definition."""
    parts = {
        ("continuation_gap", "base/loss", 0.1),
        ("continuation_gap", "trained/loss", 0.2),
        ("continuation_both", "both/loss", 0.15),
        ("continuation_both", "both/fall", 0.4),
    }
    first = matched.estimates(ARMS).iloc[[0]].assign(policy="grpo", t=float("nan"))
    rows = [
        first.assign(metric=metric, part=part, value=value, low=value - 0.1, high=value + 0.1)
        for metric, part, value in sorted(parts)
    ]
    within = first.assign(metric="continuation_both", part="both/loss", value=0.9, t=4)
    return pd.concat([*rows, within]).astype({"t": "Int32"})


def drawn(*more):
    rows = pd.concat([matched.estimates(ARMS), *more], ignore_index=True)
    return error_states.data(rows, NO_CURVES, k=8, arms=synthetic.named(*ARMS))


def test_definitions_stand_between_the_subsets_that_are_none():
    table = drawn()
    definitions = ["all", "clean", "error", "away", "loss", "injected"]
    assert table["definition"].tolist() == 2 * definitions
    assert table["policy"].tolist() == ["ppo"] * 6 + ["grpo"] * 6


def test_the_table_holds_the_estimates():
    estimates, table = matched.estimates(ARMS), drawn()
    row = table.query("policy == 'grpo' and definition == 'loss'").iloc[0]
    known = estimates.query("policy == 'grpo' and part == 'mixture/loss' and t.isna()")
    known = known.set_index("metric")
    for metric, name in error_states.STEPS.items():
        assert row[name] == known.loc[metric, "value"]
        if name not in error_states.BARE:
            ends = [row[f"{name}_low"], row[f"{name}_high"]]
            assert ends == list(known.loc[metric, ["low", "high"]])
    assert row["states"] > 20
    clean = table.query("policy == 'grpo' and definition == 'clean'").iloc[0]
    assert pd.isna(clean["minus_clean"])


def test_continuations_stand_beside_the_definition_that_chose_their_states():
    table = drawn(continued())
    row = table.query("policy == 'grpo' and definition == 'loss'").iloc[0]
    names = ["continuation_from_base", "continuation_from_arm", "continuation_both"]
    assert row[names].tolist() == [0.1, 0.2, 0.15]
    assert row["continuation_both_low"] == pytest.approx(0.05)
    # a definition that no compared state meets
    fall = table.query("policy == 'grpo' and definition == 'fall'").iloc[0]
    assert fall["continuation_both"] == 0.4
    assert pd.isna(fall["states"])
    assert table.query("policy == 'ppo'")[names].isna().to_numpy().all()


def test_the_caption_is_that_of_the_written_table():
    again = pd.read_csv(io.StringIO(drawn().to_csv(index=False)))
    assert error_states.caption(again) == error_states.caption(drawn())


def test_without_matched_states_there_is_nothing_to_show():
    with pytest.raises(ValueError, match="error_states: no comparison"):
        error_states.data(
            matched.estimates().iloc[:0], NO_CURVES, k=8, arms=synthetic.named("grpo")
        )
