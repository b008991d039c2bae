import json
from pathlib import Path

import pytest

from turnscope import provenance, records


@pytest.fixture
def record(tmp_path):
    (tmp_path / "a").write_text("a")
    files = {"a": tmp_path / "a"}
    return provenance.record("train", {"steps": 1}, "0", {"turnscope.draws": "0"}, files, files)


def test_a_record_is_read_as_it_was_written(record, tmp_path):
    provenance.write_json(record, tmp_path / "provenance.json")
    assert records.read(tmp_path / "provenance.json") == record


@pytest.mark.parametrize(
    "damage",
    [
        {"stage": None},
        {"spec": []},
        {"modules": "draws"},
        {"inputs": {}},
        {"outputs": [{"path": "a"}]},
        {"outputs": ["a"]},
    ],
)
def test_a_damaged_record_is_none(record, tmp_path, damage):
    mark = tmp_path / "provenance.json"
    mark.write_text(json.dumps(record | damage))
    assert records.read(mark) is None


def test_what_is_not_there_or_no_text_is_none(tmp_path):
    assert records.read(tmp_path / "provenance.json") is None
    assert records.read(tmp_path) is None
    (tmp_path / "provenance.json").write_bytes(b"\xff\xfe")
    assert records.read(tmp_path / "provenance.json") is None


def test_records_are_found_but_not_those_of_studies_inside(tmp_path):
    for name in ("provenance.json", "figures/a.provenance.json", "figures/notprovenance.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    for name in ("full/results/provenance.json", ".restoring/provenance.json"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    found = [path.relative_to(tmp_path).as_posix() for path in records.marks(tmp_path)]
    assert found == ["figures/a.provenance.json", "provenance.json"]
    assert [*records.files(tmp_path / "none")] == []


def test_circumstances_lie_beside_their_record():
    assert records.diary(Path("a/provenance.json")) == Path("a/run.json")
    assert records.diary(Path("a/b.provenance.json")) == Path("a/b.run.json")


def test_only_tables_of_parts_may_go_once_they_are_gathered():
    part = "results/shards/1-of-2/episodes.parquet"
    assert records.is_part("gather", "episodes.0", part)
    assert not records.is_part("sample", "episodes.0", part)
    assert not records.is_part("gather", "tasks", part)
    assert not records.is_part("gather", "turns.0", "results/episodes/turns.parquet")


def test_each_job_follows_those_that_it_waits_for():
    reads, writes = {"c": ["y"], "b": ["x"], "a": []}, {"a": ["x"], "b": ["y"], "c": []}
    found = records.in_order(["c", "b", "a"], reads.__getitem__, writes.__getitem__)
    assert found == ["a", "b", "c"]
