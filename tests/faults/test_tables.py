"""Files that were cut short or in which a bit has flipped, as the next job meets them."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from turnscope import intact, provenance, tables
from turnscope.calibration import __main__ as calibration
from turnscope.schemas import TABLES
from turnscope.stages import _job

FLIPS = 60
"""Bits that are flipped in each table, one at a time."""
Damage = Callable[[bytes], bytes]


def values(kind: pa.DataType, rng: np.random.Generator, number: int) -> list[Any]:
    if pa.types.is_list(kind):
        return [values(kind.value_type, rng, int(rng.integers(0, 6))) for _ in range(number)]
    if pa.types.is_boolean(kind):
        return [bool(one) for one in rng.random(number) < 0.5]
    if pa.types.is_integer(kind):
        return [int(one) for one in rng.integers(0, 1000, number)]
    if pa.types.is_floating(kind):
        return [float(one) for one in rng.normal(size=number)]
    assert pa.types.is_string(kind)
    return [f"text √ {one}" for one in rng.integers(0, 50, number)]


def write(path: Path, table: str, number: int = 200) -> bytes:
    """Write a table of random rows; return its bytes."""
    rng, schema = np.random.default_rng(7), TABLES[table]
    columns = [pa.array(values(field.type, rng, number), field.type) for field in schema]
    tables.write(pa.table(columns, schema=schema), path, table)
    return path.read_bytes()


def made(folder: Path, table: str, mark: str = "provenance.json") -> Path:
    """Let a job write a table; return where it lies."""
    path = folder / f"{table}.parquet"

    def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
        write(outputs["table"], table)

    words = ["--spec", "{}", "--output", f"table={path}", f"provenance={folder / mark}"]
    assert _job.execute(run, "figure", words) == 0
    return path


def read(path: Path, table: str, to: Path) -> tuple[int, list[Any]]:
    """Let another job read it; return its exit code, and what it read."""
    seen: list[Any] = []

    def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
        seen.append(tables.read(inputs["table"], table))
        outputs["sum"].write_text(str(len(seen[0])))

    words = ["--spec", "{}", "--input", f"table={path}"]
    words += ["--output", f"sum={to / 'sum'}", f"provenance={to / 'provenance.json'}"]
    return _job.execute(run, "figure", words), seen


def damages(content: bytes, flips: int = FLIPS) -> Iterator[bytes]:
    """Yield a file cut short at several places, and with one bit flipped at random ones."""
    for length in (0, 4, len(content) // 2, len(content) - 4, len(content) - 1):
        yield content[:length]
    rng = np.random.default_rng(len(content))
    for place in rng.choice(len(content) * 8, flips, replace=False).tolist():
        yield flipped(content, place)


def flipped(content: bytes, place: int) -> bytes:
    changed = bytearray(content)
    changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("table", sorted(TABLES))
def test_no_job_computes_from_a_damaged_table(table, tmp_path, capsys):
    path = made(tmp_path / "from", table)
    whole = path.read_bytes()
    assert read(path, table, tmp_path / "to")[0] == 0
    before = contents(tmp_path / "to")
    assert {"provenance.json", "sum"} < before.keys()
    capsys.readouterr()
    for damaged in damages(whole):
        path.write_bytes(damaged)
        code, seen = read(path, table, tmp_path / "to")
        last = capsys.readouterr().err.splitlines()[-1]
        assert (code, seen) == (1, [])
        assert last == (
            f"error: {path} is damaged: its content is not what {path.parent}/provenance.json says "
            f"was written; remove {path}, and its job makes it anew"
        )
    assert contents(tmp_path / "to") == before
    path.write_bytes(whole)
    code, (rows,) = read(path, table, tmp_path / "to")
    assert (code, len(rows)) == (0, 200)


@pytest.mark.parametrize("mark", ["training.provenance.json", "provenance.json"])
def test_what_shares_a_folder_is_compared_with_its_own_record(mark, tmp_path):
    path = made(tmp_path / "from", "training", mark)
    path.write_bytes(flipped(path.read_bytes(), 999))
    with pytest.raises(ValueError, match=rf"/{mark} says was written; remove {path}, and"):
        intact.sums({"rows": path})


@pytest.mark.parametrize("outputs", [{"outputt": []}, {"outputs": []}, {"outputs": 5}])
def test_a_record_that_speaks_for_nothing_is_damaged(outputs, tmp_path):
    path = made(tmp_path / "from", "training", "provenance.json")
    mark = path.with_name("provenance.json")
    mark.write_text(json.dumps({"stage": "train", "spec": {}, "modules": {}, **outputs}))
    with pytest.raises(ValueError, match="is damaged: it is no record of a job"):
        intact.sums({"rows": path})


def test_without_a_record_a_table_is_read_as_it_is(tmp_path):
    write(tmp_path / "own" / "training.parquet", "training")
    code, (rows,) = read(tmp_path / "own" / "training.parquet", "training", tmp_path / "to")
    assert (code, len(rows)) == (0, 200)
    made(tmp_path / "own", "claims", "claims.provenance.json")
    (tmp_path / "own" / "provenance.json").write_text("{}")
    code, (rows,) = read(tmp_path / "own" / "training.parquet", "training", tmp_path / "to")
    assert (code, len(rows)) == (0, 200)


@pytest.mark.parametrize("table", sorted(TABLES))
def test_damage_to_a_table_without_a_record_is_named_where_it_can_be_seen(table, tmp_path):
    path = tmp_path / "own.parquet"
    seen: list[Exception] = []
    for damaged in damages(write(path, table), 20):
        path.write_bytes(damaged)
        try:
            tables.read(path, table)
        except Exception as error:  # noqa: BLE001 - its kind is tested
            seen.append(error)
    assert len(seen) >= 5  # those that were cut short
    assert {type(error) for error in seen} == {ValueError}
    assert all(str(error).startswith(f"{path}: ") and "\n" not in str(error) for error in seen)


def test_a_text_that_is_no_utf8_is_found_when_it_is_read(tmp_path):
    path = tmp_path / "own.parquet"
    row = {"env": "e", "model": "m", "policy": "p", "step": 0, "name": "n" * 7, "value": 0.0}
    tables.write(tables.conform([row], "training"), path, "training")
    content = path.read_bytes()
    assert b"nnnnnnn" in content
    path.write_bytes(content.replace(b"nnnnnnn", b"nnn\xffnnn"))
    for take in (tables.read, lambda *found: list(tables.groups(*found))):
        with pytest.raises(
            ValueError, match=r"own\.parquet: not a readable Parquet file"
        ) as caught:
            take(path, "training")
        assert "remove it, and the job makes it anew" in str(caught.value)


@pytest.fixture
def policy(tmp_path) -> Path:
    """The folder of a policy that a job wrote."""
    folder = tmp_path / "policies" / "base"

    def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
        outputs["weights"].write_bytes(b"weights")
        (folder / "config.json").write_text("{}")
        (folder / "deep").mkdir()
        (folder / "deep" / "vocabulary.txt").write_text("go\n")

    mark, weights = folder / "provenance.json", folder / "model.safetensors"
    words = ["--spec", "{}", "--output", f"weights={weights}", f"provenance={mark}"]
    assert _job.execute(run, "figure", words) == 0
    return folder


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "deep/vocabulary.txt"])
def test_a_record_as_input_stands_for_all_files_of_its_folder(policy, name):
    inputs = {"policy": policy / "provenance.json"}
    assert intact.sums(inputs) == {"policy": provenance.file_sha256(inputs["policy"])}
    whole = (policy / name).read_bytes()
    for damaged in [whole[:-1], b"", flipped(whole, 3)]:
        (policy / name).write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"{name} is damaged: .* remove .*base/provenance"):
            intact.sums(inputs)
    (policy / name).unlink()
    with pytest.raises(ValueError, match=rf"{name} is missing, and .* says it was written"):
        intact.sums(inputs)


def test_results_may_be_moved(policy, tmp_path):
    moved = tmp_path / "elsewhere"
    policy.rename(moved)
    intact.sums({"policy": moved / "provenance.json"})
    (moved / "config.json").write_text("[]")
    with pytest.raises(ValueError, match=r"elsewhere/config\.json is damaged"):
        intact.sums({"policy": moved / "provenance.json"})


def test_a_damaged_record_is_no_reason_to_trust_a_table(tmp_path):
    path = made(tmp_path, "training")
    mark = tmp_path / "provenance.json"
    whole = mark.read_bytes()
    for content in [b"", whole[:-20], b"[]", b'{"outputs": [1]}', b'{"outputs": 1}', b"\xff"]:
        mark.write_bytes(content)
        with pytest.raises(ValueError, match="it is no record of a job; remove") as caught:
            intact.sums({"rows": path})
        assert str(caught.value).startswith(f"{mark} is damaged")
    content = json.loads(whole)
    content["outputs"][0]["sha256"] = "0" * 64
    mark.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"training\.parquet is damaged"):
        intact.sums({"rows": path})


def test_what_is_recorded_of_inputs_is_what_was_read(tmp_path):
    path = made(tmp_path / "from", "training")
    right = provenance.file_sha256(path)

    def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
        inputs["table"].write_bytes(b"another job's")
        outputs["sum"].write_text("1")

    mark = tmp_path / "to" / "provenance.json"
    words = ["--spec", "{}", "--input", f"table={path}"]
    words += ["--output", f"sum={tmp_path}/to/sum", f"provenance={mark}"]
    assert _job.execute(run, "figure", words) == 0
    assert [entry["sha256"] for entry in json.loads(mark.read_text())["inputs"]] == [right]


def test_a_damaged_calibration_is_not_printed(tmp_path, capsys):
    path = made(tmp_path, "calibration")
    assert calibration.main(path) in (0, 1)
    assert "families are calibrated" in capsys.readouterr().out
    path.write_bytes(flipped(path.read_bytes(), 4321))
    assert calibration.main(path) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"error: {path} is damaged")
