import pandas as pd
import pytest

from tests.claims.evidence import ARMS, gap, table
from turnscope import tables
from turnscope.claims import _judges, _ledger
from turnscope.schemas import ESTIMATES, TRAINING
from turnscope.summaries import claims

NOTHING, NO_CURVES = (schema.empty_table().to_pandas() for schema in (ESTIMATES, TRAINING))


def shown(records: list[dict]) -> pd.DataFrame:
    ledger = tables.conform(records, "claims").to_pandas()
    return claims.data(NOTHING, NO_CURVES, k=8, arms=ARMS, claims=ledger)


def test_claims_stand_in_the_order_of_the_ledger_within_each_environment():
    rows = [gap(8, 20, 0.1) | {"env": env} for env in ("sql", "lake")]
    found = shown(_judges.assemble(table(*rows), ARMS))
    judged = found.loc[found["env"].notna()]
    assert judged["env"].tolist() == sorted(judged["env"])
    lake = judged.loc[judged["env"] == "lake"]
    assert lake["claim"].tolist() == [
        name for name in _ledger.BY_NAME if name in set(lake["claim"])
    ]
    assert found["env"].isna().to_numpy()[len(judged) :].all()
    assert set(found["claim"]) == set(_ledger.BY_NAME)


def test_our_value_stands_beside_that_of_the_paper_of_no_effect_and_of_a_naive_protocol():
    numbers = {"value": 0.44, "low": 0.4, "high": 0.48, "null_value": 0.43, "naive_value": 0.65}
    who = {"env": "lake", "model": "nano", "policy": "grpo"}
    row = shown([_ledger.row("C3a", "inconclusive", "", **who, **numbers)]).iloc[0]
    expected = [0.44, 0.4, 0.48, 0.43, 0.65]
    assert row[["ours", "ours_low", "ours_high", "null", "naive"]].tolist() == expected
    assert row["paper"] == "DeepCoder-MT 46.8%, FrozenLake 42.8%"
    assert row["verdict"] == "inconclusive"


def test_without_claims_there_is_nothing_to_show():
    with pytest.raises(ValueError, match="claims"):
        shown([])


def test_the_caption_says_what_null_and_naive_are():
    caption = claims.caption(shown([_ledger.row("C1", "not run", "")]))
    assert "without any effect" in caption
    assert "an artefact fakes" in caption
