"""A small study on a real SLURM, and what goes wrong there."""

import json
import re
from pathlib import Path

import pytest

from tests.slurm import node
from tests.slurm.running import (
    at_work,
    begin,
    copied,
    finish,
    jobs,
    kill,
    start,
    stop,
    wait_for,
)
from tests.workflow.running import clone

pytestmark = pytest.mark.slow

EPISODES = "results/episodes/frozen_lake/nano"
BASE = f"{EPISODES}/base/blind/episodes.parquet"
TRAINED = f"{EPISODES}/grpo-s0/blind/episodes.parquet"
POLICY = "results/policies/frozen_lake/nano/grpo-s0"
ACTIONS = "results/matched/frozen_lake/nano/grpo-s0/actions.parquet"
CURVES = "results/estimates/frozen_lake/nano/step_reward.parquet"
QUALITY = "results/estimates/frozen_lake/nano/step_quality.parquet"
SLOW = "results/estimates/frozen_lake/nano/slow.parquet"
METRIC = """
import os
import subprocess
import time

from turnscope.metrics import endings


def estimate(tasks, rows, settings):
    job = os.environ["SLURM_JOB_ID"]
    asked = ["squeue", "--noheader", "--format=%l", f"--job={job}"]
    while not (limit := subprocess.run(asked, capture_output=True, text=True).stdout.strip()):
        time.sleep(1)
    if limit == "1:00":
        time.sleep(600)
    return endings.estimate(tasks, rows, settings)
"""
"""A metric that is not done within a minute, however late SLURM is."""


@pytest.fixture(scope="module")
def host():
    """The only node of a SLURM."""
    with node.running() as name:
        yield name
        stop()


@pytest.fixture(scope="module")
def local(host, tmp_path_factory):
    """A clone in which the small study has run without SLURM."""
    repo = clone(tmp_path_factory.mktemp("local") / "repo")
    code, said = finish(begin(repo, "all_figures"))
    assert code == 0, said
    return repo


@pytest.fixture(scope="module", autouse=True)
def limited(local, tmp_path_factory):
    """A job that needs more than the minute that its rule asks for: begun first, looked at last."""
    repo = copied(local, tmp_path_factory.mktemp("limited") / "repo")
    (repo / "src/turnscope/metrics/slow.py").write_text(METRIC)
    rules = repo / "workflow/rules/estimates.smk"
    assert "runtime=minutes(10, 20)" in rules.read_text()
    rules.write_text(rules.read_text().replace("runtime=minutes(10, 20)", "runtime=grown(1)"))
    return repo, start(repo, SLOW)


@pytest.fixture
def repo(local, tmp_path):
    """A copy of the finished study, to be spoilt."""
    return copied(local, tmp_path / "repo")


def artifacts(repo: Path) -> dict[str, bytes]:
    """Read all that must be equal in an equal run."""
    suffixes = {".parquet", ".csv", ".svg", ".pdf", ".png", ".safetensors"}
    return {
        path.relative_to(repo).as_posix(): path.read_bytes()
        for path in (repo / "results").rglob("*")
        if path.suffix in suffixes or path.name.endswith("provenance.json")
    }


def lose(repo: Path, *files: str) -> None:
    """Remove artifacts of a study."""
    for file in files:
        (repo / file).unlink()


def assert_equal(repo: Path, local: Path, *files: str) -> None:
    for file in files:
        assert (repo / file).read_bytes() == (local / file).read_bytes(), file


def states(repo: Path) -> list[str]:
    return [job.state for job in jobs(repo)]


def test_a_study_on_slurm_equals_a_local_one(local, tmp_path):
    repo = clone(tmp_path / "repo")
    gpus = {"gpu": 2, "gpu_model": "testgpu", "cpus_per_gpu": 1, "slurm_partition": "gpu"}
    asked = [f"train:{name}={value}" for name, value in gpus.items()]
    code, said = finish(start(repo, "all_figures", "--set-resources", *asked))
    assert code == 0, said
    ours, theirs = artifacts(repo), artifacts(local)
    assert [name for name in theirs if ours.get(name) != theirs[name]] == []
    assert len(ours) == len(theirs) > 30
    sent = jobs(repo)
    assert {job.state for job in sent} == {"COMPLETED"}
    assert all(job.name.startswith("turnscope_") for job in sent)
    # jobs of seconds share one, and every job says what it is
    assert [job.comment for job in sent] == [
        "rule_start_frozen_lake_base_probes_tasks",
        "rule_train_wildcards_frozen_lake_nano_grpo_0",
        "rule_play_frozen_lake_nano_sample",
        "rule_compare_frozen_lake_nano_matched",
        "rule_estimates_frozen_lake_nano_estimate",
        "rule_drawings_figure",
    ]
    assert [job.gpus for job in sent] == ["N/A", "gres:gpu:testgpu:2", *["N/A"] * 4]
    assert [job.processors for job in sent] == ["1", "2", *["1"] * 4]


