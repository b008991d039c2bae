"""What was found, for people: a table of the kinds of audit, and the first lines of each."""

import html
from collections.abc import Mapping
from pathlib import Path

from turnscope import atomic
from turnscope.audits._results import Outcome

SHOWN = 20
"""Findings of a kind that are on the page; all are in the table beside it."""
HEADER = """# Audits

| kind | looked at | failures |
| --- | --- | --- |
"""


def write(outcomes: Mapping[str, Outcome], path: Path) -> None:
    """Write a page of Markdown, at once or not at all.

    Args:
        outcomes: By kind.
        path: Where it goes.
    """
    rows = "".join(
        f"| {kind} | {found.checked} {found.what} | {len(found.findings)} |\n"
        for kind, found in outcomes.items()
    )
    parts = "".join(_part(kind, found) for kind, found in outcomes.items() if found.findings)
    atomic.write_text(HEADER + rows + (parts or "\nNothing is wrong.\n"), path)


def _part(kind: str, found: Outcome) -> str:
    """List the first findings of a kind, so that no name in them is read as markup."""
    lines = [" ".join(f"{check}: {name}: {why}".split()) for check, name, why in found.findings]
    more = [f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    shown = "\n".join(html.escape(line, quote=False) for line in [*lines[:SHOWN], *more])
    return f"\n## {kind}\n\n<pre>\n{shown}\n</pre>\n"
