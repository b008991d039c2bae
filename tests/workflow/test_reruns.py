"""What runs again after a change, and what does not, on a finished study."""

import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.test_config import merged
from tests.workflow.running import ROOT, added, edited, planned, snakemake
from turnscope import registry, tables

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def repo(finished):
    """A clone in which the test study has run."""
    return finished


def copied(repo, to, shuffle=None):
    """Bring the results of a study into a fresh clone, without Snakemake's own records."""
    made = to / "copy"
    shutil.copytree(repo, made, symlinks=True, ignore=lambda *_: {".snakemake", "results"})
    files = sorted(path for path in (repo / "results").rglob("*") if path.is_file())
    if shuffle:
        shuffle.shuffle(files)
    for number, source in enumerate(files):
        target = made / source.relative_to(repo)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
        if shuffle:  # dates in the order of copying, as after `cp -r`
            os.utime(target, (1_700_000_000 + number, 1_700_000_000 + number))
    return made


def marks(repo):
    return sorted((repo / "results").rglob("*provenance.json"))


def shell():
    """The environment of a shell in which nobody said how many threads to use."""
    return {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}


def test_a_finished_study_has_nothing_to_do(repo):
    assert planned(repo, "all") == []
    assert planned(repo, "all_figures") == []


def test_every_figure_was_made(repo):
    for figure in registry.names("figures"):
        for suffix in ("pdf", "svg", "png", "csv", "provenance.json", "run.json"):
            assert (repo / "results" / "figures" / f"{figure}.{suffix}").stat().st_size > 0


def test_every_summary_was_made(repo):
    for summary in registry.names("summaries"):
        for suffix in ("csv", "provenance.json", "run.json"):
            assert (repo / "results" / "summaries" / f"{summary}.{suffix}").stat().st_size > 0


@pytest.mark.parametrize(
    ("lost", "job"),
    [
        ("figures/pass_at_k.csv", "Draw pass_at_k"),
        ("estimates/frozen_lake/nano/crossover.parquet", "Estimate crossover of"),
        ("episodes/frozen_lake/nano/base/blind/turns.parquet", "Play base of"),
        ("policies/frozen_lake/nano/grpo-s0/model.safetensors", "Train grpo, seed 0,"),
        ("policies/frozen_lake/nano/gigpo-s1/progress.parquet", "Train gigpo, seed 1,"),
        ("policies/frozen_lake/nano/base/model.safetensors", "Make the base policy of"),
        ("probes/frozen_lake/nano/states.parquet", "Choose the probe states of"),
        ("summaries/conduct.csv", "Tabulate conduct"),
        ("matched/frozen_lake/nano/grpo-s0/actions.parquet", "Compare grpo-s0 with base"),
        ("matched/frozen_lake/nano/grpo-s1/pool.parquet", "Compare grpo-s1 with base"),
        ("likelihood/frozen_lake/nano/grpo-s0/heat.parquet", "Score the actions of base and"),
        ("heated/frozen_lake/nano/grpo-s1/turns.parquet", "Play grpo-s1 as random as base"),
        ("claims/robustness.parquet", "Judge the claims"),
    ],
)
def test_a_lost_artifact_is_made_again(repo, lost, job):
    path = repo / "results" / lost
    away = path.with_name(f"{path.name}.away")
    path.rename(away)
    try:
        assert [one for one in planned(repo, "all") if one.startswith(job)]
    finally:
        away.rename(path)


def test_an_edit_of_a_figure_draws_that_figure(repo):
    with added(repo / "src/turnscope/figures/pass_at_k.py", "\nEDITED = 1\n"):
        assert planned(repo, "all_figures") == ["Draw pass_at_k"]


def test_an_edit_of_a_metric_estimates_it_and_what_draws_it(repo):
    with added(repo / "src/turnscope/metrics/crossover.py", "\nEDITED = 1\n"):
        jobs = planned(repo, "all_figures")
    assert "Estimate crossover of nano in frozen_lake" in jobs
    assert "Draw crossover" in jobs
    assert not [job for job in jobs if job.startswith(("Train", "Play", "Make"))]
    assert "Draw training_curves" not in jobs


