"""Compare results with the jobs that would make them, so that stale ones are not taken for fresh.

The commands of all jobs come from standard input, among other lines. What is stale goes to standard
error, a line each, and the exit code is 1; nothing is written. This is no stage::

    snakemake all --forceall --dry-run --printshellcmds | python -m turnscope.stages._restore
"""

import functools
import json
import shlex
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from turnscope import provenance
from turnscope.stages import _job

STAGE = "turnscope.stages."
"""Precedes the name of a stage in a command."""


def main(lines: Iterable[str]) -> int:
    """Report what is stale; return the exit code."""
    commands = list(planned(lines))
    problems = [problem for options in commands for problem in check(options)]
    if not commands:
        problems = ["no job is planned, so nothing can be compared"]
    for problem in problems:
        print(f"stale: {problem}", file=sys.stderr)  # noqa: T201 - this is a command
    return int(bool(problems))


def planned(lines: Iterable[str]) -> Iterator[Namespace]:
    """Read the commands of jobs; other lines are passed over."""
    for line in lines:
        if f" -m {STAGE}" not in line:
            continue
        words = shlex.split(line)
        start = next(place for place, word in enumerate(words) if word.startswith(STAGE))
        yield _job.parse(words[start + 1 : words.index(">")])


def check(options: Namespace) -> Iterator[str]:
    """Yield what is stale about the artifact of one job.

    Args:
        options: Of the command that would make it, see `turnscope.stages._job.parse`.
    """
    inputs, outputs = _job.files(options.input), _job.files(options.output)
    mark = outputs.pop("provenance")
    if not mark.is_file():
        # Parts may be deleted once they are gathered.
        if "part" not in options.spec:
            yield f"{mark} is missing"
        return
    record = json.loads(mark.read_text())
    now = provenance.modules(options.code[1:])
    then = record["modules"]
    for name in sorted({*now, *then}):
        if now.get(name) != then.get(name):
            yield f"{mark} was made with another {name}"
    if record["spec"] != options.spec:
        yield f"{mark} was made from another specification: {_difference(record, options)}"
    read = {entry["name"]: Path(entry["path"]) for entry in record["inputs"]}
    if read != inputs:
        yield f"{mark} was made from other files"
    if missing := sorted(outputs.keys() - {entry["name"] for entry in record["outputs"]}):
        yield f"{mark} does not know of {', '.join(missing)}"
    for entry in [*record["inputs"], *record["outputs"]]:
        found = _sha256(Path(entry["path"]))
        part = record["stage"] == "gather" and entry["name"].startswith(("episodes.", "turns."))
        if found != entry["sha256"] and (found or not part):
            yield f"{mark} was written for another {entry['path']}"


def _difference(record: dict[str, Any], options: Namespace) -> str:
    """Name the entries that differ."""
    then, now = record["spec"], options.spec
    return ", ".join(key for key in sorted({*then, *now}) if then.get(key) != now.get(key))


@functools.cache
def _sha256(path: Path) -> str | None:
    return provenance.file_sha256(path) if path.is_file() else None


if __name__ == "__main__":
    sys.exit(main(sys.stdin))