def test_a_failing_job_says_why_and_where_and_leaves_the_rest_running(repo, local):
    lose(repo, TRAINED, CURVES)
    (repo / POLICY / "model.safetensors").write_bytes(b"no weights")
    code, said = finish(start(repo, TRAINED, CURVES, "--retries", "0"))
    assert code == 1
    assert sorted(states(repo)) == ["COMPLETED", "FAILED"]
    failed = next(job for job in jobs(repo) if job.state == "FAILED")
    assert failed.comment == "rule_play_frozen_lake_nano_sample"
    assert "Error in group play_frozen_lake_nano" in said
    assert re.search(r"^ *error: .*", said, re.MULTILINE), said
    assert "results/logs/sample/frozen_lake/nano/grpo-s0/blind.log" in said
    where = re.search(rf"\S+/results/logs/slurm/group_play_\S+/{failed.id}\.log", said)
    assert where is not None, said
    assert Path(where[0]).is_file()
    assert_equal(repo, local, CURVES)
    assert not (repo / TRAINED).exists()


def test_after_the_main_process_is_killed_no_finished_job_is_redone(repo, local):
    lose(repo, BASE, ACTIONS, QUALITY)
    run = start(repo, QUALITY)
    wait_for(repo, "matched")
    kill(run.process.pid)
    run.process.wait()
    # what SLURM has goes on
    node.wait(lambda: states(repo) == ["COMPLETED"] * 2, "jobs do not finish")
    diaries = [(repo / file).with_name("run.json") for file in (BASE, ACTIONS)]
    before = [diary.read_bytes() for diary in diaries]
    code, said = finish(begin(repo, "--unlock"))
    assert code == 0, said
    code, said = finish(start(repo, QUALITY))
    assert code == 0, said
    assert [diary.read_bytes() for diary in diaries] == before
    assert [job.comment for job in jobs(repo)[2:]] == ["rule_estimates_frozen_lake_nano_estimate"]
    assert_equal(repo, local, BASE, ACTIONS, QUALITY)


def test_a_cancelled_job_is_tried_again(repo, local):
    lose(repo, BASE)
    run = start(repo, BASE)
    wait_for(repo, "sample")
    node.run("scancel", jobs(repo)[0].id)
    code, said = finish(run)
    assert code == 0, said
    assert states(repo) == ["CANCELLED", "COMPLETED"]
    assert_equal(repo, local, BASE)


def test_a_killed_training_goes_on_from_its_checkpoint_with_more_memory(repo, local):
    lose(repo, f"{POLICY}/model.safetensors")
    run = start(repo, f"{POLICY}/model.safetensors")
    scratch = repo / POLICY / ".scratch"
    node.wait(lambda: list(scratch.glob("*/complete")), "no checkpoint")
    kill(*at_work(repo, "train"))
    code, said = finish(run)
    assert code == 0, said
    first, second = jobs(repo)
    assert (first.state, second.state) == ("FAILED", "COMPLETED")
    assert (first.memory, second.memory) == ("4000M", "8000M")
    log = (repo / "results/logs/train/frozen_lake/nano/grpo-s0.log").read_text()
    assert "going on from checkpoint-" in log
    assert not scratch.exists()
    assert_equal(
        repo, local, *(f"{POLICY}/{name}" for name in ("model.safetensors", "training.parquet"))
    )


def test_a_job_at_its_time_limit_passes_with_more(limited):
    repo, run = limited
    code, said = finish(run)
    assert code == 0, said
    *cut, done = jobs(repo)
    assert {job.state for job in cut} == {"TIMEOUT"}
    assert (cut[0].limit, done.state) == ("1:00", "COMPLETED")
    assert [job.limit for job in (*cut, done)] == [f"{1 + n}:00" for n in range(len(cut) + 1)]
    assert (repo / SLOW).is_file()


def test_jobs_of_a_node_that_goes_down_run_when_it_is_back(repo, local, host):
    lose(repo, BASE)
    run = start(repo, BASE)
    wait_for(repo, "sample")
    node.run("scontrol", "update", f"NodeName={host}", "State=DOWN", "Reason=tests")
    node.wait(lambda: states(repo) == ["PENDING"], "the job is not in the queue again")
    node.wait(lambda: not at_work(repo, "sample"), "the job goes on without its node")
    node.run("scontrol", "update", f"NodeName={host}", "State=RESUME")
    code, said = finish(run)
    assert code == 0, said
    assert states(repo) == ["COMPLETED"]
    assert (
        json.loads((repo / BASE).with_name("run.json").read_text())["slurm_job"] == jobs(repo)[0].id
    )
    assert_equal(repo, local, BASE)