@pytest.mark.parametrize("module", ["types", "rollout", "training/__init__", "figures/pass_at_k"])
def test_an_edit_of_words_runs_nothing(repo, module):
    path = repo / f"src/turnscope/{module}.py"
    with added(path, "\n# An afterthought.\n"), edited(path, '"""\n\n', ' More words."""\n\n'):
        assert planned(repo, "all") == []


def test_an_edit_of_the_environment_runs_everything(repo):
    with added(repo / "src/turnscope/environments/frozen_lake/lake.py", "\nEDITED = 1\n"):
        jobs = planned(repo, "all")
    assert "Make the tasks of frozen_lake" in jobs
    assert "Write the report" in jobs


@pytest.mark.parametrize(
    ("arm", "section"),
    [
        ("grpo", {"training": {"learning_rate": 0.0123}}),
        ("grpo", {"options": {"scale": "none"}}),
        ("gigpo", {"options": {"weight": 0.5}}),
        ("budget_mix", {"options": {"interval": 0.5}}),
    ],
)
def test_an_option_of_an_arm_runs_that_arm_and_what_depends_on_it(repo, tmp_path, arm, section):
    study = yaml.safe_load((repo / "config/test.yaml").read_text())
    study["arms"] = {arm: section}
    overlay = tmp_path / "changed.yaml"
    overlay.write_text(yaml.safe_dump(study))
    jobs = planned(repo, "all", study=str(overlay))
    assert [job for job in jobs if job.startswith("Train")] == [
        f"Train {arm}, seed 0, from nano in frozen_lake",
        f"Train {arm}, seed 1, from nano in frozen_lake",
    ]
    played = {job.split()[1] for job in jobs if job.startswith("Play")}
    assert played == {f"{arm}-s0", f"{arm}-s1"}
    kinds = {job.split()[0] for job in jobs} - {"Train", "Play", "Compare", "Score"}
    assert kinds == {"Estimate", "Draw", "Tabulate", "Judge", "Write"}


ARM = '''\
"""GRPO under a short budget until half of the steps are done."""

from functools import partial

from turnscope import budgets
from turnscope.advantages import group_relative
from turnscope.algorithms._arm import Algorithm, Moment, outcome


def make(*, share: float = 0.5) -> Algorithm:
    """Make the arm.

    Args:
        share: Part of T_max that the short budget is, rounded up to turns.
    """
    return Algorithm(
        turns=partial(_turns, share=share),
        rewards=outcome,
        credit=partial(group_relative, scale="group"),
    )


def _turns(moment: Moment, share: float) -> int:
    early = 2 * moment.step < moment.steps
    return budgets.budget(share, moment.turns) if early else moment.turns
'''


def test_a_new_arm_is_a_short_file_and_a_line_of_the_config(repo, tmp_path):
    made = shutil.copytree(repo, tmp_path / "copy", symlinks=True)
    assert ARM.count("\n") <= 30
    (made / "src/turnscope/algorithms/short_first.py").write_text(ARM)
    before = (made / "config.yaml").read_text().splitlines()
    study = "  arms: [grpo,"
    after = [
        line.replace(study, study + " short_first,") if line.startswith(study) else line
        for line in before
    ]
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 1
    (made / "config.yaml").write_text("\n".join(after) + "\n")
    trained = [job for job in planned(made, "all") if job.startswith("Train")]
    assert trained == [
        f"Train short_first, seed {seed}, from nano in frozen_lake" for seed in (0, 1)
    ]
    done = snakemake(made, "pass_at_t")
    assert done.returncode == 0, done.stdout
    assert "short_first" in (made / "results/figures/pass_at_t.csv").read_text()
    curves = tables.read(
        made / "results/policies/frozen_lake/nano/short_first-s0/training.parquet", "training"
    )
    budget = curves.loc[curves["name"] == "budget"].sort_values("step")["value"]
    assert budget.tolist() == [4, 4, 8, 8]


def test_an_arm_stops_once_it_has_sampled_the_tokens_of_another(repo, tmp_path):
    made = copied(repo, tmp_path)
    folder = made / "results/policies/frozen_lake/nano"
    done = snakemake(made, "results/policies/frozen_lake/nano/grpo_matched-s0/training.parquet")
    assert done.returncode == 0, done.stdout
    ours, theirs = (
        tables.read(folder / policy / "training.parquet", "training")
        .query("name == 'tokens_total'")
        .sort_values("step")["value"]
        .tolist()
        for policy in ("grpo_matched-s0", "budget_mix-s0")
    )
    assert ours[-1] >= theirs[-1]
    assert all(tokens < theirs[-1] for tokens in ours[:-1])


