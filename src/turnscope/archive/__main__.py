"""Pack a study into one file, and unpack such a file; `make archive` and `make restore` do both.

`pack` reads the commands of all jobs from standard input, among other lines, and refuses what is
missing or stale::

    snakemake all --forceall --dry-run --printshellcmds \
        | python -m turnscope.archive pack --study CONFIG.json OUTPUT.tar
    python -m turnscope.archive unpack ARCHIVE.tar NEW_FOLDER
    python -m turnscope.archive place NEW_FOLDER FOLDER_OF_THE_STUDY
"""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from turnscope import dry_run, provenance
from turnscope.archive import pack, unpack
from turnscope.audits import _restored
from turnscope.records import HOME

ROOT = provenance.PACKAGE.parent.parent
"""The repository."""


def main(arguments: list[str], lines: Iterable[str]) -> int:
    """Do what is asked; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m turnscope.archive", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack", help="write an archive")
    packing.add_argument("--study", type=Path, required=True, help="the config, as JSON")
    packing.add_argument("output", type=Path)
    unpacking = commands.add_parser("unpack", help="check an archive, and unpack its results")
    unpacking.add_argument("archive", type=Path)
    unpacking.add_argument("folder", type=Path, help="a new folder")
    placing = commands.add_parser("place", help="move unpacked results in place")
    placing.add_argument("staged", type=Path, help="a folder of `unpack`")
    placing.add_argument("into", type=Path, help="folder of the study")
    options = parser.parse_args(arguments)
    try:
        _say({"pack": _pack, "unpack": _unpack, "place": _place}[options.command](options, lines))
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - a command
        return 1
    return 0


def _pack(options: argparse.Namespace, lines: Iterable[str]) -> list[str]:
    jobs = dry_run.read(lines)
    if problems := _restored.problems(Path(HOME), jobs):
        raise ValueError("the study is not complete\n" + "\n".join(problems))
    marks = [Path(job.mark) for job in jobs if Path(job.mark).is_file()]
    manifest = pack.pack(marks, options.study, ROOT, options.output)
    changed = pack.code(ROOT).changed
    return [
        f"archive: {options.output.resolve()}, {options.output.stat().st_size / 1e6:.1f} MB",
        f"SHA-256 of its manifest, which stands for all of it: {manifest}",
        *(f"note: {name} differs from the commit; it is packed as it is" for name in changed),
    ]


def _unpack(options: argparse.Namespace, lines: Iterable[str]) -> list[str]:
    note = unpack.unpack(options.archive, options.folder)
    changed = f", with changes of {', '.join(note['changed'])}" if note["changed"] else ""
    return [f"unpacked and checked; made with commit {note['commit']}{changed}"]


def _place(options: argparse.Namespace, lines: Iterable[str]) -> list[str]:
    return [f"{unpack.place(options.staged, options.into)} files were put in place"]


def _say(lines: Iterable[str]) -> None:
    print("\n".join(lines))  # noqa: T201 - a command


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin))
