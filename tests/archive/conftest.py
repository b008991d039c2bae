"""A small repository in which two jobs have run."""

import json
import subprocess
from pathlib import Path

import pytest

from turnscope.archive import pack
from turnscope.stages import _job

TASKS = Path("results/tasks/provenance.json")
TABLE = Path("results/summaries/a.provenance.json")


def git(*arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path, monkeypatch):
    """The current folder: code that git tracks, one link, and artifacts that it ignores."""
    made = tmp_path / "repo"
    (made / "src/turnscope/stages").mkdir(parents=True)
    monkeypatch.chdir(made)
    for name in ("tasks", "summary"):
        Path(f"src/turnscope/stages/{name}.py").write_text(f"NAME = '{name}'\n")
    Path("Snakefile").write_text("rule all:\n")
    Path("README.md").write_text("# A study\n")
    Path("run").write_text("#!/bin/sh\n")
    Path("run").chmod(0o755)
    Path("link").symlink_to("src/turnscope")
    Path(".gitignore").write_text("/results/\n/study.json\n")
    git("init")
    git("add", ".")
    git("commit", "-m", "first")

    Path("questions.txt").write_text("raw, and too large for git")

    def tasks(spec, inputs, outputs):
        outputs["tasks"].write_text("tasks")
        (outputs["tasks"].parent / "notes.txt").write_text("not declared")

    def table(spec, inputs, outputs):
        outputs["csv"].write_text(inputs["tasks"].read_text() + ",1\n")

    for run, stage, arguments in (
        (
            tasks,
            "tasks",
            [
                *("--input", "questions=questions.txt"),
                *("--output", f"tasks={TASKS.parent}/tasks.parquet", f"provenance={TASKS}"),
            ],
        ),
        (
            table,
            "summary",
            [
                *("--input", "tasks=results/tasks/tasks.parquet"),
                *("--output", "csv=results/summaries/a.csv", f"provenance={TABLE}"),
            ],
        ),
    ):
        assert _job.execute(run, stage, ["--spec", '{"n": 1}', *arguments]) == 0
    Path("study.json").write_text(json.dumps({"seed": 1}))
    return made


@pytest.fixture
def archive(repo):
    """Its archive."""
    output = repo / "results/archive/study.tar"
    pack.pack([TASKS, TABLE], Path("study.json"), repo, output)
    return output
