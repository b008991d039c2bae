"""What a job read is what another one wrote, back to jobs that read nothing, or raw files."""

from collections import defaultdict
from collections.abc import Iterator

from turnscope.audits._results import Finding, Outcome, Record, Results, Settings, each
from turnscope.records import HOME

LINE = 5
"""Records of a cycle that are named, at most."""


def check(results: Results, settings: Settings) -> Outcome:
    """Follow each input to its producer."""
    del settings
    makers: dict[str, list[Record]] = defaultdict(list)
    for record in results.records:
        makers[record.mark].append(record)
        for file in record.outputs:
            makers[file.path].append(record)
    found = [
        Finding("producers", path, f"made by {', '.join(sorted(one.mark for one in some))}")
        for path, some in sorted(makers.items())
        if len(some) > 1
    ]
    found += each(results.records, lambda record: _inputs(results, record, makers))
    found += _cycles(results, makers)
    return Outcome(sum(len(record.inputs) for record in results.records), "links", found)


def _inputs(results: Results, record: Record, makers: dict[str, list[Record]]) -> Iterator[Finding]:
    for file in record.inputs:
        if file.path in makers:
            maker = makers[file.path][0]
            whole = file.path == maker.mark
            wrote = {one.path: one.sha256 for one in maker.outputs}
            now = results.sha256(file.path) if whole else wrote[file.path]
            source = f"{file.path}, which {maker.mark} made" if not whole else file.path
            why = f"{record.mark} was made from another {source}"
        elif results.gone(file.path):
            continue
        elif file.path.startswith(f"{HOME}/") and file.path not in results.spare:
            yield Finding(
                "producer", record.mark, f"it read {file.path}, which no record speaks for"
            )
            continue
        else:
            now, why = results.sha256(file.path), f"{record.mark} was made from another {file.path}"
        if now != file.sha256:
            yield Finding("link", record.mark, why)


def _cycles(results: Results, makers: dict[str, list[Record]]) -> Iterator[Finding]:
    """Yield what can never have been made: records that wait for each other."""
    waits = {
        record.mark: {
            maker.mark for file in record.inputs for maker in makers.get(file.path, [])[:1]
        }
        for record in results.records
    }
    while free := {mark for mark, needed in waits.items() if not needed & waits.keys()}:
        waits = {mark: needed for mark, needed in waits.items() if mark not in free}
    # What only follows from a cycle is no part of it.
    while ends := waits.keys() - {one for needed in waits.values() for one in needed}:
        waits = {mark: needed for mark, needed in waits.items() if mark not in ends}
    if waits:
        names = sorted(waits)
        more = f" and {len(names) - LINE} more" if len(names) > LINE else ""
        yield Finding(
            "cycle", names[0], f"made from itself, by way of {', '.join(names[:LINE])}{more}"
        )
