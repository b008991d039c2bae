"""Files of the Hugging Face hub, at a pinned revision and with the right content.

What a revision holds never changes. So what was listed once is kept beside the files, and what is
there needs no network: in a folder of ours, or in the cache of the hub's own client.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from turnscope import atomic, wheels
from turnscope.provenance import file_sha256, write_json

COMMIT = re.compile(r"[0-9a-f]{40}")
NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
"""Owner and name of a repository."""
LISTING = ".files.json"
"""What the hub said a revision holds."""


class Repository(NamedTuple):
    """A repository at one commit."""

    name: str
    """Owner and name."""
    revision: str
    """A full commit hash; names of branches move."""
    kind: str = "dataset"
    """Or `model`."""
    endpoint: str | None = None
    """Address of the hub; None is `HF_ENDPOINT` or the public one."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}, revision {self.revision}"

    @property
    def folder(self) -> str:
        """Return how the hub's client calls the folder of the repository."""
        return f"{self.kind}s--{self.name.replace('/', '--')}"


class File(NamedTuple):
    """A file of a revision."""

    path: str
    """Within the repository."""
    size: int
    """Bytes."""
    sha256: str | None
    """Of its content; None for small files, which git itself keeps."""
    blob: str | None
    """What git calls a small file, by its content."""


def files(repository: Repository, folders: Sequence[str] = ("",)) -> list[File]:
    """List the files in some folders of a repository, as the hub tells them.

    Args:
        repository: What to list.
        folders: Folders; folders in them are left out.

    Raises:
        ValueError: The revision is no commit hash.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoFile

    name, revision, kind, endpoint = repository
    if not COMMIT.fullmatch(revision):
        raise ValueError(f"revision is {revision!r}; legal is a commit hash of 40 hex digits")
    found = []
    for folder in folders:
        api = HfApi(endpoint=endpoint)
        for entry in api.list_repo_tree(name, folder or None, revision=revision, repo_type=kind):
            if isinstance(entry, RepoFile) and entry.lfs is not None:
                found.append(File(entry.path, entry.lfs.size, entry.lfs.sha256, None))
            elif isinstance(entry, RepoFile):
                found.append(File(entry.path, entry.size, None, entry.blob_id))
    return sorted(found)


def fetch(repository: Repository, file: File, folder: Path) -> Path:
    """Download a file unless it is there, going on where an interrupted download ended.

    Several jobs may ask at once: one downloads, the others wait.

    Args:
        repository: Where it is.
        file: One of `files`.
        folder: Where downloads are kept.

    Returns:
        Where the file lies; its checksum is right.

    Raises:
        ValueError: The content is not what the hub says. It is removed.
    """
    path = folder / repository.revision / file.path
    part = path.with_name(f"{path.name}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    while not path.is_file():
        with part.open("ab") as target:
            _lock(target)
            if not path.is_file() and _is(part, target):
                _download(repository, file, target)
                _verify(part, file)
                atomic.settle(part)
                return part.replace(path)
    part.unlink(missing_ok=True)  # whoever waited may have made it anew
    _verify(path, file)
    return path


def collect(
    repository: Repository,
    wanted: Callable[[str], bool],
    folders: Sequence[str] = ("",),
    kept: Path | None = None,
) -> dict[str, Path]:
    """Gather files of a revision, from where they are or else from the hub.

    Args:
        repository: Where they are.
        wanted: Whether a file is, by its path within the repository.
        folders: Folders to look in.
        kept: Where downloads are kept; None is `place(repository)`.

    Returns:
        Path within the repository -> where the file lies; all checksums are right.

    Raises:
        ValueError: The revision is no commit hash, or the content of a file is not what it must be.
        RuntimeError: Something is neither here nor to be had; says what, and what to do.
    """
    into, found = kept or place(repository), {}
    with explained(repository, into):
        for file in sorted(listed(repository, folders, into)):
            if not wanted(file.path):
                continue
            path = _snapshot(repository) / file.path
            if path.is_file() and not (into / repository.revision / file.path).is_file():
                _verify(path, file, remove=False)
                found[file.path] = path
            else:
                found[file.path] = fetch(repository, file, into)
    return found


def place(repository: Repository) -> Path:
    """Return where downloads of a repository are kept, see `wheels.cache`."""
    return wheels.cache() / "hub" / repository.folder


@contextlib.contextmanager
def explained(repository: Repository, kept: Path | None = None) -> Iterator[None]:
    """Say in one line what is missing, where it was looked for, and how to get it there.

    Args:
        repository: What is asked for.
        kept: Where downloads are kept; None is `place(repository)`.

    Raises:
        RuntimeError: The hub was asked, and did not answer as it should.
    """
    import httpx  # it comes with huggingface_hub

    try:
        yield
    except (httpx.HTTPError, ConnectionError) as fault:
        ours, own = (kept or place(repository)) / repository.revision, _snapshot(repository)
        why = " ".join(str(fault).split()) or "no answer"
        flag = "--repo-type dataset " if repository.kind == "dataset" else ""
        raise RuntimeError(
            f"{repository}, is neither in {ours} nor in {own}, and the hub did not give it "
            f"({type(fault).__name__}: {why}); run this job where there is a network, or "
            f"`hf download {flag}{repository.name} --revision {repository.revision}`, and bring "
            f"{own.parent.parent} here"
        ) from fault


@contextlib.contextmanager
def online() -> Iterator[None]:
    """Let this process use the hub for a while, which jobs otherwise do not."""
    from huggingface_hub import constants

    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, False
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def listed(repository: Repository, folders: Sequence[str], into: Path) -> list[File]:
    """Say what a revision holds: as was told before, or by the hub, or by its client's cache.

    Args:
        repository: What to list.
        folders: Folders; folders in them are left out.
        into: Where downloads are kept, and what was told.
    """
    import httpx  # it comes with huggingface_hub

    kept = into / repository.revision / LISTING
    told: dict[str, Any] = json.loads(kept.read_text()) if kept.is_file() else {}
    if missing := [folder for folder in folders if folder not in told]:
        try:
            told |= {folder: files(repository, [folder]) for folder in missing}
        except (httpx.HTTPError, ConnectionError):
            if cached := _in_cache(_snapshot(repository), folders):
                return cached
            raise
        write_json(told, kept)
    return [File(*entry) for folder in folders for entry in told[folder]]


def _in_cache(own: Path, folders: Sequence[str]) -> list[File]:
    """List files that the hub's client downloaded; each is a link to a blob that bears its hash."""
    found = []
    for path in sorted(one for folder in folders for one in (own / folder).glob("*")):
        blob = path.resolve().name
        if path.is_file() and re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", blob):
            hashes = (blob, None) if len(blob) == 64 else (None, blob)
            found.append(File(path.relative_to(own).as_posix(), path.stat().st_size, *hashes))
    return found


