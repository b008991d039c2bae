"""A study is packed in one clone and put in place in another, by the commands of a person."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile

import pytest
import yaml

from tests.test_config import merged
from tests.workflow import running
from tests.workflow.running import ROOT, clone, planned, snakemake

pytestmark = pytest.mark.slow

SMALL = {
    "study": {"arms": ["grpo"], "metrics": ["pass_at_kt", "budget_auc"]},
    "training": {"progress": None, "steps": 2},
    "metrics": {"draws": 200},
    "figures": ["pass_at_k"],
    "summaries": ["setup"],
}
"""What is changed in config/test.yaml: fewer jobs, of every kind that an archive may meet."""
STUDY = "config/small.yaml"
HERE = ("--directory", "results/small")
RESULTS = "results/small/results"


def git(repo, *arguments):
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", repo, *who, *arguments], check=True, capture_output=True)


def make(repo, *arguments):
    return running.make(repo, *arguments, "STUDY=small")


@pytest.fixture(scope="module")
def repo(tmp_path_factory):
    """A clone in which a small study has run and was packed."""
    made = clone(tmp_path_factory.mktemp("archive") / "repo")
    test = yaml.safe_load((ROOT / "config/test.yaml").read_text())
    (made / STUDY).write_text(yaml.safe_dump(merged(test, SMALL)))
    git(made, "init")
    git(made, "add", ".")
    git(made, "commit", "-m", "first")
    done = snakemake(made, "all", *HERE, study=STUDY)
    assert done.returncode == 0, done.stdout
    done = make(made, "archive")
    assert done.returncode == 0, done.stdout + done.stderr
    return made


@pytest.fixture
def archive(repo):
    return repo / RESULTS / "archive/study.tar"


@pytest.fixture
def other(repo, tmp_path):
    """A clone without results."""
    left_out = shutil.ignore_patterns("results", ".snakemake", ".git")
    return shutil.copytree(repo, tmp_path / "other", symlinks=True, ignore=left_out)


def artifacts(repo):
    found = repo / RESULTS
    apart = {"archive", "benchmarks", "logs"}
    return {
        path.relative_to(found).as_posix(): path.read_bytes()
        for path in found.rglob("*")
        if path.is_file() and path.relative_to(found).parts[0] not in apart
    }


def tampered(archive, to, name, content, listed=False):
    """Copy an archive with other content of one file; with its checksum, if that is wanted."""
    with tarfile.open(archive) as old, tarfile.open(to, "w:") as new:
        for member in old.getmembers():
            file = old.extractfile(member) if member.isreg() else None
            data = file.read() if file else b""
            if member.name == f"study/{name}":
                assert data != content
                data = content
            if listed and member.name == "study/MANIFEST.sha256":
                lines = data.decode().splitlines()
                now = f"{hashlib.sha256(content).hexdigest()}  {name}"
                data = "".join(
                    f"{now if line.endswith(f'  {name}') else line}\n" for line in lines
                ).encode()
            member.size = len(data)
            new.addfile(member, io.BytesIO(data))
    return to


def test_a_restored_study_has_nothing_to_do(repo, archive, other):
    done = make(other, "restore", f"ARCHIVE={archive}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert planned(other, "all", *HERE, study=STUDY) == []
    assert artifacts(other) == artifacts(repo)
    assert len(artifacts(other)) > 40
    source = other / "src/turnscope/figures/pass_at_k.py"
    source.write_text(source.read_text() + "\nEDITED = 1\n")
    jobs = planned(other, "all", *HERE, study=STUDY)
    assert jobs == ["Draw pass_at_k", "Write the report"]
    again = make(other, "restore", f"ARCHIVE={archive}")
    assert (
        "pass_at_k.provenance.json: made with other code: turnscope/figures/pass_at_k.py"
        in again.stderr
    )


def test_results_copied_with_their_dates_are_watched_once_restored(repo, other):
    shutil.copytree(repo / RESULTS, other / RESULTS)
    done = make(other, "restore")
    assert done.returncode == 0, done.stdout + done.stderr
    source = other / "src/turnscope/metrics/budget_auc.py"
    source.write_text(source.read_text() + "\nEDITED = 1\n")
    assert planned(other, "all", *HERE, study=STUDY) == [
        "Estimate budget_auc of nano in frozen_lake",
        "Judge the claims",
        "Write the report",
    ]


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        (False, "results/tasks/frozen_lake/tasks.parquet is not what its manifest says"),
        (True, "integrity checksum: results/tasks/frozen_lake/tasks.parquet: "),
    ],
)
def test_a_tampered_artifact_is_named_and_nothing_is_restored(
    archive, other, tmp_path, listed, said
):
    bad = tampered(
        archive, tmp_path / "bad.tar", "results/tasks/frozen_lake/tasks.parquet", b"x", listed
    )
    done = make(other, "restore", f"ARCHIVE={bad}")
    assert done.returncode != 0
    assert said in done.stderr
    assert artifacts(other) == {}


def test_what_is_there_is_not_overwritten(archive, other):
    mine = other / RESULTS / "tasks/frozen_lake/tasks.parquet"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    done = make(other, "restore", f"ARCHIVE={archive}")
    assert done.returncode != 0
    assert "differs: results/tasks/frozen_lake/tasks.parquet is there" in done.stderr
    assert artifacts(other) == {"tasks/frozen_lake/tasks.parquet": b"mine"}


def test_an_unpacked_archive_is_a_clone_with_its_results(repo, archive, tmp_path):
    subprocess.run(["tar", "xf", archive, "-C", tmp_path], check=True)
    study = tmp_path / "study"
    assert planned(study, "all", study="study.json") == []
    assert (study / "results/report.html").read_bytes() == artifacts(repo)["report.html"]


def test_equal_results_give_equal_archives_and_missing_ones_none(repo, archive):
    before = archive.read_bytes()
    done = make(repo, "archive")
    assert done.returncode == 0, done.stderr
    assert archive.read_bytes() == before
    lost = repo / RESULTS / "summaries/setup.csv"
    away = lost.rename(lost.with_suffix(".away"))
    done = make(repo, "archive")
    away.rename(lost)
    assert done.returncode != 0
    assert "missing results/summaries/setup.csv: " in done.stdout + done.stderr
    assert archive.read_bytes() == before


def cached(repo, cache, study=STUDY, code=0):
    """Run the study with a cache; return what was said."""
    done = subprocess.run(
        [
            *(sys.executable, "workflow/cached.py", sys.executable, "-m", "snakemake"),
            *("--configfile", study, "--cores", "2", "--nocolor", "all", *HERE),
        ],
        cwd=repo,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        | {"TURNSCOPE_ARTIFACTS": str(cache)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def cache(repo, tmp_path_factory):
    """A cache that knows the study."""
    made = tmp_path_factory.mktemp("cache")
    said = cached(repo, made)
    assert "Nothing to be done" in said
    assert said.count(" are new in ") == 1
    return made


def ran(said):
    """List the jobs that the last Snakemake of a run with a cache has run."""
    after = said.rsplit("Building DAG of jobs...", 1)[1]
    jobs = sorted(re.findall(r"^Job \d+: (.*)$", after, re.MULTILINE))
    return [job for job in jobs if job != "The study is complete"]


def test_a_clone_with_the_cache_runs_nothing(repo, cache, other):
    said = cached(other, cache)
    assert ran(said) == []
    assert artifacts(other) == artifacts(repo)
    assert planned(other, "all", *HERE, study=STUDY) == []
    with_seed = (other / STUDY).read_text().replace("draws: 200", "draws: 210")
    (other / STUDY).write_text(with_seed)
    assert "Estimate pass_at_kt of nano in frozen_lake" in planned(other, "all", *HERE, study=STUDY)


def test_after_a_change_only_what_differs_runs(cache, other):
    changed = yaml.safe_load((other / STUDY).read_text())
    changed["metrics"]["draws"] = 210
    (other / STUDY).write_text(yaml.safe_dump(changed))
    jobs = ran(cached(other, cache))
    assert "Estimate pass_at_kt of nano in frozen_lake" in jobs
    assert {job.split()[0] for job in jobs} == {"Estimate", "Judge", "Draw", "Tabulate", "Write"}
    assert planned(other, "all", *HERE, study=STUDY) == []


def test_a_corrupt_entry_is_made_anew_and_the_others_are_used(repo, cache, other):
    record = json.loads((repo / RESULTS / "figures/pass_at_k.provenance.json").read_text())
    key, sha256 = record["key"], record["outputs"][0]["sha256"]
    path = cache / key[:2] / key / sha256
    path.chmod(0o644)
    path.write_bytes(b"x")
    said = cached(other, cache)
    assert "the entry of results/figures/pass_at_k.provenance.json is corrupt" in said
    assert ran(said) == ["Draw pass_at_k", "Write the report"]
    assert artifacts(other).keys() == artifacts(repo).keys()
    assert path.stat().st_size > 1


def test_a_config_that_is_refused_is_refused_once_and_without_a_traceback(tmp_path, other):
    with_fault = (other / STUDY).read_text().replace("draws: 200", "draws: none")
    (other / STUDY).write_text(with_fault)
    said = cached(other, tmp_path, code=1)
    assert said.count("metrics.draws") == 1
    assert "Traceback" not in said
