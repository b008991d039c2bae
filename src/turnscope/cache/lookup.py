"""Which jobs of a study a cache has, in the order in which they would run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from turnscope import dry_run, provenance, records
from turnscope.cache import shelf
from turnscope.dry_run import Planned


class Job(NamedTuple):
    """A planned job."""

    planned: Planned
    inputs: dict[str, Path]
    outputs: dict[str, Path]
    """All but the record."""
    mark: Path
    """The record, `provenance.json`."""


class Result(NamedTuple):
    """What became of a job."""

    job: Job
    fate: str
    """`there`, `hit`, `miss`, `waits` for a job that is neither there nor a hit, `kept` because
    other files are in its place, or `corrupt`."""


def restore(cache: Path, lines: Iterable[str]) -> Iterator[Result]:
    """Put in place what a cache has of the jobs of a study, and overwrite nothing.

    Args:
        cache: Folder of the cache.
        lines: Of a dry run that prints the commands of all jobs.

    Yields:
        What became of each job.
    """
    planned = records.in_order(
        dry_run.read(lines),
        lambda job: job.inputs.values(),
        lambda job: [*job.outputs.values(), job.mark],
    )
    jobs = [_job(one) for one in planned]
    read = {path.as_posix() for job in jobs for path in job.inputs.values()}
    absent: set[Path] = set()
    for job in jobs:
        if absent & _needed(job):
            result = Result(job, "waits")
        elif _is_there(job):
            result = Result(job, "there")
        else:
            result = _fetch(cache, job, read)
        if result.fate not in ("there", "hit"):
            absent |= {job.mark, *job.outputs.values()}
        yield result


def ends(results: Sequence[Result]) -> list[Path]:
    """Return the records of jobs that are there by now, and that no other such job was made from.

    Args:
        results: Of all jobs, in the order of `restore`.

    Returns:
        None if there was no hit.
    """
    found, behind = [], set[Path]()
    for job, fate in reversed(results):
        there = fate in ("there", "hit")
        if there and not behind & {*_files(job)}:
            found.append(job.mark)
        if there:  # all that it was made from is there as well
            behind |= {*job.inputs.values()}
    return found[::-1] if any(result.fate == "hit" for result in results) else []


def _job(planned: Planned) -> Job:
    inputs, outputs = (
        {name: Path(path) for name, path in some.items()}
        for some in (planned.inputs, planned.outputs)
    )
    return Job(planned, inputs, outputs, Path(planned.mark))


def _needed(job: Job) -> set[Path]:
    """Return the inputs that must be there; parts may be deleted once they are gathered."""
    return {
        path
        for name, path in job.inputs.items()
        if not (_spare(job, name, path) and job.mark.is_file() and not path.exists())
    }


def _spare(job: Job, name: str, path: Path) -> bool:
    return records.is_part(job.planned.stage, name, path.as_posix())


def _is_there(job: Job) -> bool:
    """Tell whether a job is done: as its record says, from what is there now."""
    record = shelf.record(job.mark)
    if not record or not all(path.is_file() for path in _needed(job)):
        return False
    expected = _expected(job, record)
    return (
        _is_whole(record, expected["key"])
        and _fits(record, expected, job)
        and all(
            (path := Path(one["path"])).is_file() and provenance.file_sha256(path) == one["sha256"]
            for one in record["outputs"]
        )
    )


def _files(job: Job) -> list[Path]:
    return [*job.outputs.values(), job.mark]


def _fetch(cache: Path, job: Job, read: set[str]) -> Result:
    """Put one job's artifacts in place, its record last."""
    if not all(path.is_file() for path in job.inputs.values()):  # also where parts are gone
        return Result(job, "miss")
    expected = _expected(job, {})
    entry = shelf.get(cache, expected["key"])
    if entry is None:
        return Result(job, "miss")
    if not _is_whole(entry.record, expected["key"]):
        shelf.discard(entry.folder)
        return Result(job, "corrupt")
    if not _fits(entry.record, expected, job):
        return Result(job, "miss")
    files = [(Path(one["path"]), one["sha256"]) for one in entry.record["outputs"]]
    there = [path for path, sha256 in files if _differs(path, sha256)]
    if there or job.mark.exists():
        return Result(job, "kept")
    wrote = []
    diary = records.diary(job.mark)
    try:
        # It comes first, and marks the folder as that of a job; the record comes last.
        _bring(entry, records.DIARY, diary)
        wrote.append(diary)
        for path, sha256 in files:
            if not path.exists():
                shelf.bring(entry.file(sha256), path, sha256, path.as_posix() not in read)
                wrote.append(path)
        _bring(entry, records.MARK, job.mark)
    except FileNotFoundError:  # pruned meanwhile
        _undo(wrote)
        return Result(job, "miss")
    except ValueError:
        _undo(wrote)
        shelf.discard(entry.folder)
        return Result(job, "corrupt")
    shelf.use(entry)
    return Result(job, "hit")


