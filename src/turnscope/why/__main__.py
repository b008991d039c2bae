"""List why jobs would run, equal reasons together.

The output of a dry run comes from standard input::

snakemake all --dry-run | python -m turnscope.why
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator

from turnscope.why import changed, reasons

JOB, REASON = re.compile(r"^\s*Job \d+: (.*)$"), re.compile(r"^\s*Reason: (.*)$")
SHOWN = 6
"""Most jobs that are named for one reason."""
REASONS = 12
"""Most reasons that are named."""
FOLLOW = "follows: "


def main(lines: Iterable[str]) -> int:
    """Print the reasons; return the exit code."""
    lines = list(lines)
    jobs = list(planned(lines))
    if not jobs and not any("Nothing to be done" in line for line in lines):
        end = next((line.strip() for line in reversed(lines) if line.strip()), "nothing")
        said = f"error: this is no dry run with reasons; it ends with: {end[:200]}"
        print(said, file=sys.stderr)  # noqa: T201 - a command
        return 1
    print("\n".join(text(jobs)))  # noqa: T201 - a command
    return 0


def planned(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield what each job does and why; targets, which make nothing, are left out."""
    job = None
    for line in lines:
        if found := JOB.match(line):
            job = found[1]
        elif (found := REASON.match(line)) and job:
            if found[1] != reasons.TARGET:
                yield job, found[1]
            job = None


def text(jobs: Iterable[tuple[str, str]]) -> list[str]:
    """Write reasons, and under each the jobs that would run for it.

    Args:
        jobs: What each does, and why.
    """
    groups: dict[str, list[str]] = {}
    follow, total = [], 0
    for job, reason in jobs:
        total += 1
        if reason.startswith(FOLLOW):
            follow.append(job)
        else:
            groups.setdefault(reason.split(f"; {FOLLOW}")[0], []).append(job)
    if not total:
        return ["nothing would run"]
    lines = ["1 job would run" if total == 1 else f"{total:,} jobs would run"]
    for reason, names in list(groups.items())[:REASONS]:
        lines += ["", reason]
        if len(names) > SHOWN and reason == reasons.NEW:
            lines.append(f"    {_kinds(names)}")
            continue
        lines += [f"    {name}" for name in names[:SHOWN]]
        if rest := names[SHOWN:]:
            lines.append(f"    and more: {_kinds(rest)}")
    if others := [job for names in list(groups.values())[REASONS:] for job in names]:
        lines += ["", f"{len(groups) - REASONS:,} more reasons", f"    {_kinds(others)}"]
    if follow:
        lines += ["", "made from these", f"    {_kinds(follow)}"]
    return lines


def _kinds(jobs: Iterable[str]) -> str:
    """Count jobs by the first word of what they do; Snakemake's order differs from run to run."""
    counts = sorted(Counter(job.split()[0] for job in jobs).items())
    return changed.listed([f"{kind} {number:,}" for kind, number in counts], len(counts))


if __name__ == "__main__":
    sys.exit(main(sys.stdin))
