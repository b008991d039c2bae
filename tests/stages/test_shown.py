"""What figures, summaries and the report are handed, and what the page holds in the end."""

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from tests.claims.evidence import gap, table
from turnscope import schemas, tables
from turnscope.stages import _shown, claims, figure, report, summary

FACTS = {"Sampling": {"temperature": "1.0"}}
SPEC = {
    "k": 8,
    "margin": 0.05,
    "arms": [["grpo", "grpo", False]],
    "facts": FACTS,
    "figures": ["robustness"],
    "summaries": ["claims", "setup"],
}
CALIBRATION = {
    "kind": "null",
    "family": "C3c on lakes",
    "studies": 60,
    "found": 3,
    "rate": 0.05,
    "low": 0.01,
    "high": 0.14,
    "expected": 0.05,
    "p_value": 0.58,
    "passed": True,
}


@pytest.fixture
def judged(tmp_path):
    """Return the folder of a study that was judged, with its estimates and its calibration."""
    rows = [gap(8, 20, 0.1), gap(8, 20, 0.2) | {"policy": "grpo-s0", "seeds": 1}]
    frame = table(*rows).drop(columns="p_value").assign(tasks=9, samples=16, env="frozen_lake")
    tables.write(tables.conform(frame, "estimates"), tmp_path / "estimates.parquet", "estimates")
    path = tmp_path / "calibration.parquet"
    tables.write(tables.conform([CALIBRATION], "calibration"), path, "calibration")
    outputs = {name: tmp_path / f"{name}.parquet" for name in ("claims", "robustness")}
    claims.run(SPEC, {"estimates": tmp_path / "estimates.parquet"}, outputs)
    return tmp_path


def inputs(folder, *names):
    return {name: folder / f"{name}.parquet" for name in names}


@pytest.mark.parametrize("sources", [(), ("claims", "setup"), ("robustness", "calibration")])
def test_a_module_is_handed_the_tables_that_it_names_and_no_others(judged, sources):
    given: dict[str, Any] = {}

    def data(estimates, training, *, k, arms, **more):
        given.update(more)
        assert (len(estimates), len(training), k, list(arms)) == (2, 0, 8, ["grpo"])
        return pd.DataFrame()

    module: Any = SimpleNamespace(SOURCES=("pass_at_kt", *sources), data=data)
    _shown.data(module, SPEC, inputs(judged, "estimates", "claims", "robustness", "calibration"))
    assert set(given) == set(sources)
    for name in set(sources) - {"setup"}:
        assert list(given[name].columns) == schemas.TABLES[name].names
        assert len(given[name]) > 0
    assert given.get("setup", FACTS) == FACTS


def test_a_calibration_that_was_not_made_has_no_rows(judged):
    def data(estimates, training, *, calibration, **_):
        return calibration

    module: Any = SimpleNamespace(SOURCES=("calibration",), data=data)
    assert _shown.data(module, SPEC, {}).empty


def test_the_page_leads_from_a_claim_to_all_that_stands_behind_it(judged):
    files = {kind: judged / f"robustness.{kind}" for kind in figure.KINDS}
    shown = inputs(judged, "estimates", "claims", "robustness")
    figure.run(SPEC | {"figure": "robustness"}, shown, files)
    for name in SPEC["summaries"]:
        summary.run(SPEC | {"summary": name}, shown, {"csv": judged / f"{name}.csv"})
    given = inputs(judged, "estimates", "claims", "calibration") | {
        "figures": files["svg"],
        "data": files["csv"],
        "summaries.0": judged / "claims.csv",
        "summaries.1": judged / "setup.csv",
    }
    report.run(SPEC, given, {"report": judged / "report.html"})
    page = (judged / "report.html").read_text()
    anchors = ["robustness", "table-claims", "table-setup", "code-claims.breadth", "instrument"]
    assert [name for name in anchors if f'id="{name}"' not in page] == []
    assert 'table <a href="#table-claims">claims</a>' in page
    assert 'code <a href="#code-claims.breadth">claims.breadth</a>' in page
    assert "def _every_k(" in page
    assert 'id="code-claims._evidence"' in page
    assert "C3c on lakes" in page
