"""Reasons of a workflow engine for running a job, put into words.

The engine says that parameters changed and prints both versions of all of them. What a reader wants
to know is which value, and in which module: the record beside the artifact says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from turnscope import dry_run, provenance, records
from turnscope.dry_run import Planned
from turnscope.why import changed

FORCED = "Forced execution"
MISSING = "Missing output files: "
INCOMPLETE = "Incomplete output files: "
UPDATED = "Updated input files: "
FOLLOWS = "Input files updated by another job: "
INPUTS = "Set of input files has changed since last execution"
PARAMS = "Params have changed since last execution"
SOFTWARE = "Software environment definition has changed since last execution"
TARGET = "asked for"
"""Why a target is looked at, which makes nothing itself."""
NEW = "not made yet"
LONGEST = 200
"""Most characters of a reason that is not known here."""


def words(
    reason: str, command: str | None, outputs: Sequence[str], makers: Mapping[str, str]
) -> str:
    """Say why a job would run.

    Args:
        reason: As Snakemake 9 prints it.
        command: Of the job; None if it has none.
        outputs: Its files.
        makers: What each job before it does, by the files that it makes.

    Returns:
        Reasons, separated by semicolons.
    """
    if not outputs:
        return TARGET
    said = []
    parts = list(_parts(reason))
    job = _job_of(command, outputs) if FORCED not in parts else None
    for part in parts:
        if part.startswith(MISSING):
            if not any(Path(path).exists() for path in outputs):
                return NEW
            said.append(f"missing: {changed.listed(_files(part, MISSING))}")
        elif part.startswith(INCOMPLETE):
            said.append(f"left half made: {changed.listed(_files(part, INCOMPLETE))}")
        elif part.startswith(UPDATED):
            said += [_updated(Path(path)) for path in _files(part, UPDATED)[: changed.SHOWN]]
        elif part.startswith(FOLLOWS):
            said.append(_follows(_files(part, FOLLOWS), makers))
        elif part == INPUTS:
            said.append(_inputs(job))
        elif part != PARAMS:
            said.append(SAID.get(part, part[:LONGEST]))
    # Also where Snakemake has reason enough and does not look at parameters.
    own = _parameters(job) if job else []
    if PARAMS in parts and not own:
        own = ["its specification or its code changed"]
    return "; ".join([*own, *said])


SAID = {FORCED: "forced", SOFTWARE: "its software environment changed"}
"""Reasons about which there is nothing to find out."""


def _parts(reason: str) -> Iterator[str]:
    """Split a reason; what Snakemake prints of parameters may hold anything and is left out."""
    before, params, after = reason.partition(PARAMS)
    yield from filter(None, before.removesuffix("; ").split("; "))
    if params:
        yield PARAMS
        if after.endswith(f"; {SOFTWARE}"):
            yield SOFTWARE


def _files(part: str, start: str) -> list[str]:
    """List the files that a part names; sorted, for Snakemake names them in any order."""
    return sorted(path.split(" (")[0] for path in part.removeprefix(start).split(", "))


def _follows(paths: Sequence[str], makers: Mapping[str, str]) -> str:
    """Name a job that runs before, and count the others."""
    # Jobs of a group may be printed in another order than they run; their files are named then.
    known = [path for path in paths if path in makers]
    jobs = list(dict.fromkeys(makers[path] for path in known)) or list(paths)
    return f"follows: {changed.listed(jobs, 1)}"


def _updated(path: Path) -> str:
    """Say of an input that is newer than what was made from it, and other, where it comes from."""
    for mark in (path.with_name("provenance.json"), path.with_name(f"{path.stem}.provenance.json")):
        record = records.read(mark)
        if record is None:
            continue
        wrote = {entry["path"]: entry["sha256"] for entry in record["outputs"]}
        if path.as_posix() in wrote:
            same = provenance.file_sha256(path) == wrote[path.as_posix()]
            how = (
                f"made again by {record['stage']}" if same else f"not as {record['stage']} left it"
            )
            return f"its input is another one: {path}, {how}"
    return f"its input is another one: {path}"


class Job(NamedTuple):
    """A job, and the record of what it made the last time."""

    planned: Planned
    record: Mapping[str, Any]


def _job_of(command: str | None, outputs: Sequence[str]) -> Job | None:
    """Find the record of a job; None if there is none."""
    marks = [Path(path) for path in outputs if path.endswith("provenance.json")]
    record = records.read(marks[0]) if marks else None
    planned = dry_run.job(command or "") if record else None
    return Job(planned, record) if planned and record else None


def _inputs(job: Job | None) -> str:
    """Name the files that a job reads and did not read, and the other way round."""
    found = []
    if job:
        read = [Path(entry["path"]) for entry in job.record["inputs"]]
        found = changed.inputs(read, map(Path, job.planned.inputs.values()))
    return f"it has other inputs{': ' if found else ''}{changed.listed(found)}"


def _parameters(job: Job) -> list[str]:
    """Name what differs in the specification and the code of a job."""
    said = []
    if found := changed.specification(job.record["spec"], job.planned.spec):
        said.append(f"its specification changed: {changed.listed(found)}")
    if found := changed.code(job.record["modules"], dry_run.modules(job.planned.starts)):
        said.append(f"its code changed: {changed.listed(found)}")
    return said
