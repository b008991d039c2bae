"""A small finished study in which every rule has run, and its jobs to be run once more."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests import qwen
from tests.workflow import running
from turnscope import dry_run
from turnscope.stages import _job

OWN = "provenance.json"
"""Name of the record that speaks for all files of its folder."""


class Study(NamedTuple):
    """A study and where it has run."""

    repo: Path
    """A clone of the repository; nobody writes to it."""
    config: str
    """Path of its config."""
    jobs: dict[str, "Job"]
    """One job of each rule, by the rule."""


class Job(NamedTuple):
    """One job."""

    rule: str
    stage: str
    words: list[str]
    """Command line behind the name of the stage."""
    mark: Path
    """Its `provenance`, relative to the folder in which the study ran."""
    outputs: list[Path]
    """What else it declares."""

    @property
    def own(self) -> bool:
        """Whether the artifact is a folder."""
        return self.mark.name == OWN


def write_config(repo: Path, **changes: Any) -> str:
    """Write the config of a study that is as small as a study can be with a job of every rule."""
    config = yaml.safe_load((repo / "config/test.yaml").read_text())
    lake = config["environments"]["frozen_lake"]
    lake["tasks"] |= {"train": 24, "test": 16}
    lake["budget"]["turns"] = 4
    stock = qwen.folder(repo / "stock")
    config["models"]["tiny"] = {
        "backend": "transformers",
        "path": str(stock),
        "template": "qwen3",
        "thinking": False,
    }
    config["models"]["nano"]["build"] |= {"episodes": 100, "steps": 10}
    config["study"] = {
        "arms": ["grpo"],
        "metrics": ["pass_at_kt", "step_quality", "likelihood", "entropy_matched", "truncation"],
    }
    config["training"] |= {"seeds": [0], "checkpoint_steps": 1}
    # Two batches of blind episodes make two parts, and single ones of all others none.
    config["sampling"] = {"episodes": 8, "batch": 64, "shards": 2}
    config["matched"] |= {"heated": 4}
    config["metrics"] |= {"ks": [1, 2, 4], "k": 4, "draws": 100}
    config["metrics"]["truncation"] |= {"tasks": 8, "episodes": 8}
    config["figures"], config["summaries"] = ["pass_at_k"], ["setup"]
    config["calibration"] = {"studies": 2, "draws": 100, "workers": 1}
    path = repo / "small.yaml"
    path.write_text(yaml.safe_dump(config | changes))
    return str(path)


def made(repo: Path) -> Study:
    """Run the study once, undisturbed."""
    running.clone(repo)
    config = write_config(repo)
    everything = ["all", "calibrate", "results/models/tiny/model.safetensors"]
    # The calibration first: what is there is shown by the report.
    for targets in (["calibrate"], everything):
        done = running.snakemake(repo, "--cores", "1", *targets, study=config, OMP_NUM_THREADS="1")
        assert done.returncode == 0, done.stdout
    plan = running.snakemake(repo, "--forceall", "-n", "-p", *everything, study=config)
    assert plan.returncode == 0, plan.stdout
    return Study(repo, config, jobs(plan.stdout))


def jobs(plan: str) -> dict[str, Job]:
    """Read one job of each rule off a dry run that prints commands."""
    found: dict[str, Job] = {}
    for line in plan.splitlines():
        if f" -m {dry_run.STAGE}" not in line:
            continue
        words = shlex.split(line)
        start = next(at for at, word in enumerate(words) if word.startswith(dry_run.STAGE))
        stage = words[start].removeprefix(dry_run.STAGE)
        arguments = words[start + 1 : words.index(">")]
        outputs = _job.files(_job.parse(arguments).output)
        mark = outputs.pop("provenance")
        rule = Path(words[words.index(">") + 1]).relative_to("results/logs").parts[0]
        rule = rule.removesuffix(".log")
        found.setdefault(rule, Job(rule, stage, arguments, mark, [*outputs.values()]))
    return found


def can_mount() -> bool:
    """Say whether this process may mount file systems."""
    with tempfile.TemporaryDirectory() as folder:
        tried = ["mount", "-t", "tmpfs", "tmpfs", folder]
        if shutil.which("mount") is None or subprocess.run(tried, capture_output=True).returncode:
            return False
        subprocess.run(["umount", folder], check=True)
        return True


def copied(study: Study, to: Path, job: Job) -> Path:
    """Copy the results into a folder, without what one job made; return the folder."""
    shutil.copytree(study.repo / "results", to / "results", dirs_exist_ok=True)
    lose(to, job)
    return to


def lose(folder: Path, job: Job) -> None:
    """Remove what a job made."""
    if job.own:
        shutil.rmtree(folder / job.mark.parent)
        return
    for path in (job.mark, _diary(job), *job.outputs):
        (folder / path).unlink(missing_ok=True)


def begin(study: Study, job: Job, folder: Path, log: str = "log") -> subprocess.Popen[bytes]:
    """Start the command of a job in a folder, as the leader of a group of processes."""
    with (folder / log).open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", f"turnscope.stages.{job.stage}", *job.words],
            cwd=folder,
            env=surroundings() | {"PYTHONPATH": str(study.repo / "src"), "PYTHONHASHSEED": "0"},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def surroundings() -> dict[str, str]:
    """Return the environment of a job that may use one thread."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
    return os.environ | threads | {"CUDA_VISIBLE_DEVICES": ""}


