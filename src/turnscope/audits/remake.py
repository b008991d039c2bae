"""Artifacts come out again, byte for byte, when their job is done again in a fresh folder.

The job gets the recorded specification and inputs, with the present code and packages; its outputs
and its record are compared. If each artifact comes out again, so does the study, for inputs are
compared with their producers' outputs (`chain`). A set of episodes that was gathered from parts
that are gone is played by one job, whose tables are the same. Bytes are equal on one kind of CPU;
on a GPU, or on another kind, sums may be rounded otherwise. It looks at no artifact unless it is
asked to, and never at random at what is fetched from elsewhere.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from turnscope import provenance
from turnscope.audits import _records
from turnscope.audits._recorded import chosen
from turnscope.audits._results import Finding, Outcome, Record, Results, Settings, each
from turnscope.dry_run import STAGE
from turnscope.records import HOME, diary
from turnscope.stages import LIBRARIES

ALL = "all"
"""Stands for every artifact."""
FETCHED = ("data", "model")
"""Stages that get something from elsewhere, which may be out of reach here."""
THREADS = 256
"""Threads of a job at most, whatever it says of itself."""


def check(results: Results, settings: Settings) -> Outcome:
    """Do the jobs of some artifacts again.

    Raises:
        ValueError: One is asked for that has no record.
    """
    records = sorted(results.records, key=lambda record: record.mark)
    made = [record for record in records if record.stage not in FETCHED]
    some = chosen(replace(settings, episodes=settings.remake), "remake", len(made))
    wanted = {made[place].mark for place in some}
    for name in settings.chosen:
        found = [one for one in records if name in (ALL, one.mark, *_paths(one))]
        if not found:
            raise ValueError(f"{name} is nothing that a record speaks for")
        wanted |= {one.mark for one in found}
    again = [record for record in records if record.mark in wanted]
    return Outcome(len(again), "artifacts", each(again, lambda one: _again(results, one)))


def _paths(record: Record) -> list[str]:
    return [file.path for file in record.outputs]


def _again(results: Results, record: Record) -> Iterator[Finding]:
    """Do one job again and compare what it wrote."""
    whole = record
    if any(results.gone(file.path) for file in record.gathered()):
        gone = {*record.gathered()}
        inputs = tuple(file for file in record.inputs if file not in gone)
        record = replace(record, content={**record.content, "stage": "sample"}, inputs=inputs)
    with tempfile.TemporaryDirectory(prefix="turnscope-audit-") as name:
        fresh = Path(name)
        _lay(results, record, fresh)
        done = subprocess.run(
            _command(record),
            cwd=fresh,
            env=_environment(results, record),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode:
            last = "".join(done.stderr.strip().splitlines()[-1:])
            why = "; it fetches what is elsewhere, so it needs it, the network or the cache"
            why = f"the job failed{why if record.stage in FETCHED else ''}: {last}"
            yield Finding("remake", record.mark, why[:500])
            return
        for path in _paths(record):
            made = fresh / path
            if not made.is_file() or provenance.file_sha256(made) != results.sha256(path):
                yield Finding("remake", path, "it comes out otherwise")
        if record is whole:  # of one job that stands for several, the record is another one
            yield from _recorded(results, record, fresh)


def _recorded(results: Results, record: Record, fresh: Path) -> Iterator[Finding]:
    """Compare the record; where the code is another one, that is for `freshness` to say."""
    made = json.loads((fresh / record.mark).read_text())
    equal = provenance.file_sha256(fresh / record.mark) == results.sha256(record.mark)
    if made["modules"] == record.modules and not equal:
        names = [name for name in made if made[name] != record.content.get(name)]
        detail = f"its record comes out otherwise: {', '.join(names) or 'its layout'}"
        yield Finding("remake", record.mark, detail)
    for file in made["outputs"]:
        if file["path"] not in _paths(record):
            yield Finding("remake", record.mark, f"the job also writes {file['path']}")


def _lay(results: Results, record: Record, fresh: Path) -> None:
    """Link what the job reads into a folder, where records say that it is.

    The input that is a record stands for all files that it speaks for. Raw files may lie anywhere
    beside the results.
    """
    for path in results.folder.absolute().parent.iterdir():
        if path.name != results.folder.name and not path.name.startswith("."):
            (fresh / path.name).symlink_to(path)
    known = {one.mark: one for one in results.records}
    for file in record.inputs:
        beside = _paths(known[file.path]) if file.path in known else []
        for path in (file.path, *beside):
            link = fresh / path
            if path.startswith(f"{HOME}/") and not link.is_symlink():
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(results.opened(path).resolve())


def _command(record: Record) -> list[str]:
    """Write the command of a job from its record."""
    inputs: dict[str, list[str]] = {}
    for file in record.inputs:
        inputs.setdefault(file.name.split(".")[0], []).append(file.path)
    words = [
        f"{name}={path}" if not place else path
        for name, paths in inputs.items()
        for place, path in enumerate(paths)
    ]
    return [
        *(sys.executable, "-m", f"{STAGE}{record.stage}"),
        *("--spec", provenance.canonical(record.spec), "--code", "", *record.starts),
        *(["--input", *words] if words else []),
        *("--output", *(f"{file.name}={file.path}" for file in record.outputs)),
        f"provenance={record.mark}",
    ]


def _environment(results: Results, record: Record) -> dict[str, str]:
    """Say what a job may use, as rules do: its threads; GPUs only for a model that is loaded."""
    try:
        said = _records.loads(diary(results.place(record.mark)))
        threads = str(min(int(said["threads"]), THREADS))
    except (OSError, ValueError, KeyError, TypeError):
        threads = "1"
    settings = dict.fromkeys((f"{library}_NUM_THREADS" for library in LIBRARIES), threads)
    settings |= {"PYTHONPATH": str(provenance.PACKAGE.parent), "PYTHONHASHSEED": "0"}
    if not results.loads(record):
        settings["CUDA_VISIBLE_DEVICES"] = ""
    return os.environ | settings
