import pytest

from turnscope import calibration, tables
from turnscope.calibration.__main__ import main
from turnscope.stages import calibrate

NAIVE = {
    "naive: share of better states against one half",
    "naive: error states by base's own actions",
}


@pytest.mark.slow
def test_sixty_studies_show_a_calibrated_instrument():
    rows = calibration.run(60, 500, seed=1, workers=2)
    wrong = [row for row in rows if row["kind"] != "naive" and not row["passed"]]
    assert wrong == []
    artefacts = {row["family"] for row in rows if row["kind"] == "naive" and not row["passed"]}
    assert artefacts >= NAIVE


@pytest.mark.slow
def test_the_table_does_not_depend_on_the_processes(tmp_path, monkeypatch):
    spec = {"studies": 3, "draws": 100, "seed": 2}
    written = {}
    for workers in (1, 2):
        path = tmp_path / f"{workers}.parquet"
        for name in calibrate.THREADS:
            monkeypatch.setenv(name, str(workers))
        calibrate.run(spec, {}, {"calibration": path})
        written[workers] = path.read_bytes()
    assert written[1] == written[2]
    found = tables.read(tmp_path / "1.parquet", "calibration")
    assert set(found["kind"]) == {"null", "planted", "naive"}
    assert (found.loc[found["kind"] == "null", "studies"] <= 3).all()


def test_what_is_not_calibrated_is_named_and_fails(tmp_path, capsys):
    row = {
        "kind": "null",
        "family": "C1: holds",
        "studies": 10,
        "found": 4,
        "rate": 0.4,
        "low": 0.12,
        "high": 0.74,
        "expected": 0.05,
        "effect": None,
        "p_value": 0.001,
        "passed": False,
    }
    good = row | {"family": "C2a: holds", "passed": True}
    naive = row | {"kind": "naive", "family": "naive: shares"}
    path = tmp_path / "calibration.parquet"
    tables.write(tables.conform([row, good, naive], "calibration"), path, "calibration")
    assert main(path) == 1
    last = capsys.readouterr().out.splitlines()[-2:]
    assert last == ["1 of 2 families are calibrated", "not calibrated: C1: holds"]
    tables.write(tables.conform([good, naive], "calibration"), path, "calibration")
    assert main(path) == 0
