"""Sets of episodes that several jobs play in parts."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml

from tests.workflow.running import added, clone, edited, planned, snakemake
from tests.workflow.test_plan import specifications
from tests.workflow.test_reruns import dates

pytestmark = pytest.mark.slow

PARTS = 3
SET = "frozen_lake/nano/base/told"
FOLDER = f"results/episodes/{SET}"
TABLES = [f"{FOLDER}/episodes.parquet", f"{FOLDER}/turns.parquet"]
NAMED = "base of nano in frozen_lake, told"


@pytest.fixture(scope="module")
def repo(tmp_path_factory):
    return clone(tmp_path_factory.mktemp("shards"))


def study(repo, number, **sampling):
    """Write the test study, in batches of four tasks and so many shards; return its path."""
    path = repo / f"{number}-{'-'.join(sampling) or 'plain'}.yaml"
    config = yaml.safe_load((repo / "config/test.yaml").read_text())
    config["sampling"] |= {"batch": 32, **({} if number is None else {"shards": number})} | sampling
    path.write_text(yaml.safe_dump(config))
    return str(path)


def test_shards_change_no_job_but_those_that_play(repo):
    plain = specifications(repo, study(repo, None))
    with edited(repo / "config.yaml", "  shards: 1\n", ""):
        assert specifications(repo, study(repo, None)) == plain
    assert specifications(repo, study(repo, 1)) == plain
    found = specifications(repo, study(repo, PARTS))
    # The artifacts are the same, and so is what is asked for, even by those that show the setup.
    assert {name: spec for name, (_, spec) in found.items() if name in plain} == {
        name: spec for name, (_, spec) in plain.items()
    }
    other = {name: stage for name, (stage, _) in found.items() if plain.get(name) != found[name]}
    whole = {name for name, stage in other.items() if stage == "gather"}
    assert whole == {name for name, (stage, _) in plain.items() if stage == "sample"}
    parts = {name: found[name][1] for name in other if name not in whole}
    assert len(parts) == PARTS * len(whole)
    for part in range(1, PARTS + 1):
        spec = parts[f"results/shards/{SET}/{part}-of-{PARTS}/episodes.parquet"]
        assert spec == plain[TABLES[0]][1] | {"part": part, "parts": PARTS}
    heated = plain["results/heated/frozen_lake/nano/grpo-s1/episodes.parquet"][1]
    spec = parts[f"results/shards/frozen_lake/nano/grpo-s1/heated/2-of-{PARTS}/episodes.parquet"]
    assert spec == heated | {"part": 2, "parts": PARTS}


def test_no_set_is_cut_into_more_parts_than_it_has_and_an_environment_may_differ(repo):
    path = Path(study(repo, 1, episodes=9))  # 32 tasks fill nine batches of theirs
    config = yaml.safe_load(path.read_text())
    config["environments"]["frozen_lake"]["sampling"] = {"shards": 10, "episodes": 8}
    path.write_text(yaml.safe_dump(config))
    found = specifications(repo, str(path))
    parts = Counter(
        name.split("/")[5]
        for name in found
        if name.startswith("results/shards/frozen_lake/nano/ba")
    )
    # Ten parts of four tasks; 20 tasks have five; two budgets would have twenty.
    assert parts == {"blind": 10, "again": 5, "told": 10}


@pytest.fixture(scope="module")
def finished(repo):
    """The clone with the set, played in parts; killed in the middle, and the run gone on with."""
    given = study(repo, PARTS)
    words = ["--configfile", given, "--cores", "1", "--nocolor", *TABLES]
    running = subprocess.Popen(
        [sys.executable, "-m", "snakemake", *words],
        cwd=repo,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        # One part is done and another has begun.
        while len(logs := sorted((repo / "results/logs/shard").rglob("*.log"))) < 2:
            assert running.poll() is None
            time.sleep(0.02)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    assert not (repo / FOLDER / "provenance.json").exists()
    assert snakemake(repo, "--unlock", study=given).returncode == 0
    kept = {
        path: path.stat().st_mtime_ns
        for path in (repo / "results/shards").rglob("*")
        if path.is_file() and (path.parent / "provenance.json").exists()
    }
    jobs = planned(repo, "--rerun-incomplete", *TABLES, study=given)
    done = snakemake(repo, "--rerun-incomplete", *TABLES, study=given)
    assert done.returncode == 0, done.stdout
    assert logs
    return kept, jobs


def test_a_run_that_was_killed_goes_on_with_the_parts_that_are_missing(repo, finished):
    kept, jobs = finished
    done = {path.parent.name for path in kept}
    assert len(done) == 1  # with tables and records
    assert len(kept) == 4
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    missing = {f"{part}-of-{PARTS}" for part in range(1, PARTS + 1)} - done
    assert jobs == sorted(
        [
            f"Gather {NAMED}",
            *(f"Play {NAMED}, part {name.replace('-', ' ')}" for name in missing),
        ]
    )


def test_the_tables_are_those_of_one_job(repo, finished, tmp_path):
    made = shutil.copytree(repo, tmp_path / "copy", symlinks=True)
    for folder in ("episodes", "shards"):
        shutil.rmtree(made / "results" / folder)
    done = snakemake(made, *TABLES, study=study(made, 1))
    assert done.returncode == 0, done.stdout
    assert not (made / "results/shards").exists()
    for name in TABLES:
        assert (made / name).read_bytes() == (repo / name).read_bytes()


def test_a_set_that_is_there_stays_as_it_was_played(repo, finished):
    for number in (None, 1, 2, PARTS):
        assert planned(repo, *TABLES, study=study(repo, number)) == []
    # Another specification is another set.
    jobs = planned(repo, *TABLES, study=study(repo, 2, batch=16))
    assert jobs == [
        f"Gather {NAMED}",
        *(f"Play {NAMED}, part {part} of 2" for part in (1, 2)),
    ]


def test_a_damaged_record_does_not_have_the_set_played_in_one_job(repo, finished):
    mark = repo / FOLDER / "provenance.json"
    content, stat = mark.read_bytes(), mark.stat()
    mark.write_bytes(content[:20])
    try:
        jobs = planned(repo, *TABLES, study=study(repo, PARTS))
    finally:
        mark.write_bytes(content)
        os.utime(mark, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert {job for job in jobs if NAMED in job} <= {f"Gather {NAMED}"}


def test_a_lost_table_is_gathered_again(repo, finished):
    table = repo / TABLES[1]
    away = table.rename(table.with_name("away"))
    try:
        assert planned(repo, *TABLES, study=study(repo, PARTS)) == [f"Gather {NAMED}"]
    finally:
        away.rename(table)


def audited(repo, *words):
    """Compare the results with the jobs that would make them."""
    given = study(repo, PARTS)
    plan = snakemake(repo, "--forceall", "--dry-run", "-p", *TABLES, study=given)
    return subprocess.run(
        [sys.executable, "-m", "turnscope.audits", "results", *words],
        cwd=repo,
        env=os.environ | {"PYTHONPATH": "src", "OMP_NUM_THREADS": "1"},
        input=plan.stdout,
        capture_output=True,
        text=True,
        check=False,
    )


def restored(repo):
    return audited(repo, "--only-planned", "--kinds", "integrity", "chain", "freshness")


def test_parts_may_be_deleted_and_yet_nothing_stale_is_taken_for_fresh(repo, finished, tmp_path):
    given, everything = study(repo, PARTS), [f"Gather {NAMED}"]
    everything += [f"Play {NAMED}, part {part} of {PARTS}" for part in range(1, PARTS + 1)]
    assert restored(repo).returncode == 0
    away = (repo / "results/shards").rename(tmp_path / "away")
    before = dates(repo)
    try:
        assert planned(repo, *TABLES, study=given) == []
        assert restored(repo).returncode == 0
        with added(repo / "src/turnscope/stages/sample.py", "\nEDITED = 1\n"):
            assert planned(repo, *TABLES, study=given) == everything
            assert restored(repo).stderr.splitlines() == [
                f"freshness code: {FOLDER}/provenance.json: "
                "made with other code: turnscope/stages/sample.py"
            ]
        assert dates(repo) == before
    finally:
        away.rename(repo / "results/shards")


def test_audits_find_nothing_in_parts_that_are_there_or_gone_and_any_that_is_another_one(
    repo, finished, tmp_path
):
    made = shutil.copytree(repo, tmp_path / "copy", symlinks=True)
    listed = made / "results/MANIFEST.sha256"
    done = audited(made, "--planned", "--manifest", str(listed))
    assert done.returncode == 0, done.stderr
    assert "shards" not in listed.read_text()
    parts = made / f"results/shards/{SET}"
    shutil.rmtree(parts / f"1-of-{PARTS}")
    (parts / f"2-of-{PARTS}/turns.parquet").unlink()
    (parts / f"3-of-{PARTS}/provenance.json").unlink()
    assert audited(made, "--planned").returncode == 0
    table = parts / f"3-of-{PARTS}/turns.parquet"
    table.write_bytes(table.read_bytes() + b"x")
    (line,) = audited(made, "--planned").stderr.splitlines()
    assert line.startswith("chain link: ")
    assert line.endswith(f"was made from another {table.relative_to(made)}")
    shutil.rmtree(made / "results/shards")
    # One job plays what was gathered.
    words = ["--planned", "--remake-these", TABLES[1], "--against", str(listed)]
    done = audited(made, *words)
    assert done.returncode == 0, done.stderr
    assert "remake       1 artifacts, 0 failures" in done.stdout
