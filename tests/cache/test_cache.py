import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from turnscope import provenance
from turnscope.cache import __main__ as command
from turnscope.cache import lookup, shelf
from turnscope.stages import _job

TASKS = Path("results/tasks/provenance.json")
TABLE = Path("results/summaries/a.provenance.json")
LARGE = bytes(shelf.LINKED)
MADE = {
    "results/summaries/a.csv",
    "results/summaries/a.provenance.json",
    "results/summaries/a.run.json",
    "results/tasks/provenance.json",
    "results/tasks/run.json",
    "results/tasks/tasks.parquet",
    "results/tasks/words/weights.bin",
}


def tasks(spec, inputs, outputs):
    outputs["tasks"].write_text(f"tasks {spec['n']}")
    (outputs["tasks"].parent / "words").mkdir()
    (outputs["tasks"].parent / "words/weights.bin").write_bytes(LARGE)


def table(spec, inputs, outputs):
    outputs["csv"].write_text(inputs["tasks"].read_text() + ",1\n")


def commands(n=1):
    """What a dry run would print, the last job first."""
    spec, code = shlex.quote(json.dumps({"n": n})), provenance.digest(["stages.tasks"])
    other = provenance.digest(["stages.summary"])
    return [
        f"x -m turnscope.stages.summary --spec '{{}}' --code {other} stages.summary "
        f"--input tasks=results/tasks/tasks.parquet "
        f"--output csv=results/summaries/a.csv provenance={TABLE} > log",
        f"x -m turnscope.stages.tasks --spec {spec} --code {code} stages.tasks "
        f"--output tasks=results/tasks/tasks.parquet provenance={TASKS} > log",
    ]


def run(n=1):
    """Run both jobs here."""
    for stage, lines in (("tasks", commands(n)[1]), ("summary", commands(n)[0])):
        words = shlex.split(lines)
        arguments = words[words.index("--spec") : words.index(">")]
        assert _job.execute(tasks if stage == "tasks" else table, stage, arguments) == 0


def files():
    return {path.as_posix() for path in Path("results").rglob("*") if path.is_file()}


def fates(cache, n=1):
    return {one.job.planned.stage: one.fate for one in lookup.restore(cache, commands(n))}


def store(cache):
    return command.main(["--cache", str(cache), "store", "results"], [])


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache with both jobs of a study; the current folder is another study's, and empty."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "first")
    run()
    assert store(tmp_path / "cache") == 0
    monkeypatch.chdir(tmp_path / "second")
    return tmp_path / "cache"


def test_jobs_made_elsewhere_are_put_in_place_with_all_their_files(cache, tmp_path):
    assert fates(cache) == {"tasks": "hit", "summary": "hit"}
    assert files() == MADE
    for name in MADE:
        assert Path(name).read_bytes() == (tmp_path / "first" / name).read_bytes()
    assert fates(cache) == {"tasks": "there", "summary": "there"}


def test_the_last_of_what_was_put_in_place_is_printed(cache, capsys):
    assert command.main(["--cache", str(cache), "restore"], commands()) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [TABLE.as_posix()]
    assert said.err == "cache: 2 hit\n"
    TABLE.unlink()
    Path("results/summaries/a.csv").unlink()
    entry(cache, TABLE).rename(cache / "away")
    shutil.rmtree("results/tasks")
    assert command.main(["--cache", str(cache), "restore"], commands()) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [TASKS.as_posix()]
    assert said.err == "cache: 1 hit, 1 miss\n"


def test_a_large_file_that_no_job_reads_is_linked_and_cannot_be_written_to(cache, tmp_path):
    list(lookup.restore(cache, commands()))
    large = Path("results/tasks/words/weights.bin")
    assert large.samefile(tmp_path / "first" / large)
    assert large.stat().st_mode & 0o222 == 0
    small = Path("results/tasks/tasks.parquet")
    assert not small.samefile(tmp_path / "first" / small)
    assert small.stat().st_mode & 0o200


def test_where_nothing_can_be_linked_files_are_copied(cache, tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    assert fates(cache) == {"tasks": "hit", "summary": "hit"}
    large = Path("results/tasks/words/weights.bin")
    assert not large.samefile(tmp_path / "first" / large)
    assert large.read_bytes() == LARGE


def test_another_specification_is_no_hit_nor_is_what_waits_for_it(cache):
    assert fates(cache, 2) == {"tasks": "miss", "summary": "waits"}
    assert files() == set()


def test_other_inputs_of_equal_jobs_are_no_hit(cache):
    run(2)
    TABLE.unlink()
    Path("results/summaries/a.csv").unlink()
    assert fates(cache, 2) == {"tasks": "there", "summary": "miss"}


def test_other_code_is_no_hit(cache):
    changed = [line.replace("--code ", "--code 0") for line in commands()]
    assert {one.fate for one in lookup.restore(cache, changed)} == {"miss", "waits"}


def test_an_entry_for_other_paths_is_no_hit_and_stays(cache):
    moved = [line.replace("results/tasks/", "results/moved/") for line in commands()]
    assert {one.fate for one in lookup.restore(cache, moved)} == {"miss", "waits"}
    assert fates(cache) == {"tasks": "hit", "summary": "hit"}


def test_nothing_is_overwritten(cache):
    Path("results/tasks").mkdir(parents=True)
    Path("results/tasks/tasks.parquet").write_text("mine")
    assert fates(cache) == {"tasks": "kept", "summary": "waits"}
    assert files() == {"results/tasks/tasks.parquet"}
    assert Path("results/tasks/tasks.parquet").read_text() == "mine"


def test_what_an_interrupted_restore_left_is_completed(cache):
    Path("results/tasks").mkdir(parents=True)
    Path("results/tasks/tasks.parquet").write_text("tasks 1")
    assert fates(cache) == {"tasks": "hit", "summary": "hit"}
    assert files() == MADE


def entry(cache, mark):
    key = json.loads((cache.parent / "first" / mark).read_text())["key"]
    return cache / key[:2] / key


@pytest.mark.parametrize("content", [b"", b"tasks 2", b"tasks 11"])
def test_a_corrupt_file_is_found_not_used_and_replaced_by_a_whole_one(
    cache, content, monkeypatch, capsys
):
    folder = entry(cache, TASKS)
    path = next(one for one in folder.iterdir() if one.read_bytes() == b"tasks 1")
    path.chmod(0o644)
    path.write_bytes(content)
    assert command.main(["--cache", str(cache), "restore"], commands()) == 0
    assert f"the entry of {TASKS} is corrupt" in capsys.readouterr().err
    assert files() == set()
    assert not folder.exists()
    monkeypatch.chdir(cache.parent / "first")
    assert store(cache) == 0
    monkeypatch.chdir(cache.parent / "second")
    assert fates(cache) == {"tasks": "hit", "summary": "hit"}


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"inputs": 1}', b'{"inputs": [], "outputs": [1]}']
)
def test_a_corrupt_record_is_found(cache, content):
    path = entry(cache, TASKS) / "provenance.json"
    path.chmod(0o644)
    path.write_bytes(content)
    assert fates(cache) == {"tasks": "corrupt", "summary": "waits"}
    assert files() == set()


