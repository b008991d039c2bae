"""An auditor reads what a stranger wrote: nothing is run, followed or held, and all is one line."""

import json
import os
import pickle
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from tests.audits import forging
from turnscope import registry, tables
from turnscope.audits import _weights
from turnscope.audits.__main__ import main
from turnscope.stages import _job, tasks

HOME = "tasks/frozen_lake"
MARK = f"{HOME}/provenance.json"
OPTIONS = {"train": 4, "test": 4, "sizes": [3], "slip": 0.2}
SPEC = {"env": "frozen_lake", "seed": 1, "tasks": OPTIONS, "turns": 6}


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = f"results/{HOME}"
    words = ["--spec", json.dumps(SPEC), "--output", f"tasks={folder}/tasks.parquet"]
    assert _job.execute(tasks.run, "tasks", [*words, f"provenance={folder}/provenance.json"]) == 0
    return tmp_path / "results"


def said(results, capsys):
    """Audit all kinds; return what was found, a line each."""
    assert main([str(results), "--output", str(results / "audits/audits.parquet")], []) == 1
    output = capsys.readouterr()
    lines = output.err.splitlines()
    rows = tables.read(results / "audits/audits.parquet", "audits")
    assert len(lines) == len(rows) > 0
    assert all(line.isprintable() and len(line) < 1000 for line in lines)
    *kinds, end = output.out.splitlines()
    assert len(kinds) == len(registry.names("audits"))
    assert end.endswith(f"see {results / 'audits/audits.md'}")
    return "\n".join(lines)


def output(results, name, path):
    """Let the record speak for one more file."""
    content = forging.record(results, MARK)
    content["outputs"].append({"name": name, "path": path, "sha256": "0" * 64, "bytes": 1})
    forging.write(results, MARK, content)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "results/tasks/frozen_lake/../../../secret",
        "results/tasks/frozen_lake/./x",
        "results/tasks/other/x",
        "results/tasks/frozen_lake/a\nb",
        "results/tasks/frozen_lake/\x1b[2J",
        "results/tasks/frozen_lake/a\\b",
        "",
    ],
)
def test_a_record_that_speaks_for_what_is_not_beside_it_is_refused(results, capsys, path):
    output(results, "more", path)
    assert f"integrity record: results/{MARK}: unreadable: " in said(results, capsys)


def test_an_input_cannot_lead_out_of_the_results_either(results, capsys):
    content = forging.record(results, MARK)
    content["inputs"] = [{"name": "a", "path": "results/../../x", "sha256": "0" * 64}]
    forging.write(results, MARK, content)
    assert "it names results/../../x, which leads elsewhere" in said(results, capsys)


@pytest.mark.parametrize("path", ["/dev/zero", "/proc/kmsg", "/etc", "pipe"])
def test_an_input_that_never_ends_is_not_read(results, capsys, path):
    os.mkfifo(results.parent / "pipe")
    content = forging.record(results, MARK)
    content["inputs"] = [{"name": "a", "path": path, "sha256": "0" * 64}]
    forging.write(results, MARK, content)
    forging.seal(results, MARK)
    assert f"was made from another {path}" in said(results, capsys)


@pytest.mark.parametrize("name", ["link", "pipe", "folder", "home"])
def test_links_pipes_and_folders_are_not_followed(results, capsys, tmp_path, name):
    path = results / HOME / "tasks.parquet"
    content = path.read_bytes()
    path.unlink()
    if name == "link":
        path.symlink_to("/etc/passwd")
    elif name == "pipe":
        os.mkfifo(path)
    elif name == "folder":
        path.mkdir()
    else:  # the right content, behind a link to a folder
        away = (results / "tasks").rename(tmp_path / "away")
        (away / "frozen_lake/tasks.parquet").write_bytes(content)
        (results / "tasks").symlink_to(away)
        (results / "other").mkdir()
        record = json.loads((away / "frozen_lake/provenance.json").read_text())
        (results / "other/provenance.json").write_text(json.dumps(record))
        assert "stranger: results/tasks: no record speaks for it" in said(results, capsys)
        return
    found = said(results, capsys)
    assert "integrity unreadable: results/tasks/frozen_lake/tasks.parquet: it is a link" in found


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_record_is_a_file(results, capsys, tmp_path, kind):
    path = results / MARK
    away = path.rename(tmp_path / "away")
    if kind == "link":
        path.symlink_to(away)
    else:
        os.mkfifo(path)
    assert "unreadable: it is a link, or no file" in said(results, capsys)


