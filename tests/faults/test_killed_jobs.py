"""SIGKILL of a job of every rule at random moments: nothing is lost, and nothing half is left.

The command of a job is killed with all of its processes and then simply given again. Rule `data`,
for which a network is needed, is killed in tests of what it calls: tests/test_hub.py and
tests/environments/deepcoder/test_preview_conversion.py.
"""

import json
import random
import re
import time
from pathlib import Path

import pytest

from tests.faults.study import (
    Job,
    Study,
    assert_equal,
    assert_nothing_half,
    begin,
    copied,
    kill,
    lose,
    run,
    seconds,
)
from tests.workflow.running import ROOT
from turnscope import checkpoints

pytestmark = pytest.mark.slow

RULES = (
    *("tasks", "model", "base", "probes", "train", "shard", "gather", "sample", "matched"),
    *("likelihood", "heated", "estimate", "claims", "figure", "summary", "report", "calibrate"),
)
WITHOUT = {"data", "plan"}
"""Rules that are not killed here: one needs a network, the other makes no artifact."""
PUBLISHING = ("train", "base", "figure")
"""Rules that are killed once more, while they publish what they made."""


def test_every_rule_is_killed():
    written = {
        name
        for path in (ROOT / "workflow/rules").glob("*.smk")
        for name in re.findall(r"^rule (\w+):$", path.read_text(), re.MULTILINE)
    }
    stages = {path.stem for path in (ROOT / "src/turnscope/stages").glob("[a-z]*.py")}
    assert stages - WITHOUT <= {*RULES} <= written
    assert len(RULES) + len(PUBLISHING) >= 20


def at_random(study: Study, job: Job, folder: Path) -> None:
    """Kill a job at a random moment of its life."""
    wait = random.Random(job.rule).random() * seconds(study, job)
    while True:
        process = begin(study, job, folder)
        time.sleep(wait)
        if kill(process):
            return
        # This machine is faster than it was; once more, and earlier.
        wait /= 2
        lose(folder, job)


def while_publishing(study: Study, job: Job, folder: Path) -> None:
    """Kill a job as soon as anything of its artifact appears."""
    chance = random.Random(job.rule)
    while True:
        process = begin(study, job, folder)
        names = {path.name for path in (job.mark, *job.outputs)}
        while process.poll() is None and not published(folder / job.mark.parent, names):
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.01))
        if kill(process):
            return
        lose(folder, job)


def published(folder: Path, names: set[str]) -> bool:
    """Say whether a file of an artifact, or the draft of one, is there."""
    there = {path.name for path in folder.glob("*")}
    drafts = [name for name in there if name.startswith(".") and name.endswith(".tmp")]
    return bool(names & there or drafts)


def check(study: Study, job: Job, folder: Path) -> None:
    """Check what a killed job left, and that the same command ends as if nothing had been."""
    assert_nothing_half(study, job, folder)
    scratch = folder / job.mark.parent / ".scratch"
    kept = [path.parent for path in scratch.glob(f"checkpoint-*/{checkpoints.COMPLETE}")]
    code, log = run(study, job, folder)
    assert code == 0, log
    said = [line for line in log if "going on from checkpoint-" in line]
    if job.rule == "train":
        newest = max((int(path.name.split("-")[1]) for path in kept), default=None)
        assert bool(said) == bool(kept)
        assert not said or said[0].endswith(f"going on from checkpoint-{newest}")
    assert_equal(study, folder)


@pytest.mark.parametrize("rule", RULES)
def test_a_job_that_is_killed_at_any_moment_is_made_again_the_same(study, rule, tmp_path):
    job = study.jobs[rule]
    copied(study, tmp_path, job)
    at_random(study, job, tmp_path)
    check(study, job, tmp_path)


@pytest.mark.parametrize("rule", PUBLISHING)
def test_a_job_that_is_killed_while_it_publishes_leaves_nothing_half(study, rule, tmp_path):
    job = study.jobs[rule]
    copied(study, tmp_path, job)
    while_publishing(study, job, tmp_path)
    check(study, job, tmp_path)


def test_a_training_that_is_killed_behind_a_checkpoint_goes_on_from_it(study, tmp_path):
    job = study.jobs["train"]
    copied(study, tmp_path, job)
    process = begin(study, job, tmp_path)
    mark = tmp_path / job.mark.parent / ".scratch/checkpoint-2" / checkpoints.COMPLETE
    while process.poll() is None and not mark.exists():
        time.sleep(0.001)
    assert kill(process)
    assert json.loads(mark.read_text())
    check(study, job, tmp_path)
