"""Audit a folder of results: say in a line what is wrong with each artifact, and fail if any is."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from turnscope import dry_run, registry, tables
from turnscope.audits import _manifest, _page, _results
from turnscope.audits._results import Finding, Outcome, Results, Settings, line
from turnscope.records import HOME


def main(arguments: Sequence[str], lines: Iterable[str]) -> int:
    """Run audits, print and write what they found; return the exit code."""
    options = _parse(arguments)
    try:
        outcomes = _run(options, lines)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - a command
        return 1
    rows = [
        {"kind": kind, **one._asdict()}
        for kind, found in outcomes.items()
        for one in found.findings
    ]
    for row in rows:
        named = " ".join(dict.fromkeys([row["kind"], row["check"]]))
        print(f"{named}: {row['artifact']}: {row['detail']}", file=sys.stderr)  # noqa: T201
    for kind, found in outcomes.items():
        print(f"{kind:12} {found.checked} {found.what}, {len(found.findings)} failures")  # noqa: T201
    if options.output:
        tables.write(tables.conform(rows, "audits"), options.output, "audits")
        _page.write(outcomes, options.output.with_suffix(".md"))
        page, kept = options.output.with_suffix(".md"), options.manifest
        said = f"{len(rows)} failures, see {page}" if rows else f"nothing is wrong; see {page}"
        if kept and kept.is_file():
            said += f"; {kept} is that of an earlier audit" if rows else f", {kept}"
        print(said)  # noqa: T201
    return int(bool(rows))


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m turnscope.audits", description=__doc__)
    parser.add_argument("results", type=Path, help="folder of results")
    parser.add_argument("--kinds", nargs="+", metavar="KIND", help="all by default")
    parser.add_argument(
        "--planned", action="store_true", help="the commands of all jobs come from standard input"
    )
    parser.add_argument(
        "--only-planned", action="store_true", help="the same; pass over all other files"
    )
    parser.add_argument("--seed", type=int, default=0, help="names the random choices")
    parser.add_argument(
        "--episodes", type=_number, default=20, help="of each artifact played again; 0 is all"
    )
    parser.add_argument("--remake", type=_number, default=0, help="artifacts made again, at random")
    parser.add_argument(
        "--remake-these", nargs="+", default=[], metavar="PATH", help="and these; `all` is all"
    )
    parser.add_argument("--against", type=Path, help="manifest from elsewhere to compare with")
    parser.add_argument("--manifest", type=Path, help="manifest to write if nothing is wrong")
    parser.add_argument(
        "--output", type=Path, help="table `audits` to write, and beside it a page for people"
    )
    return parser.parse_args(arguments)


def _number(text: str) -> int:
    """Read a whole number of at least 0.

    Raises:
        ArgumentTypeError: It is none.
    """
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not legal; legal is a whole number from 0")
    return int(text)


def _run(options: argparse.Namespace, lines: Iterable[str]) -> dict[str, Outcome]:
    """Audit.

    Raises:
        ValueError: There is nothing to audit, or no such kind.
    """
    if not options.results.is_dir():
        raise ValueError(f"{options.results} is no folder of results")
    kinds = options.kinds or registry.names("audits")
    modules: dict[str, Any] = {kind: registry.load("audits", kind) for kind in kinds}
    settings = Settings(
        seed=options.seed,
        episodes=options.episodes or None,
        remake=options.remake,
        chosen=tuple(options.remake_these),
        planned=dry_run.read(lines) if options.planned or options.only_planned else None,
        part=options.only_planned,
    )
    results = _results.read(options.results)
    if options.only_planned:
        results = results.only({job.mark for job in settings.planned or ()})
    if not results.records and not results.unreadable and not settings.planned:
        raise ValueError(f"{options.results} holds no record of any job")
    outcomes = {kind: _checked(kind, modules[kind], results, settings) for kind in kinds}
    if options.against:
        outcomes["manifest"] = _manifest.compare(results, options.against)
    outcomes = {kind: _legible(found) for kind, found in outcomes.items()}
    if options.manifest and not any(found.findings for found in outcomes.values()):
        _manifest.write(results, options.manifest)
    return outcomes


def _checked(kind: str, module: Any, results: Results, settings: Settings) -> Outcome:
    """Run one kind of audit; what it did not expect is a finding, and the other kinds go on.

    Raises:
        ValueError: Something was asked for that there is not.
    """
    try:
        return module.check(results, settings)
    except ValueError:
        raise
    except Exception as error:  # noqa: BLE001 - an audit reports, whatever it meets
        return Outcome(0, "of it all", [Finding("unreadable", HOME, line(error))])


def _legible(found: Outcome) -> Outcome:
    """Replace what would break a line or steer a terminal: names of files are a stranger's."""
    texts = [[*map(_line, one)] for one in found.findings]
    return found._replace(findings=[Finding(*some) for some in texts])


def _line(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin))
