"""Keep what a study made in a cache, and put in place what a cache has of a study.

All commands want the folder of the cache, by `--cache` or in TURNSCOPE_ARTIFACTS, and are run in
the folder of the study, where `results/` is. `workflow/cached.py` does all around a run::

    snakemake all --forceall --dry-run --printshellcmds | python -m turnscope.cache restore
    python -m turnscope.cache store results
    python -m turnscope.cache prune 200G

If `restore` put anything in place, it prints the last records of all that is there by now, a line
each: `--touch --forceall` up to these tells Snakemake of all. What there is to say goes to standard
error.
"""

import argparse
import collections
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from turnscope import records
from turnscope.cache import lookup, shelf

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def main(arguments: list[str], lines: Iterable[str]) -> int:
    """Do what is asked; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m turnscope.cache", description=__doc__)
    parser.add_argument("--cache", type=Path, default=os.environ.get("TURNSCOPE_ARTIFACTS"))
    commands = parser.add_subparsers(dest="command", required=True)
    storing = commands.add_parser("store", help="keep what jobs made")
    storing.add_argument("results", type=Path, help="folder of the artifacts")
    commands.add_parser("restore", help="put in place what the cache has; reads a dry run")
    pruning = commands.add_parser("prune", help="take away what was longest unused")
    pruning.add_argument("most", type=amount, help="what may remain, such as 200G")
    options = parser.parse_args(arguments)
    if not options.cache:
        parser.error("no cache; give --cache FOLDER, or set TURNSCOPE_ARTIFACTS")
    cache = Path(options.cache)
    if options.command == "store":
        return _store(cache, options.results)
    if options.command == "restore":
        return _restore(cache, lines)
    gone = list(shelf.prune(cache, options.most))
    _say(f"cache: {len(gone)} jobs taken away, {sum(one.size for one in gone)} bytes")
    return 0


def amount(text: str) -> int:
    """Read a number of bytes, such as 200G.

    Raises:
        ValueError: It is none.
    """
    match = re.fullmatch(r"([0-9]+)([KMGT]?)", text)
    if match is None:
        raise ValueError(f"{text!r} is no size; legal is a whole number, or one with K, M, G or T")
    return int(match[1]) * UNITS[match[2]]


def _store(cache: Path, results: Path) -> int:
    """Keep all finished jobs of a study; what is not as its record says is named."""
    marks = [*records.marks(results)]
    read = {one["path"] for mark in marks for one in shelf.record(mark).get("inputs", [])}
    new = wrong = 0
    for mark in marks:
        try:
            new += shelf.put(cache, mark, read)
        except (OSError, ValueError, KeyError) as error:
            wrong += 1
            _say(f"cache: not kept: {mark}: {error}")
    _say(f"cache: {new} of {len(marks)} jobs are new in {cache}")
    return int(wrong > 0)


def _restore(cache: Path, lines: Iterable[str]) -> int:
    """Put in place what the cache has of the jobs that the dry run plans."""
    results = list(lookup.restore(cache, lines))
    for result in results:
        if result.fate == "corrupt":
            _say(f"cache: the entry of {result.job.mark} is corrupt; it is not used")
    for mark in lookup.ends(results):
        print(mark.as_posix())  # noqa: T201 - the result of the command
    fates = collections.Counter(result.fate for result in results)
    said = ", ".join(f"{number} {fate}" for fate, number in sorted(fates.items()))
    _say(f"cache: {said or 'no job is planned'}")
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201 - a command


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin))
