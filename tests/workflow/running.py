"""Run Snakemake on a copy of the repository."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TARGETS = "The study is complete|All figures are drawn|.* is drawn"
ROOT = Path(__file__).parent.parent.parent


def clone(to: Path) -> Path:
    """Copy what git tracks or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        source, target = ROOT / name, to / name
        if source.is_symlink() or source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    return to


def no_weights(folder: Path) -> Path:
    """Make a folder that looks like a model, for what is planned and not run."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "qwen3"}')
    (folder / "tokenizer.json").write_text("{}")
    header = b'{"none":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    return folder


def snakemake(repo: Path, *arguments: str, study: str = "config/test.yaml", **variables: str):
    """Run Snakemake in a copy, with more environment variables; its output is one text."""
    return subprocess.run(
        [
            *(sys.executable, "-m", "snakemake", "--configfile", study, "--cores", "2"),
            *("--nocolor", *arguments),
        ],
        cwd=repo,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def make(repo: Path, *arguments: str):
    """Call make in a copy, with this Python's packages."""
    tools = Path(sys.executable).parent
    return subprocess.run(
        ["make", f"BIN={tools}", "CORES=2", "-o", ".venv/.run", *arguments],
        cwd=repo,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )


@contextlib.contextmanager
def edited(path: Path, old: str, new: str):
    """Replace text in a file for a while."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    try:
        yield
    finally:
        path.write_text(text)


@contextlib.contextmanager
def added(path: Path, text: str):
    """Add text to the end of a file for a while."""
    before = path.read_text()
    path.write_text(before + text)
    try:
        yield
    finally:
        path.write_text(before)


def planned(repo: Path, *arguments: str, study: str = "config/test.yaml") -> list[str]:
    """List the jobs that Snakemake would run, by their messages, without the targets' own."""
    done = snakemake(repo, "--dry-run", *arguments, study=study)
    assert done.returncode == 0, done.stdout
    jobs = sorted(re.findall(r"^ *Job \d+: (.*)$", done.stdout, re.MULTILINE))
    assert bool(jobs) != ("Nothing to be done" in done.stdout), done.stdout
    return [job for job in jobs if not re.fullmatch(TARGETS, job)]
