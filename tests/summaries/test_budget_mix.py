import io

import pandas as pd
import pytest

from tests.figures import synthetic
from turnscope.summaries import budget_mix

NONE = pd.DataFrame()
ARMS = ("grpo", "budget_mix", "budget_mix_told")


def rows(*records: dict) -> pd.DataFrame:
    columns = ["metric", "policy", "against", "k", "t", "value", "low", "high", "p_value", "seeds"]
    frame = pd.DataFrame(records).reindex(columns=columns)
    frame = frame.astype({"against": object, "k": "Int32", "t": "Int32"})
    return frame.assign(env="lake", model="nano")


def study(*more: dict) -> pd.DataFrame:
    levels = [
        {"metric": "pass_at_k", "policy": policy, "k": 8, "t": turns, "value": 0.1 * turns}
        for policy in ("base", "grpo", "budget_mix")
        for turns in range(1, 9)
    ]
    return rows(*levels, *more)


def test_each_environment_has_the_quarters_of_its_own_budget_and_its_own_arms():
    lake = study()
    code = lake.loc[(lake["t"] <= 6) & (lake["policy"] != "budget_mix")].assign(env="code")
    both = pd.concat([lake, code], ignore_index=True)
    table = budget_mix.data(both, NONE, k=8, arms=synthetic.named(*ARMS))
    found = {
        env: (part["policy"].unique().tolist(), part["t"].unique().tolist())
        for env, part in table.groupby("env")
    }
    assert found == {
        "code": (["base", "grpo"], [2, 3, 5, 6]),
        "lake": (["base", "grpo", "budget_mix"], [2, 4, 6, 8]),
    }
    assert table["share"].tolist() == [0.25, 0.5, 0.75, 1.0] * 5


def gaps(metric: str, p_values: list[float | None]) -> list[dict]:
    return [
        {
            "metric": metric,
            "policy": "budget_mix",
            "against": "grpo",
            "k": 8,
            "t": turns,
            "value": 0.01 * turns,
            "low": 0.0,
            "high": 0.1,
            "p_value": p,
            "seeds": 3,
        }
        for turns, p in zip((2, 4, 6, 8), p_values, strict=True)
    ]


def test_levels_stand_at_the_quarters():
    table = budget_mix.data(study(), NONE, k=8, arms=synthetic.named("grpo", "budget_mix"))
    base = table[table["policy"] == "base"]
    assert base["t"].tolist() == [2, 4, 6, 8]
    assert base["share"].tolist() == [0.25, 0.5, 0.75, 1.0]
    assert base["pass"].tolist() == pytest.approx([0.2, 0.4, 0.6, 0.8])
    assert table["policy"].unique().tolist() == ["base", "grpo", "budget_mix"]
    assert table["difference"].isna().all()


def holm(metric: str, p_values: list[float | None]) -> list[dict]:
    """Rows in which the p-value is the value as well."""
    return [row | {"value": row["p_value"]} for row in gaps(metric, p_values)]


def test_corrected_p_values_are_those_of_the_estimates():
    found = gaps("between_arms", [0.01, 0.04, 0.03, 0.2])
    found += holm("between_arms_holm", [0.05, 0.1, 0.09, 0.3])
    table = budget_mix.data(study(*found), NONE, k=8, arms=synthetic.named("grpo", "budget_mix"))
    arm = table[table["policy"] == "budget_mix"]
    assert arm["p"].tolist() == [0.01, 0.04, 0.03, 0.2]
    assert arm["p_holm"].tolist() == [0.05, 0.1, 0.09, 0.3]
    assert arm["reference"].tolist() == ["grpo"] * 4
    assert table.loc[table["policy"] == "grpo", "p_holm"].isna().all()


def test_a_p_value_that_does_not_exist_is_null():
    found = gaps("between_arms_seeds", [0.02, None, 0.01, None])
    found += holm("between_arms_seeds_holm", [0.03, None, 0.02, None])
    table = budget_mix.data(study(*found), NONE, k=8, arms=synthetic.named("grpo", "budget_mix"))
    arm = table[table["policy"] == "budget_mix"]
    expected = [0.03, float("nan"), 0.02, float("nan")]
    assert arm["p_seeds_holm"].tolist() == pytest.approx(expected, nan_ok=True)
    assert arm["seeds"].tolist() == [3, 3, 3, 3]