def _expected(job: Job, record: Mapping[str, Any]) -> dict[str, Any]:
    """Say what the record of a job will be, but for its outputs.

    Args:
        job: The job.
        record: The one that is there, if any, for the checksums of parts that were deleted.
    """
    planned = job.planned
    known = {one["path"]: one["sha256"] for one in record.get("inputs", [])}
    if not all(path.is_file() or path.as_posix() in known for path in job.inputs.values()):
        return {"key": None}  # made from other parts, which are gone
    read = [
        {
            "name": name,
            "path": path.as_posix(),
            "sha256": provenance.file_sha256(path) if path.is_file() else known[path.as_posix()],
        }
        for name, path in job.inputs.items()
    ]
    shas = {one["name"]: one["sha256"] for one in read}
    return {
        "schema": provenance.SCHEMA,
        "stage": planned.stage,
        "key": provenance.key(planned.stage, planned.spec, planned.code, shas),
        "spec": planned.spec,
        "spec_sha256": provenance.canonical_sha256(planned.spec),
        "code": planned.code,
        "modules": dry_run.modules(planned.starts),
        "inputs": read,
    }


def _is_whole(record: dict[str, Any], key: str) -> bool:
    """Tell whether a record is one, of what its key stands for."""
    try:
        shas = {one["name"]: one["sha256"] for one in record["inputs"]}
        outputs = [(one["name"], one["path"], one["sha256"]) for one in record["outputs"]]
        found = provenance.key(record["stage"], record["spec"], record["code"], shas)
    except (KeyError, TypeError):
        return False
    return found == key and all(isinstance(text, str) for one in outputs for text in one)


def _fits(record: dict[str, Any], expected: dict[str, Any], job: Job) -> bool:
    """Tell whether a record is that of a job: made from the same, with the files that it declares.

    Other files must lie in the folder that is the artifact, if the job has one.
    """
    if {name: value for name, value in record.items() if name != "outputs"} != expected:
        return False
    declared = {name: path.as_posix() for name, path in job.outputs.items()}
    wrote = {one["name"]: one["path"] for one in record["outputs"]}
    own = job.mark.parent if job.mark.name == records.MARK else None
    return declared.keys() <= wrote.keys() and all(
        path == declared[name] if name in declared else own and _is_beside(own, name, path)
        for name, path in wrote.items()
    )


def _is_beside(own: Path, name: str, path: str) -> bool:
    """Tell whether a file that was not declared is named by its place in the artifact's folder."""
    hidden = any(part.startswith((".", "/")) for part in PurePosixPath(name).parts)
    return path == f"{own.as_posix()}/{name}" and not hidden


def _differs(path: Path, sha256: str) -> bool:
    return path.exists() and (not path.is_file() or provenance.file_sha256(path) != sha256)


def _bring(entry: shelf.Entry, source: str, to: Path) -> None:
    """Write a record as the job would have."""
    path = entry.folder / source
    shelf.bring(path, to, provenance.file_sha256(path), linked=False)


def _undo(wrote: Iterable[Path]) -> None:
    for path in wrote:
        path.unlink()
