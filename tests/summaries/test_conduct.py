import io

import pandas as pd
import pytest

from tests.figures import synthetic
from turnscope.summaries import conduct

ARMS = ("ppo", "grpo")
NO_CURVES = pd.DataFrame(columns=["env", "model", "policy", "step", "name", "value"])


def test_the_table_holds_the_estimates_in_the_order_of_the_study():
    estimates = synthetic.estimates(arms=ARMS)
    table = conduct.data(estimates, NO_CURVES, k=8, arms=synthetic.named(*ARMS))
    assert table["policy"].tolist() == ["base", "ppo", "grpo"]
    assert table["seeds"].tolist() == [0, 3, 3]
    row = estimates.query("metric == 'share_budget' and policy == 'grpo'").iloc[0]
    cell = table.query("policy == 'grpo'").iloc[0]
    columns = ["out_of_turns", "out_of_turns_low", "out_of_turns_high"]
    assert cell[columns].tolist() == row[["value", "low", "high"]].tolist()
    invalid = estimates.query("metric == 'invalid' and policy == 'grpo'").iloc[0]
    assert cell["invalid_turns"] == invalid["value"] > 0


def test_an_arm_that_was_trained_told_is_said_to_be_played_blind():
    estimates = synthetic.estimates(arms=ARMS)
    arms = synthetic.named(*ARMS)
    assert "without the turns left" not in conduct.caption(
        conduct.data(estimates, NO_CURVES, k=8, arms=arms)
    )
    arms["ppo"] = arms["ppo"]._replace(told=True)
    table = conduct.data(estimates, NO_CURVES, k=8, arms=arms)
    assert table["trained"].tolist()[1:] == ["told", "blind"]
    again = pd.read_csv(io.StringIO(table.to_csv(index=False)))
    assert conduct.caption(again).endswith(
        " ppo is played blind here, without the turns left it was trained with."
    )


def test_without_episodes_there_is_nothing_to_tell():
    with pytest.raises(ValueError, match="conduct"):
        conduct.data(synthetic.estimates().iloc[:0], NO_CURVES, k=8, arms=synthetic.named(*ARMS))
