"""A list of all checksums, as `sha256sum -c` reads it in the folder that holds the results.

It is the anchor for who does not trust the records: kept elsewhere, or published, it shows any
change, also one that was written into all records. It leaves out circumstances (`run.json`), logs,
benchmarks, plans and audits, which no two runs have in common, and parts of sets of episodes, which
may go once they are gathered.
"""

from pathlib import Path

from turnscope import atomic
from turnscope.audits._results import Finding, Outcome, Results


def lines(results: Results) -> list[str]:
    """List records and what they speak for, by path, but for parts."""
    records = [record for record in results.records if not record.is_part]
    sums = {file.path: file.sha256 for record in records for file in record.outputs}
    sums |= {record.mark: str(results.sha256(record.mark)) for record in records}
    return [f"{sums[path]}  {path}" for path in sorted(sums)]


def write(results: Results, path: Path) -> None:
    """Write the list, at once or not at all."""
    with atomic.replacing(path) as draft:
        draft.write_text("".join(f"{line}\n" for line in lines(results)))


def compare(results: Results, path: Path) -> Outcome:
    """Compare the files with a list from elsewhere.

    Raises:
        ValueError: The list cannot be read.
    """
    try:
        pairs = [line.split("  ", 1) for line in path.read_text().splitlines()]
        listed = {name: digest for digest, name in pairs}
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} is no manifest: {error}") from error
    found = [
        Finding("listed", name, "it is not what the manifest lists")
        for name, digest in sorted(listed.items())
        if results.sha256(name) != digest
    ]
    now = {line.split("  ", 1)[1] for line in lines(results)}
    found += [
        Finding("listed", name, "the manifest does not list it") for name in sorted(now - {*listed})
    ]
    return Outcome(len(listed), "listed files", found)
