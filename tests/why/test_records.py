import json

import pytest

from turnscope import provenance
from turnscope.why import records


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