@pytest.mark.parametrize("path", ["../out", "/tmp/out", "results/out", "results/tasks/.hidden"])
def test_an_entry_writes_nowhere_but_where_its_job_would(cache, path):
    mark = entry(cache, TASKS) / "provenance.json"
    record = json.loads(mark.read_text())
    record["outputs"].append(
        record["outputs"][0] | {"name": path.removeprefix("results/tasks/"), "path": path}
    )
    mark.chmod(0o644)
    mark.write_text(json.dumps(record))
    assert fates(cache) == {"tasks": "miss", "summary": "waits"}
    assert files() == set()
    assert not (cache.parent / "out").exists()


def test_a_lost_file_of_an_entry_leaves_nothing_half_made(cache):
    folder = entry(cache, TASKS)
    next(one for one in folder.iterdir() if one.stat().st_size == len(LARGE)).unlink()
    assert fates(cache) == {"tasks": "miss", "summary": "waits"}
    assert files() == set()


def test_an_artifact_that_is_not_as_its_record_says_is_not_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run()
    Path("results/tasks/tasks.parquet").write_text("tasks 9")
    assert store(tmp_path / "cache") == 1
    said = capsys.readouterr().err
    assert f"not kept: {TASKS}: results/tasks/tasks.parquet is not what its record says" in said
    assert "cache: 1 of 2 jobs are new" in said
    assert not list((tmp_path / "cache").glob(f"{shelf.DRAFT}*"))


def test_many_may_keep_the_same_jobs_at_once(cache):
    shutil.rmtree(cache)
    words = [sys.executable, "-m", "turnscope.cache", "--cache", cache, "store", "results"]
    source = {**os.environ, "PYTHONPATH": str(provenance.PACKAGE.parent)}
    place = cache.parent / "first"
    processes = [
        subprocess.Popen(words, cwd=place, env=source, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    assert sum(int(text.split("cache: ")[1].split()[0]) for text in said) == 2
    assert len(shelf.entries(cache)) == 2
    assert not list(cache.glob(f"{shelf.DRAFT}*"))
    assert fates(cache) == {"tasks": "hit", "summary": "hit"}


def test_the_longest_unused_jobs_are_taken_away_first(cache):
    newest, oldest = entry(cache, TABLE), entry(cache, TASKS)
    os.utime(oldest, (1, 1))
    os.utime(newest, (2, 2))
    size = {one.folder: one.size for one in shelf.entries(cache)}
    assert [one.folder for one in shelf.prune(cache, sum(size.values()))] == []
    assert [one.folder for one in shelf.prune(cache, size[newest])] == [oldest]
    assert [one.folder for one in shelf.entries(cache)] == [newest]


def test_use_counts(cache):
    for one in shelf.entries(cache):
        os.utime(one.folder, (1, 1))
    assert fates(cache) == {"tasks": "hit", "summary": "hit"}
    assert all(one.used > 1 for one in shelf.entries(cache))


def test_drafts_of_killed_processes_are_taken_away_after_a_day(cache):
    for name, age in (("old", 1), ("new", None)):
        draft = cache / f"{shelf.DRAFT}{name}"
        draft.mkdir()
        if age:
            os.utime(draft, (age, age))
    list(shelf.prune(cache, 1 << 40))
    assert [path.name for path in cache.glob(".*")] == [f"{shelf.DRAFT}new"]


@pytest.mark.parametrize(("text", "bytes_"), [("7", 7), ("2K", 2048), ("1G", 1 << 30)])
def test_sizes_have_units(text, bytes_):
    assert command.amount(text) == bytes_


def test_no_cache_and_no_size_are_refused(monkeypatch, capsys):
    monkeypatch.delenv("TURNSCOPE_ARTIFACTS", raising=False)
    with pytest.raises(SystemExit):
        command.main(["restore"], [])
    assert "give --cache FOLDER, or set TURNSCOPE_ARTIFACTS" in capsys.readouterr().err
    with pytest.raises(ValueError, match="'7 GB' is no size"):
        command.amount("7 GB")


def test_results_that_were_removed_come_back(cache):
    list(lookup.restore(cache, commands()))
    shutil.rmtree("results")
    assert fates(cache) == {"tasks": "hit", "summary": "hit"}
    assert files() == MADE