def test_told_episodes_have_rows_of_their_own_and_no_difference():
    told = {"metric": "told", "policy": "grpo", "k": 8, "t": 4, "value": 0.7}
    found = [told, *gaps("between_arms", [0.1] * 4)]
    table = budget_mix.data(study(*found), NONE, k=8, arms=synthetic.named("grpo", "budget_mix"))
    row = table[table["played"] == "told"].iloc[0]
    assert (row["policy"], row["t"], row["share"], row["pass"]) == ("grpo", 4, 0.5, 0.7)
    assert table["played"].value_counts().to_dict() == {"blind": 12, "told": 1}
    assert pd.isna(row["difference"])


def test_an_arm_that_was_trained_told_is_compared_with_nobody():
    found = gaps("between_arms", [0.01] * 4) + gaps("between_arms_seeds", [0.01] * 4)
    found += gaps("between_arms_lower", [0.01] * 4) + holm("between_arms_holm", [0.01] * 4)
    arms = synthetic.named("grpo", "budget_mix")
    compared = ["difference", "difference_low", "p", "p_holm", "over_seeds", "not_inferior"]
    table = budget_mix.data(study(*found), NONE, k=8, arms=arms)
    assert table.loc[table["policy"] == "budget_mix", compared].notna().all(axis=None)
    assert table["trained"].dropna().unique().tolist() == ["blind"]
    for told in ("budget_mix", "grpo"):
        others = arms | {told: arms[told]._replace(told=True)}
        table = budget_mix.data(study(*found), NONE, k=8, arms=others)
        rows = table[table["policy"] == "budget_mix"]
        assert rows["pass"].tolist() == pytest.approx([0.2, 0.4, 0.6, 0.8])
        assert rows[compared].isna().all(axis=None)
        assert set(table.loc[table["policy"] == told, "trained"]) == {"told"}
        assert f"Trained told: {told}, in blind rows without" in budget_mix.caption(table)


def test_the_tokens_of_training_stand_beside_every_row_of_an_arm():
    tokens = {"metric": "tokens_trained", "policy": "budget_mix", "value": 5e6}
    table = budget_mix.data(study(tokens), NONE, k=8, arms=synthetic.named("grpo", "budget_mix"))
    assert table.loc[table["policy"] == "budget_mix", "tokens_trained"].tolist() == [5e6] * 4
    assert table.loc[table["policy"] != "budget_mix", "tokens_trained"].isna().all()


def test_budgets_that_coincide_stand_once():
    levels = [
        {"metric": "pass_at_k", "policy": "base", "k": 8, "t": turns, "value": 0.5}
        for turns in (1, 2)
    ]
    table = budget_mix.data(rows(*levels), NONE, k=8, arms=synthetic.named())
    assert table[["t", "share"]].to_numpy().tolist() == [[1, 0.5], [2, 1.0]]


def test_the_table_of_a_study_holds_its_estimates():
    estimates = synthetic.estimates(arms=ARMS)
    table = budget_mix.data(estimates, NONE, k=8, arms=synthetic.named(*ARMS))
    assert list(table.columns) == budget_mix.COLUMNS
    cell = table.query("policy == 'budget_mix' and t == 6").iloc[0]
    at = (estimates["policy"] == "budget_mix") & (estimates["t"] == 6) & (estimates["k"] == 8)
    for metric, column in (
        ("between_arms", "difference_low"),
        ("between_arms_seeds", "over_seeds_low"),
        ("between_arms_lower", "not_inferior"),
    ):
        assert cell[column] == estimates.loc[at & (estimates["metric"] == metric), "low"].item()
    for metric in ("between_arms", "between_arms_seeds"):
        adjusted = estimates.loc[at & (estimates["metric"] == f"{metric}_holm"), "value"].item()
        assert cell["p_seeds_holm" if "seeds" in metric else "p_holm"] == adjusted
    tokens = estimates.query("metric == 'tokens_trained' and policy == 'budget_mix'")
    assert cell["tokens_trained"] == tokens["value"].item()
    assert set(table.loc[table["played"] == "told", "policy"]) == {
        "base",
        "grpo",
        "budget_mix_told",
    }


def test_the_caption_can_be_written_from_the_file():
    table = budget_mix.data(synthetic.estimates(arms=ARMS), NONE, k=8, arms=synthetic.named(*ARMS))
    again = pd.read_csv(io.StringIO(table.to_csv(index=False)))
    caption = budget_mix.caption(again)
    assert caption == budget_mix.caption(table)
    assert "difference to grpo" in caption
    assert "3 training seeds" in caption
    alone = budget_mix.data(synthetic.estimates(), NONE, k=8, arms=synthetic.named("grpo"))
    assert "difference" not in budget_mix.caption(alone)


def test_a_k_that_was_not_estimated_is_named():
    with pytest.raises(ValueError, match="k=3"):
        budget_mix.data(study(), NONE, k=3, arms=synthetic.named("grpo"))
