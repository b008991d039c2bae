"""The command, on results of two jobs that take no time."""

import json
import subprocess

import pytest

from turnscope import tables
from turnscope.audits.__main__ import main
from turnscope.stages import _job, tasks

OPTIONS = {"train": 4, "test": 4, "sizes": [3], "slip": 0.2}
SPEC = {"env": "frozen_lake", "seed": 1, "tasks": OPTIONS, "turns": 6}


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for env in ("frozen_lake", "other"):
        folder = f"results/tasks/{env}"
        words = ["--spec", json.dumps(SPEC), "--output", f"tasks={folder}/tasks.parquet"]
        assert (
            _job.execute(tasks.run, "tasks", [*words, f"provenance={folder}/provenance.json"]) == 0
        )
    return tmp_path / "results"


def command(folder):
    return (
        f"python -m turnscope.stages.tasks --spec '{json.dumps(SPEC)}' --code c0de stages.tasks "
        f"--output tasks={folder}/tasks.parquet "
        f"provenance={folder}/provenance.json > log 2>&1"
    )


def test_a_clean_folder_passes_and_gets_a_manifest_that_sha256sum_reads(results, capsys):
    manifest = results / "MANIFEST.sha256"
    assert main([str(results), "--manifest", str(manifest)], []) == 0
    assert "integrity    4 files, 0 failures" in capsys.readouterr().out
    first = manifest.read_bytes()
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "results/MANIFEST.sha256"],
        cwd=results.parent,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert done.stdout.count(": OK\n") == 4
    assert main([str(results), "--manifest", str(manifest)], []) == 0
    assert manifest.read_bytes() == first


def test_a_failure_is_one_line_a_row_and_no_manifest(results, capsys):
    path = results / "tasks/other/tasks.parquet"
    path.write_bytes(path.read_bytes() + b"x")
    table, manifest = results / "audits/audits.parquet", results / "MANIFEST.sha256"
    words = [str(results), "--kinds", "integrity", "chain", "--output", str(table)]
    assert main([*words, "--manifest", str(manifest)], []) == 1
    said = capsys.readouterr()
    (line,) = [one for one in said.err.splitlines() if "integrity" in one]
    (row,) = tables.read(table, "audits").itertuples(index=False, name=None)
    assert line == "{} {}: {}: {}".format(*row)
    assert row[:3] == ("integrity", "checksum", "results/tasks/other/tasks.parquet")
    assert "chain        0 links, 0 failures" in said.out
    assert not manifest.exists()


def test_a_clean_table_has_no_row(results, tmp_path):
    table = tmp_path / "audits.parquet"
    assert main([str(results), "--kinds", "integrity", "--output", str(table)], []) == 0
    assert tables.read(table, "audits").empty


def test_a_manifest_from_elsewhere_shows_what_changed_since(results, tmp_path, capsys):
    kept = tmp_path / "kept"
    assert main([str(results), "--kinds", "integrity", "--manifest", str(kept)], []) == 0
    lines = kept.read_text().splitlines()
    kept.write_text("\n".join(["0" * 64 + lines[0][64:], *lines[2:]]))
    assert main([str(results), "--kinds", "integrity", "--against", str(kept)], []) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[-2:] == [
        f"manifest listed: {lines[0][66:]}: it is not what the manifest lists",
        f"manifest listed: {lines[1][66:]}: the manifest does not list it",
    ]


def test_what_is_not_planned_is_passed_over_if_asked(results):
    planned = [command("results/tasks/frozen_lake")]
    (results / "tasks/other/tasks.parquet").unlink()
    words = [str(results), "--kinds", "integrity", "freshness"]
    assert main([*words, "--planned"], planned) == 1
    assert main([*words, "--only-planned"], planned) == 0


def test_an_archive_is_no_stranger(results):
    (results / "archive").mkdir()
    (results / "archive/study.tar").write_bytes(b"x")
    assert main([str(results), "--kinds", "integrity"], []) == 0


@pytest.mark.parametrize("words", [["--episodes", "-5"], ["--remake", "-1"], ["--episodes", "x"]])
def test_numbers_of_what_is_looked_at_are_checked(results, words, capsys):
    with pytest.raises(SystemExit):
        main([str(results), *words], [])
    assert f"'{words[1]}' is not legal; legal is a whole number from 0" in capsys.readouterr().err


def test_results_may_lie_under_another_name(results):
    moved = results.rename(results.with_name("theirs"))
    assert main([str(moved), "--kinds", "integrity", "chain", "leakage"], []) == 0


def test_a_study_inside_is_another_one(results):
    (results / "full").mkdir()
    (results / "full" / "results").mkdir()
    (results / "full" / "results" / "note").write_text("")
    assert main([str(results), "--kinds", "integrity"], []) == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "holds no record of any job"),
        (["--kinds", "none"], "unknown audits 'none'; known: chain, "),
        (["--planned"], "no job is planned"),
        (["--remake-these", "results/x"], "holds no record"),
    ],
)
def test_what_cannot_be_audited_is_said_in_one_line(tmp_path, capsys, words, why):
    assert main([str(tmp_path), *words], []) == 1
    assert why in capsys.readouterr().err
    assert main([str(tmp_path / "none")], []) == 1


def test_only_what_there_is_can_be_made_again(results, capsys):
    assert main([str(results), "--kinds", "remake", "--remake-these", "results/x"], []) == 1
    assert "results/x is nothing that a record speaks for" in capsys.readouterr().err
