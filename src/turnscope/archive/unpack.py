"""Check an archive that anybody may have written, and put its results in place."""

import hashlib
import json
import shutil
import tarfile
from pathlib import Path
from typing import IO, Any

from turnscope import atomic, provenance
from turnscope.archive.members import (
    FOLDER,
    MANIFEST,
    NOTE,
    SCHEMA,
    checksums,
    inside,
    is_result,
    safe,
)
from turnscope.records import DIARY, HOME, MARK

LONGEST = 1 << 26
"""Bytes that a manifest or a note has at most."""
CHUNK = 1 << 20
"""Bytes that are read at a time."""


def unpack(archive: Path, folder: Path) -> dict[str, Any]:
    """Check all of an archive and unpack its results.

    Args:
        archive: The file.
        folder: Is made, and holds `results/` afterwards; it is removed if anything is wrong.

    Returns:
        What the archive says of itself: `commit`, `changed` and `links`.

    Raises:
        ValueError: It is no archive, a file is not what the manifest says, or a member has no
            business in an archive: a name that leads out of it, a link to elsewhere, a device.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir()
    except FileExistsError:
        raise ValueError(
            f"{folder} is there: another archive is being restored, or that was interrupted; "
            "if nobody is at work, remove it"
        ) from None
    try:
        with tarfile.open(archive, "r:") as tar:
            return _unpack(tar, folder)
    except (OSError, tarfile.TarError, ValueError) as error:
        shutil.rmtree(folder)
        if isinstance(error, FileNotFoundError):
            raise ValueError(f"there is no archive {archive}") from error
        cut = "no whole archive of a study: " if isinstance(error, tarfile.TarError) else ""
        raise ValueError(f"{archive}: {cut}{error}") from error


def place(staged: Path, into: Path) -> int:
    """Move unpacked results to where they belong, all of them or none.

    Args:
        staged: A folder that `unpack` made.
        into: Folder of a study, on the same file system.

    Returns:
        How many were not there yet.

    Raises:
        ValueError: Files with other content are there; they are named, a line each.
    """
    names = [path.relative_to(staged) for path in sorted((staged / HOME).rglob("*"))]
    files = [name for name in names if (staged / name).is_file()]
    new = [name for name in files if not _is_there(into / name)]
    differing = [
        *(name for name in files if name not in set(new) and _differ(staged / name, into / name)),
        *(name for name in new if not all(map(_may_be_folder, _parents(into, name)))),
    ]
    if differing:
        lines = "\n".join(f"differs: {name} is there with other content" for name in differing)
        raise ValueError(f"nothing was restored; move away what is in its place\n{lines}")
    atomic.settle(staged / HOME)
    for name in sorted(new, key=_published):
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (staged / name).rename(into / name)
    return len(new)


def _published(name: Path) -> tuple[bool, bool, Path]:
    """Sort files: the mark of a job's folder comes first, the record last."""
    return name.name.endswith(MARK), not name.name.endswith(DIARY), name


def _unpack(tar: tarfile.TarFile, folder: Path) -> dict[str, Any]:
    first = tar.next()
    if first is None or first.name != f"{FOLDER}/{MANIFEST}":
        raise ValueError(f"it does not begin with {FOLDER}/{MANIFEST}, so it is no archive of ours")
    expected = checksums(_short(tar, first))
    note: dict[str, Any] = {}
    links: dict[str, str] = {}
    seen: set[str] = set()
    for member in iter(tar.next, None):
        name = safe(member.name.removeprefix(f"{FOLDER}/"))
        if not member.name.startswith(f"{FOLDER}/") or name in seen:
            raise ValueError(f"{member.name!r} is out of place in it, or there twice")
        seen.add(name)
        if member.issym() and not is_result(name) and inside(name, member.linkname):
            links[name] = member.linkname
            continue
        if not _is_plain(member):
            raise ValueError(f"{name} is a link to elsewhere, or no file at all")
        if name == NOTE:
            note = json.loads(_short(tar, member))
        if name not in expected:
            raise ValueError(f"{name} is not in its manifest")
        if (
            _copy(_content(tar, member), folder / name if is_result(name) else None)
            != expected[name]
        ):
            raise ValueError(f"{name} is not what its manifest says")
    if missing := sorted(expected.keys() - seen):
        raise ValueError(f"{missing[0]} is in its manifest, but not in it")
    if note.get("schema") != SCHEMA or note.get("links") != links:
        raise ValueError(f"{NOTE} is not of version {SCHEMA}, or does not know of the same links")
    return note


def _is_plain(member: tarfile.TarInfo) -> bool:
    """Tell files from all else; one with holes could be larger than the archive."""
    return member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and member.sparse is None


def _short(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """Read a small file."""
    if not _is_plain(member) or member.size > LONGEST:
        raise ValueError(f"{member.name} is no file of at most {LONGEST} bytes")
    return _content(tar, member).read()


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = tar.extractfile(member)
    assert content is not None, "a plain file has content"
    return content


def _copy(content: IO[bytes], to: Path | None) -> str:
    """Return the SHA-256 of a file, and write it to a path that is new, if there is one."""
    found = hashlib.sha256()
    if to is None:
        while chunk := content.read(CHUNK):
            found.update(chunk)
        return found.hexdigest()
    to.parent.mkdir(parents=True, exist_ok=True)
    with to.open("xb") as file:
        while chunk := content.read(CHUNK):
            found.update(chunk)
            file.write(chunk)
    return found.hexdigest()


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _differ(ours: Path, theirs: Path) -> bool:
    return not theirs.is_file() or provenance.file_sha256(ours) != provenance.file_sha256(theirs)


def _parents(into: Path, name: Path) -> list[Path]:
    return [into / parent for parent in name.parents]


def _may_be_folder(path: Path) -> bool:
    return path.is_dir() or not _is_there(path)
