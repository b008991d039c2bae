"""One part of a finished study made again, and why jobs would run, on a study of a minute."""

import itertools
import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml

from tests.workflow import running
from tests.workflow.running import added, clone, snakemake

pytestmark = pytest.mark.slow
STUDY = "config/small.yaml"


@pytest.fixture(scope="module")
def repo(tmp_path_factory):
    """A clone in which a study of two arms, two metrics and one figure has run."""
    made = clone(tmp_path_factory.mktemp("again"))
    study = yaml.safe_load((made / "config/test.yaml").read_text())
    study["study"] = {"arms": ["grpo", "budget_mix"], "metrics": ["pass_at_kt", "crossover"]}
    study |= {"figures": ["pass_at_k"], "summaries": ["claims"]}
    study["training"] |= {"seeds": [0], "steps": 2, "progress": None}
    study["sampling"]["told"]["policies"] = []
    study["matched"]["arms"] = []
    (made / STUDY).write_text(yaml.safe_dump(study))
    done = snakemake(made, "all", study=STUDY)
    assert done.returncode == 0, done.stdout
    return made


def make(repo, *arguments):
    return running.make(repo, f"CONFIG={STUDY}", *arguments)


def content(repo):
    """Read the study, but not what was made again."""
    return {
        path: path.read_bytes()
        for path in (repo / "results").rglob("*")
        if path.is_file() and "again" not in path.relative_to(repo).parts
    }


def reasons(repo, **study):
    """List what `snakemake --dry-run` says of each job."""
    overlay = repo / "config/changed.yaml"
    given = yaml.safe_load((repo / STUDY).read_text())
    overlay.write_text(yaml.safe_dump(given | study))
    done = snakemake(repo, "all", "--dry-run", study="config/changed.yaml")
    assert done.returncode == 0, done.stdout
    lines = [line.strip() for line in done.stdout.splitlines()]
    return {
        line.split(": ", 1)[1]: after.removeprefix("Reason: ")
        for line, after in itertools.pairwise(lines)
        if line.startswith("Job ") and after.startswith("Reason: ")
    }


def test_an_arm_that_is_trained_again_comes_out_again(repo):
    before = content(repo)
    done = make(repo, "again", "WHAT=grpo")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "again    arm grpo" in lines
    assert "changed  nothing, neither config nor code" in lines
    (made,) = [line for line in lines if line.startswith("made ")]
    for part in ("8 jobs", "train 1", "sample 1", "estimate 2", "claims 1", "figure 1", "report 1"):
        assert part in made
    assert "it comes out again: all 20 files are equal, byte for byte" in lines
    assert [line for line in lines if line.startswith("  C1 ") and line.endswith("  same")]
    assert lines[-1] == "page: results/again/grpo/README.md"
    assert content(repo) == before
    assert make(repo, "why").stdout == "nothing would run\n"


def test_a_setting_shows_a_claim_before_and_after_and_leaves_the_study_alone(repo):
    before = content(repo)
    done = make(repo, "again", "WHAT=C1", "SET=metrics.draws=100")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "set      metrics.draws=100" in lines
    assert "changed  settings.draws 500 -> 100  (estimate 2)" in lines
    assert [line for line in lines if line.startswith("made     3 jobs: ")]
    grpo, budget_mix = sorted(line for line in lines if line.startswith("  C1  "))[::-1]
    for row in (grpo, budget_mix):
        assert row.count("[") == 2
    # Fewer draws move ends of intervals; a mean of differences has none.
    assert len(set(re.findall(r"(-?\d\.\d{3}) \[", grpo))) == 1
    assert not [line for line in lines if line.startswith("  C2a ")]
    assert lines[-2].endswith(" files came out otherwise")
    assert content(repo) == before
    table = (repo / "results/again/C1+metrics.draws=100/claims.csv").read_text()
    assert table.startswith("claim,env,model,policy,verdict_before,value_before,low_before,")


def test_an_edit_of_code_shows_what_it_changes(repo):
    path = repo / "src/turnscope/figures/pass_at_k.py"
    with added(path, '\n\ndef data(*_, **__):\n    return pd.DataFrame({"value": [1.0]})\n'):
        done = make(repo, "again", "WHAT=pass_at_k")
    # The figure cannot be drawn from that; what fails leaves nothing, and can be taken up again.
    assert done.returncode != 0
    assert "error: a job failed, see above; the same command goes on" in done.stderr
    assert not (repo / "results/again/pass_at_k/README.md").exists()
    with added(path, "\nEDITED = 1\n"):
        done = make(repo, "again", "WHAT=pass_at_k")
    assert done.returncode == 0, done.stderr
    assert "changed  turnscope/figures/pass_at_k.py  (figure 1)" in done.stdout
    assert "figures and tables: all 1 as before" in done.stdout
    assert (repo / "results/again/pass_at_k/README.md").exists()


def test_what_would_be_made_again_is_said_without_making_it(repo):
    done = make(repo, "again", "WHAT=frozen_lake/nano/grpo-s0", "DRY=1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "8 jobs would run",
        "",
        "made again",
        "    Train grpo, seed 0, from nano in frozen_lake",
        "",
        "made from these",
        "    Draw 1, Estimate 2, Judge 1, Play 1, Tabulate 1, Write 1",
    ]
    assert not (repo / "results/again/frozen_lake-nano-grpo-s0").exists()


def test_a_dry_run_names_the_value_that_changed(repo):
    said = reasons(repo, arms={"grpo": {"training": {"steps": 3}}})
    assert said["Train grpo, seed 0, from nano in frozen_lake"] == (
        "its specification changed: training.steps 2 -> 3"
    )
    assert said["Play grpo-s0 of nano in frozen_lake, blind"] == (
        "follows: Train grpo, seed 0, from nano in frozen_lake"
    )
    assert said["The study is complete"] == "asked for"
    assert "Train budget_mix, seed 0, from nano in frozen_lake" not in said


def test_a_dry_run_names_the_module_that_changed_and_the_file_that_is_missing(repo):
    path = repo / "results/figures/pass_at_k.png"
    away = shutil.move(path, path.with_name("away"))
    try:
        with added(repo / "src/turnscope/algorithms/grpo.py", "\nEDITED = 1\n"):
            said = reasons(repo)
    finally:
        shutil.move(away, path)
    assert said["Train grpo, seed 0, from nano in frozen_lake"] == (
        "its code changed: turnscope/algorithms/grpo.py"
    )
    assert said["Draw pass_at_k"].startswith("missing: results/figures/pass_at_k.png; follows: ")


def test_a_dry_run_of_what_was_never_made_says_so_in_short_lines(repo, tmp_path):
    done = snakemake(repo, "all", "--dry-run", "--directory", str(tmp_path), study=STUDY)
    said = [line.strip() for line in done.stdout.splitlines() if "Reason: " in line]
    assert set(said) == {"Reason: not made yet", "Reason: asked for"}
    why = subprocess.run(
        [sys.executable, "-m", "turnscope.why"],
        cwd=repo,
        env=os.environ | {"PYTHONPATH": "src"},
        input=done.stdout,
        capture_output=True,
        text=True,
        check=True,
    )
    assert why.stdout.splitlines()[:3] == ["13 jobs would run", "", "not made yet"]
