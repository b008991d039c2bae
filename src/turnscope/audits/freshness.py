"""The present code and config would make the same artifacts, no more and no fewer."""

from collections.abc import Iterator

from turnscope.audits._results import Finding, Outcome, Record, Results, Settings, each
from turnscope.dry_run import Planned, modules
from turnscope.why import changed
from turnscope.why.changed import listed

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
        for mark, job in jobs.items()
        # Parts may go once they are gathered; what they were gathered to is planned as well.
        if mark not in known and mark not in unreadable and "part" not in job.spec
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
    if other := changed.specification(record.spec, job.spec):
        detail = f"made from another specification: {listed(other, SHOWN)}"
        yield Finding("spec", record.mark, detail)
    read = {file.name: file.path for file in record.inputs}
    if read != job.inputs:
        names = sorted({*read.values()} ^ {*job.inputs.values()})
        detail = f"made from other files: {listed(names, SHOWN)}"
        yield Finding("inputs", record.mark, detail)
    wrote = {file.name: file.path for file in record.outputs}
    if other := sorted(job.outputs.items() - wrote.items()):
        names = listed([path for _, path in other], SHOWN)
        yield Finding("outputs", record.mark, f"it does not speak for {names}")


def _code(record: Record, starts: tuple[str, ...]) -> Iterator[Finding]:
    if found := changed.code(record.modules, modules(starts)):
        yield Finding("code", record.mark, f"made with other code: {listed(found, SHOWN)}")