def run(study: Study, job: Job, folder: Path) -> tuple[int, list[str]]:
    """Run the command of a job in a folder; return the exit code and the lines of its log."""
    code = begin(study, job, folder).wait()
    return code, (folder / "log").read_text().splitlines()


def start(study: Study, folder: Path, log: str, *words: str) -> subprocess.Popen[bytes]:
    """Start Snakemake in a folder, as the leader of a group of processes."""
    with (folder / log).open("wb") as said:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "snakemake", "--snakefile", str(study.repo / "Snakefile")),
                *("--configfile", study.config, "--directory", str(folder), "--cores", "1"),
                *("--nocolor", *words),
            ],
            cwd=study.repo,
            env={key: value for key, value in surroundings().items() if key != "PYTHONPATH"},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def snakemake(study: Study, folder: Path, *words: str) -> tuple[int, str]:
    """Run Snakemake in a folder; return the exit code and what it says."""
    code = start(study, folder, "said", *words).wait()
    return code, (folder / "said").read_text()


def kill(process: subprocess.Popen[bytes]) -> bool:
    """Kill a process and its group; say whether it still ran."""
    running = process.poll() is None
    if running:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return running


def seconds(study: Study, job: Job) -> float:
    """Return how long a job took when nothing disturbed it."""
    place = study.repo / "results/benchmarks" / job.rule
    table = place.with_suffix(".tsv") if not place.is_dir() else min(place.rglob("*.tsv"))
    return float(table.read_text().splitlines()[1].split("\t")[0])


def content(folder: Path) -> dict[str, bytes]:
    """Read all results but for records of circumstances, logs and benchmarks."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted((folder / "results").rglob("*"))
        if path.is_file()
        and not path.name.endswith("run.json")
        and not {"logs", "benchmarks"} & {*path.parts}
    }


def assert_equal(study: Study, folder: Path) -> None:
    """Check that a folder holds what the undisturbed study holds, to the byte, and no more."""
    found, wanted = content(folder), content(study.repo)
    assert sorted(found) == sorted(wanted)
    assert [name for name in found if found[name] != wanted[name]] == []


def assert_nothing_half(study: Study, job: Job, folder: Path) -> None:
    """Check that what is there under its final name is whole, and the record only with all."""
    wanted = content(study.repo)
    found = {
        name: data
        for name, data in content(folder).items()
        if not any(part.startswith(".") for part in Path(name).parts)
    }
    assert [name for name in found if found[name] != wanted[name]] == []
    if job.mark.as_posix() in found:
        assert {path.as_posix() for path in job.outputs} <= found.keys()


def _diary(job: Job) -> Path:
    return job.mark.with_name(job.mark.name.removesuffix(OWN) + _job.DIARY)