def test_an_option_of_the_metrics_trains_nothing(repo, tmp_path):
    study = yaml.safe_load((repo / "config/test.yaml").read_text())
    study["metrics"]["draws"] = 600
    overlay = tmp_path / "draws.yaml"
    overlay.write_text(yaml.safe_dump(study))
    jobs = planned(repo, "all", study=str(overlay))
    assert {job.split()[0] for job in jobs} == {"Estimate", "Draw", "Tabulate", "Judge", "Write"}


def test_a_pin_runs_what_computes_with_it_and_a_tool_runs_nothing(repo):
    with edited(repo / "envs/requirements.txt", "matplotlib==", "matplotlib==9"):
        jobs = planned(repo, "all")
        assert {job.split()[0] for job in jobs} == {"Draw", "Write"}
    with edited(repo / "envs/requirements.txt", "trl==", "trl==9"):
        jobs = planned(repo, "all")
        assert [job for job in jobs if job.startswith("Train")]
        assert not [job for job in jobs if job.startswith("Make")]
    with edited(repo / "envs/requirements.txt", "filelock==", "filelock==9"):
        assert planned(repo, "all") == []


def test_touched_results_run_nothing(repo):
    paths = list((repo / "results" / "episodes").rglob("*.*"))
    before = [path.stat() for path in paths]
    for path in paths:
        path.touch()
    try:
        assert planned(repo, "all") == []
    finally:
        for path, stat in zip(paths, before, strict=True):
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def test_results_copied_with_their_dates_run_nothing(repo, tmp_path):
    assert planned(copied(repo, tmp_path), "all") == []


