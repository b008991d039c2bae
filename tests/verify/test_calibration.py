"""The instrument finds no more than there is: 500 synthetic studies, run by `make verify`."""

import subprocess
import sys
from pathlib import Path

import pytest

from turnscope import tables

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.verify


@pytest.fixture(scope="module")
def calibration():
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--cores",
        "2",
        "--quiet",
        "all",
        "--",
        "calibrate",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return tables.read(ROOT / "results/calibration/calibration.parquet", "calibration")


def test_no_verdict_is_wrong_more_often_than_it_may_be(calibration):
    null = calibration.query("kind == 'null'")
    assert null["studies"].max() == 500
    assert null.loc[~null["passed"], ["family", "rate", "p_value"]].to_dict("records") == []


def test_planted_effects_are_found_as_often_as_their_size_predicts(calibration):
    planted = calibration.query("kind == 'planted'")
    assert len(planted) > 5
    assert planted.loc[~planted["passed"], ["family", "rate", "expected"]].to_dict("records") == []


def test_naive_protocols_show_their_artefact(calibration):
    naive = calibration.query("kind == 'naive'")
    assert len(naive) > 1
    assert not naive["passed"].any()