def deep(content):
    return b'{"a":' * 100_000 + b"1" + b"}" * 100_000


def huge(content):
    return b'{"a": "' + b"x" * (1 << 24) + b'"}'


def twice(content):
    return content.replace(b'"schema": 1', b'"schema": 2, "schema": 1')


def no_number(content):
    return content.replace(b'"schema": 1', b'"schema": 1, "more": NaN')


def no_name(content):
    return content.replace(b'"frozen_lake"', b'["frozen_lake"]')


def no_stage(content):
    return content.replace(b'"stage": "tasks"', b'"stage": "tasks; touch x"')


def endless(content):
    return content.replace(b'"turns": 6', b'"turns": 1e999')


@pytest.mark.parametrize(
    ("how", "why"),
    [
        (deep, "it is nested too deeply"),
        (huge, "bytes; legal is at most 16777216"),
        (twice, "key 'schema' is there twice"),
        (no_number, "NaN is no number of JSON"),
        (no_name, "which is no name"),
        (no_stage, "which is no name"),
        (endless, "Out of range float values are not JSON compliant"),
    ],
)
def test_json_that_misleads_is_refused(results, capsys, how, why):
    forging.replace(results / MARK, how((results / MARK).read_bytes()))
    assert why in said(results, capsys)


def test_folders_may_be_nested_as_deeply_as_they_like(results, capsys):
    here = os.open(results, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("a", dir_fd=here)
        inside = os.open("a", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inside
    os.close(here)
    try:
        assert main([str(results)], []) == 0
    finally:  # Python's own way to remove folders gives up here
        subprocess.run(["rm", "-r", str(results / "a")], check=True)
    capsys.readouterr()


def test_a_group_of_more_rows_than_any_job_writes_is_not_read(results, capsys):
    path = results / HOME / "tasks.parquet"
    schema = tables.TABLES["tasks"]
    rows = pa.Table.from_arrays(
        [
            pa.array(["x"] * (1 << 17))
            if kind.type == pa.string()
            else pa.nulls(1 << 17, kind.type)
            for kind in schema
        ],
        schema=schema,
    )
    path.unlink()
    with pq.ParquetWriter(path, schema, compression="zstd") as file:
        file.write_table(rows, 1 << 30)
    forging.seal(results, MARK)
    found = said(results, capsys)
    assert "a group of 131072 rows; legal is at most 65536" in found


class Bomb:
    def __reduce__(self):
        return (os.system, ("touch exploded",))


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin", "more.py"])
def test_what_runs_when_it_is_loaded_is_named_and_not_loaded(results, capsys, name):
    path = results / HOME / name
    path.write_bytes(pickle.dumps(Bomb()))
    output(results, name, f"results/{HOME}/{name}")
    forging.seal(results, MARK)
    found = said(results, capsys)
    check = "schema" if name.endswith("safetensors") else "format"
    assert f"integrity {check}: results/{HOME}/{name}: " in found
    assert not (results.parent / "exploded").exists()


@pytest.mark.parametrize("edit", ["cut", "long", "gap", "shape", "kind", "none"])
def test_weights_are_numbers_that_fill_their_file(tmp_path, edit):
    path = tmp_path / "model.safetensors"
    save_file({"a": np.zeros((2, 3), np.float32), "b": np.zeros(4, np.float32)}, path)
    _weights.check(path)
    content = path.read_bytes()
    changed = {
        "cut": content[:-1],
        "long": b"\xff" * 8 + content[8:],
        "gap": content + b"\0",
        "shape": content.replace(b"[2,3]", b"[2,2]"),
        "kind": content.replace(b"F32", b"Z32"),
        "none": b"",
    }
    path.write_bytes(changed[edit])
    with pytest.raises(ValueError, match="no safetensors"):
        _weights.check(path)


def test_the_page_for_people_lists_kinds_and_first_findings_without_markup(results, capsys):
    table = results / "audits/audits.parquet"
    assert main([str(results), "--output", str(table)], []) == 0
    page = table.with_suffix(".md").read_text()
    assert "| integrity | 2 files | 0 |\n" in page
    assert page.endswith("Nothing is wrong.\n")
    capsys.readouterr()
    for number in range(30):
        (results / f"<b>{number}").write_text("")
    said(results, capsys)
    page = table.with_suffix(".md").read_text()
    assert "| integrity | 2 files | 30 |\n" in page
    assert "stranger: results/&lt;b&gt;0: no record speaks for it" in page
    assert page.count("stranger") == 20
    assert "and 10 more\n" in page
