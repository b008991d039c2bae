"""Write an archive."""

import io
import json
import os
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from turnscope import atomic
from turnscope.archive import crate
from turnscope.archive.members import (
    CRATE,
    FOLDER,
    MANIFEST,
    NOTE,
    SCHEMA,
    STUDY,
    File,
    artifacts,
    inside,
    is_result,
    manifest,
    safe,
    sha256,
    text,
)

CODE = ("src", "workflow", "envs")
"""Where a file that git does not know may decide what comes out."""


class Code(NamedTuple):
    """The code as it is in the working tree: what git tracks of it."""

    files: list[File]
    links: dict[str, str]
    """Symbolic links, each with where it leads."""
    commit: str
    changed: list[str]
    """Names of what differs from the commit."""

    @property
    def note(self) -> dict[str, Any]:
        """What an archive says of it."""
        told = {"commit": self.commit, "changed": self.changed, "links": self.links}
        return {"schema": SCHEMA, **told}


def pack(marks: Iterable[Path], study: Path, root: Path, output: Path) -> str:
    """Write the archive of a study; equal content gives equal bytes.

    Args:
        marks: Records of its jobs, `provenance.json` and the like, checked before.
        study: Its config, merged and checked, as JSON.
        root: The repository.
        output: The archive.

    Returns:
        The SHA-256 of its manifest, which stands for all that it holds.

    Raises:
        ValueError: The code is in no git repository, or git does not know part of it; or a file
            changes while it is packed.
    """
    found = code(root)
    marks = sorted(marks)
    files = [
        *found.files,
        *artifacts(marks),
        File(STUDY, text(json.loads(study.read_text()))),
        File(NOTE, text(found.note)),
    ]
    sums = {file.name: sha256(file) for file in files}
    if len(sums) != len(files):
        raise ValueError("two files of the archive have one name")
    described = File(CRATE, text(crate.describe(marks, files, sums, found.commit)))
    sums[CRATE] = sha256(described)
    listed = File(MANIFEST, manifest(sums))
    members = [listed, *sorted([*files, described])]
    with atomic.replacing(output) as draft:
        _write(members, found.links, sums, draft)
    return sha256(listed)


def code(root: Path) -> Code:
    """Gather what git tracks, with the content that it has in the working tree.

    Raises:
        ValueError: There is no repository, or git does not know a file that may be code.
    """
    unknown = _git(root, "ls-files", "--others", "--exclude-standard", "--", *CODE)
    if unknown:
        raise ValueError(f"git does not know {unknown[0]}, so the archive would lack it; add it")
    files, links = [], {}
    for line in _git(root, "ls-files", "--stage"):
        mode, _, name = line.split(" ", 1)[0], *line.split("\t", 1)
        path = root / safe(name)
        if path.is_symlink():
            links[name] = os.readlink(path)
            if not inside(name, links[name]):
                raise ValueError(f"the link {name} leads to {links[name]}, out of the repository")
        elif path.is_file() and not is_result(name):
            files.append(File(name, path, runs=mode == "100755"))
    commit = "".join(_git(root, "rev-parse", "HEAD")).strip()
    return Code(files, links, commit, _git(root, "diff", "--name-only", "HEAD"))


def _git(root: Path, *arguments: str) -> list[str]:
    """Ask git for names."""
    ends = () if arguments[0] == "rev-parse" else ("-z",)
    command = ["git", "-C", str(root), arguments[0], *ends, *arguments[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{root}: an archive holds what git tracks, but {done.stderr.strip()}")
    return [name for name in done.stdout.split("\0") if name]


def _write(files: list[File], links: dict[str, str], sums: dict[str, str], to: Path) -> None:
    """Write members in the given order, then links, without dates and owners."""
    with tarfile.open(to, "w:", format=tarfile.PAX_FORMAT) as tar:
        for file in files:
            member = tarfile.TarInfo(f"{FOLDER}/{file.name}")
            member.size = file.size
            member.mode = 0o755 if file.runs else 0o644
            with _opened(file) as content:
                tar.addfile(member, content)
            if file.name in sums and sha256(file) != sums[file.name]:
                raise ValueError(f"{file.name} changed while it was packed")
        for name in sorted(links):
            member = tarfile.TarInfo(f"{FOLDER}/{name}")
            member.type, member.linkname, member.mode = tarfile.SYMTYPE, links[name], 0o777
            tar.addfile(member)


def _opened(file: File) -> io.BufferedIOBase:
    return io.BytesIO(file.source) if isinstance(file.source, bytes) else file.source.open("rb")
