"""How many jobs a cluster is given, as a dry run of the workflow prints its groups of jobs."""

from collections.abc import Iterable

from turnscope.plan.jobs import APART, STAGE


def count(lines: Iterable[str]) -> int:
    """Count jobs, and groups of jobs as one.

    Args:
        lines: Of a dry run that prints commands. A line that begins with `[` begins a job; if it
            says so a group, whose jobs follow, indented.
    """
    found, grouped, counted = 0, False, False
    for line in lines:
        if line.startswith("["):
            grouped, counted = "Group job" in line, False
        elif f" -m {STAGE}" in line and f" -m {STAGE}{APART} " not in line:
            found += not (grouped and counted)
            counted = True
    return found
