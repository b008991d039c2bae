"""The jobs that would make a study today, as a dry run of the workflow prints their commands."""

import functools
import shlex
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from turnscope import provenance
from turnscope.stages import _job

STAGE = "turnscope.stages."
"""Precedes the name of a stage in a command."""


class Planned(NamedTuple):
    """One job."""

    mark: str
    """Path of the record that it would write."""
    spec: Mapping[str, Any]
    starts: tuple[str, ...]
    """Modules that its code starts from."""
    inputs: Mapping[str, str]
    """Path by name."""
    outputs: Mapping[str, str]
    """The same, without the record."""
    stage: str
    """Module in `turnscope.stages`."""
    code: str
    """Digest of its code."""


def read(lines: Iterable[str]) -> tuple[Planned, ...]:
    """Read the commands of jobs; other lines are passed over.

    Raises:
        ValueError: There is none: nothing could be compared with them.
    """
    found = tuple(filter(None, map(job, lines)))
    if not found:
        raise ValueError("no job is planned; give the output of a dry run that prints commands")
    return found


def job(line: str) -> Planned | None:
    """Read the command of a job; None if it is none."""
    if f" -m {STAGE}" not in line:
        return None
    words = shlex.split(line)
    start = next(place for place, word in enumerate(words) if word.startswith(STAGE))
    options = _job.parse(words[start + 1 : words.index(">")])
    inputs, outputs = (
        {name: path.as_posix() for name, path in _job.files(some).items()}
        for some in (options.input, options.output)
    )
    mark = outputs.pop("provenance")
    code, *starts = options.code
    stage = words[start].removeprefix(STAGE)
    return Planned(mark, options.spec, tuple(starts), inputs, outputs, stage, code)


@functools.cache
def modules(starts: tuple[str, ...]) -> Mapping[str, str]:
    """Return `provenance.modules` as the code is now; many jobs start from the same."""
    return provenance.modules(starts)
