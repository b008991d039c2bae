import numpy as np
import pandas as pd
import pytest

from tests import likely
from tests.figures.synthetic import named
from tests.metrics.by_hand import SETTINGS, tasks
from turnscope.metrics._checks import CHECKS
from turnscope.metrics.likelihood import estimate
from turnscope.summaries import sanity

NONE = pd.DataFrame()
NAMES = [f"t{number}" for number in range(8)]
WHO = {"env": "lake", "model": "nano"}


def scored() -> pd.DataFrame:
    rows = likely.rows(1, NAMES, {"grpo-s0": 0.5, "gigpo-s0": 0.5})
    return estimate(tasks(NAMES), rows, SETTINGS)


def truncated(policy: str, t: int, differ: float, equivalent: float) -> list[dict]:
    cell = {**WHO, "policy": policy, "against": policy, "k": 8, "t": t, "value": 0.01}
    ends = {"low": -0.02, "high": 0.04}
    return [
        {**cell, **ends, "metric": "truncation", "p_value": differ},
        {**cell, **ends, "metric": "truncation_equivalence", "p_value": equivalent},
    ]


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    return sanity.data(rows, NONE, k=8, arms=named("gigpo", "grpo"))


def test_each_check_and_policy_has_a_row():
    rows = scored()
    table = shown(rows)
    assert table["policy"].drop_duplicates().tolist() == ["gigpo", "gigpo-s0", "grpo", "grpo-s0"]
    assert len(table) == 4 * len(CHECKS)
    assert set(table["passed"]) == {"yes"}
    row = rows.query("metric == 'sanity_martingale' and policy == 'grpo'").iloc[0]
    cell = table.query("policy == 'grpo' and check.str.contains('first actions')").iloc[0]
    names = ["value", "value_low", "value_high"]
    assert cell[names].tolist() == row[["value", "low", "high"]].tolist()
    assert cell["allowed"] == "0.999 to 1.001"
    allowed = set(table["allowed"])
    assert {"at most 0.02", "at least -0.001", "-0.002 to 0.002"} <= allowed


def test_a_failed_check_says_no_and_an_unmade_one_is_open():
    rows = scored()
    one = rows["policy"] == "grpo-s0"
    rows.loc[one & (rows["metric"] == "sanity_signed_passed"), "value"] = 0.0
    rows.loc[one & (rows["metric"] == "sanity_itself_passed"), "value"] = np.nan
    table = shown(rows).query("policy == 'grpo-s0'")
    assert table.loc[table["passed"] == "no", "allowed"].tolist() == ["-0.002 to 0.002"]
    assert (table["passed"] == "open").sum() == 1
    assert sanity.caption(table).endswith(f"Here: {len(CHECKS) - 2} yes, 1 no, 1 open.")


@pytest.mark.parametrize(
    ("differ", "equivalent", "expected"),
    [(0.5, 0.01, "yes"), (0.001, 0.01, "yes"), (0.001, 0.2, "no"), (0.02, 0.2, "open")],
)
def test_truncation_is_equivalent_different_or_open(differ, equivalent, expected):
    # with four rows, a difference counts at 0.05 / 4
    others = [row for t in (5, 10, 15) for row in truncated("base", t, 0.5, 0.01)]
    table = shown(pd.DataFrame([*others, *truncated("grpo-s0", 10, differ, equivalent)]))
    assert table["passed"].tolist() == ["yes", "yes", "yes", expected]
    assert table["check"].tolist()[0] == "truncation, k=8, T=5"


def test_what_needs_more_tasks_is_open():
    rows = estimate(tasks("a"), likely.rows(1, ["a"], {"grpo-s0": 0.5}), SETTINGS)
    table = shown(rows)
    measured = table["check"].isin([check.what for check in CHECKS.values() if check.measured])
    assert table.loc[~measured, ["value_low", "value_high"]].isna().all(axis=None)
    assert set(table.loc[~measured, "passed"]) == {"open"}
    assert set(table.loc[measured, "passed"]) == {"yes"}
    assert "a task is more than 5 times as far out" in sanity.caption(table)


def test_without_checks_there_is_nothing_to_tell():
    with pytest.raises(ValueError, match="sanity"):
        shown(scored().iloc[:0])
