import io

import pandas as pd
import pytest

from tests.figures import synthetic
from turnscope.summaries import solved_sets

ARMS = ("ppo", "grpo")
NONE = pd.DataFrame()


def drawn(arms=ARMS, **study):
    return solved_sets.data(
        synthetic.estimates(arms=arms, **study), NONE, k=8, arms=synthetic.named(*arms)
    )


def test_the_table_holds_the_estimates_in_the_order_of_the_study():
    estimates, table = synthetic.estimates(arms=ARMS), drawn()
    assert list(table.columns) == solved_sets.COLUMNS
    assert table["policy"].tolist() == ["base"] * 4 + ["ppo"] * 4 + ["grpo"] * 4
    assert table["t"].tolist() == [3, 6, 9, 12] * 3
    cell = table.query("policy == 'grpo' and t == 9").iloc[0]
    here = estimates.query("policy == 'grpo' and t == 9 and against == 'base'")
    for metric, name in solved_sets.MEASURES.items():
        assert cell[name] == here.loc[here["metric"] == metric, "value"].item()
    row = here.loc[here["metric"] == "srr"].iloc[0]
    assert cell[["SRR_low", "SRR_high"]].tolist() == row[["low", "high"]].tolist()
    assert cell["p"] == here.loc[here["metric"] == "swap", "p_value"].item()


def test_base_has_a_set_and_no_changes():
    base = drawn().query("policy == 'base'")
    assert base["solved"].notna().all()
    assert base[["gained", "p", "by_seed", "SRR", "trained"]].isna().all(axis=None)


def test_every_seed_has_its_swaps_and_its_own_test():
    estimates, table = synthetic.estimates(arms=ARMS), drawn()
    words = table.query("policy == 'ppo' and t == 12")["by_seed"].item().split("; ")
    assert len(words) == 3
    at = estimates.query("t == 12 and against == 'base'")
    for seed, word in enumerate(words):
        own = at.loc[at["policy"] == f"ppo-s{seed}"].set_index("metric")
        swaps = "{:.0f}:{:.0f}".format(*(own.loc[name, "value"] for name in ("gained", "lost")))
        assert word == f"{swaps} (p {own.loc['swap', 'p_value']:.2g})"


def test_the_caption_can_be_written_from_the_file():
    table = drawn()
    again = pd.read_csv(io.StringIO(table.to_csv(index=False)))
    assert solved_sets.caption(again) == solved_sets.caption(table)
    assert "16 episodes of each of 60 test tasks" in solved_sets.caption(table)
    arms = synthetic.named(*ARMS)
    arms["ppo"] = arms["ppo"]._replace(told=True)
    told = solved_sets.data(synthetic.estimates(arms=ARMS), NONE, k=8, arms=arms)
    assert "ppo is played blind here" in solved_sets.caption(told)


def test_without_sets_there_is_nothing_to_tell():
    with pytest.raises(ValueError, match="solved_sets"):
        solved_sets.data(synthetic.estimates().iloc[:0], NONE, k=8, arms=synthetic.named(*ARMS))
