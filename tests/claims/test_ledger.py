import pandas as pd
import pytest

from tests.claims.evidence import ARMS, gap, table
from turnscope import tables
from turnscope.claims import _ledger as ledger
from turnscope.schemas import ESTIMATES

NOTHING = pd.DataFrame(columns=ESTIMATES.names)


def test_without_estimates_every_claim_is_listed_as_not_run():
    rows = ledger.assemble(NOTHING, {})
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
    assert ledger.assemble(rows, ARMS)
    with pytest.raises(ValueError, match="arm 'grpo' has estimates"):
        ledger.assemble(rows, {"gigpo": ARMS["gigpo"]})


def test_told_arms_are_listed_as_not_run_after_those_that_were_judged():
    rows = [gap(8, 20, 0.1), gap(8, 20, 0.1) | {"policy": "budget_mix_told"}]
    found = ledger.assemble(table(*rows), ARMS)
    told = [row["claim"] for row in found if row["policy"] == "budget_mix_told"]
    assert told == ["C1", "C1b", "C2a", "C2b", "C2c", "C7a", "C7b"]
    assert tables.conform(found, "claims").num_rows == len(found)