def restore(repo):
    """Call `make restore` with this Python's packages."""
    tools = Path(sys.executable).parent
    return subprocess.run(
        ["make", "restore", f"BIN={tools}", "CORES=2", "-o", ".venv/.run"],
        cwd=repo,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def lost(repo, tmp_path_factory):
    """A clone with the results, as `config.yaml` would make them, but without their records."""
    made = copied(repo, tmp_path_factory.mktemp("lost"), random.Random(0))
    study = yaml.safe_load((made / "config.yaml").read_text())
    (made / "config.yaml").write_text(
        yaml.safe_dump(merged(study, yaml.safe_load((made / "config/test.yaml").read_text())))
    )
    return made


def dates(repo):
    return {path: path.stat().st_mtime_ns for path in (repo / "results").rglob("*")}


def test_stale_results_are_not_restored(lost):
    before = dates(lost)
    with added(lost / "src/turnscope/metrics/crossover.py", "\nEDITED = 1\n"):
        done = restore(lost)
    assert done.returncode != 0
    assert [line for line in done.stderr.splitlines() if line.startswith("freshness ")] == [
        "freshness code: results/estimates/frozen_lake/nano/crossover.provenance.json: "
        "made with other code: turnscope/metrics/crossover.py"
    ]
    with edited(lost / "config.yaml", "draws: 500", "draws: 600"):
        done = restore(lost)
    named = "crossover.provenance.json: made from another specification: "
    assert f"{named}settings.draws 500 -> 600" in done.stderr
    table = lost / "results/tasks/frozen_lake/tasks.parquet"
    content, stat = table.read_bytes(), table.stat()
    table.write_bytes(content + b"x")
    done = restore(lost)
    table.write_bytes(content)
    os.utime(table, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert "integrity checksum: results/tasks/frozen_lake/tasks.parquet: " in done.stderr
    assert dates(lost) == before


def test_restored_results_run_nothing_and_are_watched_again(lost):
    done = restore(lost)
    assert done.returncode == 0, done.stderr
    assert planned(lost, "all") == []
    with added(lost / "src/turnscope/figures/pass_at_k.py", "\nEDITED = 1\n"):
        assert planned(lost, "all_figures") == ["Draw pass_at_k"]


def test_records_form_a_chain(repo):
    wrote, read = {}, {}
    for path in marks(repo):
        record = json.loads(path.read_text())
        name = path.relative_to(repo).as_posix()
        wrote[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        for entry in record["outputs"]:
            content = (repo / entry["path"]).read_bytes()
            assert entry["sha256"] == hashlib.sha256(content).hexdigest()
            wrote[entry["path"]] = entry["sha256"]
        read |= {(name, entry["path"]): entry["sha256"] for entry in record["inputs"]}
    assert len(read) > 20
    for (_, path), sha256 in read.items():
        assert wrote[path] == sha256


def test_a_second_run_on_one_core_gives_equal_bytes(repo, tmp_path):
    """Whatever the caller's shell says of threads and hashes; the first run had two cores."""
    done = snakemake(
        repo,
        *("--cores", "1", "--directory", str(tmp_path), "all"),
        OMP_NUM_THREADS="8",
        MKL_NUM_THREADS="8",
        PYTHONHASHSEED="7",
    )
    assert done.returncode == 0, done.stdout
    suffixes = {".parquet", ".csv", ".svg", ".pdf", ".png", ".html", ".safetensors"}
    files = [
        path.relative_to(repo)
        for path in (repo / "results").rglob("*")
        if path.suffix in suffixes or path.name.endswith("provenance.json")
    ]
    different = [
        path.as_posix()
        for path in files
        if (repo / path).read_bytes() != (tmp_path / path).read_bytes()
    ]
    assert len(files) > 40
    assert different == []


STAGES = sorted(path.stem for path in (ROOT / "src/turnscope/stages").glob("[a-z]*.py"))
STAGES.remove("calibrate")  # no job of a study; tests/calibration runs it
for other in ("data", "model"):  # nor of one that needs nothing from elsewhere, see test_loaded
    STAGES.remove(other)
STAGES.remove("gather")  # nor of one in which one job plays a set of episodes, see test_shards


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_typed_by_hand_gives_equal_bytes_under_another_hash_seed(repo, stage, tmp_path):
    records = [json.loads(path.read_text()) for path in marks(repo)]
    record = next(record for record in records if record["stage"] == stage)
    files = {entry["name"]: entry["path"] for entry in record["inputs"]}
    declared = [entry for entry in record["outputs"] if "." not in entry["name"]]
    # several files of one name follow one another
    words, last = [], None
    for name, path in files.items():
        words += [path] if name.split(".")[0] == last else [f"{name.split('.')[0]}={path}"]
        last = name.split(".")[0]
    done = subprocess.run(
        [
            *(sys.executable, "-m", f"turnscope.stages.{stage}"),
            *("--spec", json.dumps(record["spec"]), "--input", *words, "--output"),
            *(f"{entry['name']}={tmp_path / Path(entry['path']).name}" for entry in declared),
            f"provenance={tmp_path / 'provenance.json'}",
        ],
        cwd=repo,
        env=shell() | {"PYTHONPATH": "src", "PYTHONHASHSEED": "12345", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for entry in record["outputs"]:
        content = (tmp_path / Path(entry["path"]).name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == entry["sha256"], entry["path"]


def test_a_failing_job_says_why_and_leaves_nothing_behind_and_what_it_says_helps(repo, tmp_path):
    made = copied(repo, tmp_path)
    for path in (made / "results" / "figures").glob("pass_at_k.*"):
        path.unlink()
    table = made / "results/estimates/frozen_lake/nano/pass_at_kt.parquet"
    content, stat = bytearray(table.read_bytes()), table.stat()
    content[len(content) // 3] ^= 1
    table.write_bytes(content)
    os.utime(table, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    done = snakemake(made, "pass_at_k")
    assert done.returncode == 1
    found = re.search(
        r"^error: \S*pass_at_kt\.parquet is damaged: .*; remove (\S+), and its job",
        done.stdout,
        re.MULTILINE,
    )
    assert found, done.stdout
    assert not list((made / "results" / "figures").glob("pass_at_k.*"))
    (made / found[1]).unlink()
    done = snakemake(made, "pass_at_k")
    assert done.returncode == 0, done.stdout
    for name in ("estimates/frozen_lake/nano/pass_at_kt.parquet", "figures/pass_at_k.svg"):
        assert (made / "results" / name).read_bytes() == (repo / "results" / name).read_bytes()
