import pandas as pd
import pytest

from tests.claims.evidence import ARMS, gap, table
from turnscope import registry, tables
from turnscope.claims import _judges
from turnscope.claims import _ledger as ledger
from turnscope.schemas import ESTIMATES

NOTHING = pd.DataFrame(columns=ESTIMATES.names)


def test_without_estimates_every_claim_is_listed_as_not_run():
    rows = _judges.assemble(NOTHING, {})
    expected = "C1 C1b C2a C2b C2c C3a C3b C3c C3d C4a C4b C5 C6a C6b C7a C7b CA"
    assert [row["claim"] for row in rows] == expected.split()
    assert {row["verdict"] for row in rows} == {"not run"}
    assert tables.conform(rows, "claims").num_rows == 17


def test_a_small_model_cannot_reproduce_a_number():
    with pytest.raises(ValueError, match="'nano' cannot reproduce"):
        ledger.row("C3a", ledger.REPRODUCED, "", env="lake", model="nano", policy="grpo")
    row = ledger.row("C3a", ledger.REPRODUCED, "", env="lake", model="qwen3_4b", policy="grpo")
    assert row["paper"].startswith("DeepCoder-MT 46.8%")


def test_every_arm_with_estimates_is_one_of_the_study():
    rows = table(gap(8, 20, 0.1), gap(8, 20, 0.1) | {"policy": "grpo-s0", "seeds": 1})
    assert _judges.assemble(rows, ARMS)
    with pytest.raises(ValueError, match="arm 'grpo' has estimates"):
        _judges.assemble(rows, {"gigpo": ARMS["gigpo"]})


def test_a_judged_claim_names_what_shows_it_in_the_study_and_the_module_that_judged_it():
    found = _judges.assemble(table(gap(8, 20, 0.1)), ARMS, ["pass_at_t", "depth"], ["claims"])
    rows = {row["claim"]: (row["figure"], row["summary"], row["code"]) for row in found}
    assert rows["C1"] == (None, "claims", "claims.breadth")
    assert rows["C2a"] == ("pass_at_t", "claims", "claims.depth")
    assert rows["C3b"][:2] == (None, None)
    assert rows["CA"] == ("pass_at_t", "claims", None)


def test_arms_stand_in_the_order_of_the_study():
    rows = [gap(8, 20, 0.1) | {"policy": arm} for arm in ("gigpo", "grpo", "budget_mix")]
    found = _judges.assemble(table(*rows), ARMS)
    assert [row["policy"] for row in found if row["claim"] == "C1"] == [
        "grpo",
        "gigpo",
        "budget_mix",
    ]


def test_every_claim_names_a_figure_and_a_table_that_there_are():
    for claim in ledger.CLAIMS:
        assert claim.figure in registry.names("figures"), claim.claim
        assert claim.summary in registry.names("summaries"), claim.claim


def test_told_arms_are_listed_as_not_run_after_those_that_were_judged():
    rows = [gap(8, 20, 0.1), gap(8, 20, 0.1) | {"policy": "budget_mix_told"}]
    found = _judges.assemble(table(*rows), ARMS)
    told = [row["claim"] for row in found if row["policy"] == "budget_mix_told"]
    assert told == ["C1", "C1b", "C2a", "C2b", "C2c", "C7a", "C7b"]
    assert tables.conform(found, "claims").num_rows == len(found)