def _snapshot(repository: Repository) -> Path:
    """Return where the hub's client keeps a revision."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE) / repository.folder / "snapshots" / repository.revision


def _lock(target: BinaryIO) -> None:
    """Wait until no other job writes to a file.

    Some network file systems cannot lock; who spoils a file there is told by its checksum.
    """
    with contextlib.suppress(OSError):
        fcntl.flock(target, fcntl.LOCK_EX)


def _is(path: Path, target: BinaryIO) -> bool:
    """Tell whether an open file is still the one of that name: while waiting, it may be gone."""
    try:
        return os.path.samestat(path.stat(), os.fstat(target.fileno()))
    except FileNotFoundError:
        return False


def _download(repository: Repository, file: File, target: BinaryIO) -> None:
    """Append what a partial file lacks."""
    from huggingface_hub import hf_hub_url
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import build_hf_headers

    name, revision, kind, endpoint = repository
    url = hf_hub_url(name, file.path, repo_type=kind, revision=revision, endpoint=endpoint)
    target.seek(0, os.SEEK_END)  # who held the lock before may have written
    if target.tell() < file.size:
        # The hub's own cache forgets a partial file when its process ends.
        http_get(
            url,
            target,
            resume_size=target.tell(),
            headers=build_hf_headers(),
            expected_size=file.size,
        )
    target.flush()


def _verify(path: Path, file: File, remove: bool = True) -> None:
    """Refuse a file whose content is not what the hub says, and remove it if it is ours."""
    if file.sha256:
        kind, right, digest = "sha256", file.sha256, file_sha256(path)
    else:
        kind, right, digest = "git id", file.blob, _git_id(path)
    if digest != right:
        if remove:
            path.unlink()
        done = "it was removed, so try again" if remove else f"remove {path.resolve()}"
        raise ValueError(f"{file.path} has {kind} {digest}, not the {right} of the hub; {done}")


def _git_id(path: Path) -> str:
    """Return what git calls a file, by its content."""
    data = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
