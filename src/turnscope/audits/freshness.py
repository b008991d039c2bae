"""The present code and config would make the same artifacts, no more and no fewer."""

from collections.abc import Iterator, Mapping
from typing import Any

from turnscope.audits._results import Finding, Outcome, Record, Results, Settings, each
from turnscope.dry_run import Planned, modules

SHOWN = 8
"""Names in one line, at most."""


def check(results: Results, settings: Settings) -> Outcome:
    """Compare records with the jobs that are planned, or with the code alone if none are known."""
    if settings.planned is None:
        found = each(results.records, lambda record: _code(record, record.starts))
        return Outcome(len(results.records), "artifacts, of their code alone", found)
    jobs = {job.mark: job for job in settings.planned}
    known = {record.mark: record for record in results.records}
    unreadable = {one.artifact for one in results.unreadable}
    found = [
        Finding("missing", mark, "it is planned, and not there")
        for mark in jobs
        if mark not in known and mark not in unreadable
    ]
    found += [
        Finding("orphan", mark, "no job of the study would make it") for mark in known.keys() - jobs
    ]
    both = [(record, jobs[record.mark]) for record in results.records if record.mark in jobs]
    found += each(both, _stale)
    return Outcome(len(jobs), "artifacts", sorted(found))


def _stale(both: tuple[Record, Planned]) -> Iterator[Finding]:
    record, job = both
    yield from _code(record, job.starts)
    if record.spec != job.spec:
        names = _listed(differences(record.spec, job.spec))
        yield Finding("spec", record.mark, f"made from another specification: {names}")
    read = {file.name: file.path for file in record.inputs}
    if read != job.inputs:
        names = {*read.values()} ^ {*job.inputs.values()}
        yield Finding("inputs", record.mark, f"made from other files: {_listed(sorted(names))}")
    wrote = {file.name: file.path for file in record.outputs}
    if other := sorted(job.outputs.items() - wrote.items()):
        names = _listed(path for _, path in other)
        yield Finding("outputs", record.mark, f"it does not speak for {names}")


def _code(record: Record, starts: tuple[str, ...]) -> Iterator[Finding]:
    now, then = modules(starts), record.modules
    if names := sorted(name for name in {*now, *then} if now.get(name) != then.get(name)):
        yield Finding("code", record.mark, f"made with another {_listed(names)}")


def differences(then: Mapping[str, Any], now: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Name the keys whose values differ, with both values; missing is `nothing`."""
    found = []
    for key in sorted({*then, *now}):
        old, new = then.get(key, "nothing"), now.get(key, "nothing")
        if isinstance(old, dict) and isinstance(new, dict):
            found += differences(old, new, f"{prefix}{key}.")
        elif old != new:
            found.append(f"{prefix}{key} was {_brief(old)}, now {_brief(new)}")
    return found


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _listed(names: Any) -> str:
    some = list(names)
    more = f" and {len(some) - SHOWN} more" if len(some) > SHOWN else ""
    return ", ".join(some[:SHOWN]) + more
