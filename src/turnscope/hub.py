"""Files of a dataset on the Hugging Face hub, at a pinned revision and with the right content."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from turnscope.provenance import file_sha256

COMMIT = re.compile(r"[0-9a-f]{40}")


class File(NamedTuple):
    """A file of a revision."""

    path: str
    """Within the dataset."""
    size: int
    """Bytes."""
    sha256: str
    """What the hub says about its content."""


def files(
    dataset: str, revision: str, folders: Sequence[str], endpoint: str | None = None
) -> list[File]:
    """List the Parquet files below some folders of a dataset.

    Args:
        dataset: Owner and name.
        revision: A full commit hash; names of branches move.
        folders: Folders at the top.
        endpoint: Address of the hub; None is `HF_ENDPOINT` or the public one.

    Raises:
        ValueError: The revision is no commit hash, or a file has no checksum.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoFile

    if not COMMIT.fullmatch(revision):
        raise ValueError(f"revision is {revision!r}; legal is a commit hash of 40 hex digits")
    found = []
    for folder in folders:
        entries = HfApi(endpoint=endpoint).list_repo_tree(
            dataset, folder, revision=revision, repo_type="dataset"
        )
        for entry in entries:
            if not isinstance(entry, RepoFile) or not entry.path.endswith(".parquet"):
                continue
            if entry.lfs is None:
                raise ValueError(f"{entry.path} of {dataset} has no checksum; legal is an LFS file")
            found.append(File(entry.path, entry.lfs.size, entry.lfs.sha256))
    return sorted(found)


def fetch(
    dataset: str, revision: str, file: File, folder: Path, endpoint: str | None = None
) -> Path:
    """Download a file unless it is there, going on where an interrupted download ended.

    Args:
        dataset: Owner and name.
        revision: A full commit hash.
        file: One of `files`.
        folder: Where downloads are kept.
        endpoint: Address of the hub; None is `HF_ENDPOINT` or the public one.

    Returns:
        Where the file lies; its checksum is right.

    Raises:
        ValueError: The content is not what the hub says. It is removed.
    """
    path = folder / revision / file.path
    part = path.with_name(f"{path.name}.part")
    if path.is_file():
        _verify(path, file)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    _download(dataset, revision, file, part, endpoint)
    _verify(part, file)
    return part.replace(path)


def _download(dataset: str, revision: str, file: File, part: Path, endpoint: str | None) -> None:
    """Append what a partial file lacks."""
    from huggingface_hub import hf_hub_url
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import build_hf_headers

    url = hf_hub_url(dataset, file.path, repo_type="dataset", revision=revision, endpoint=endpoint)
    with part.open("ab") as target:
        if target.tell() < file.size:
            # The hub's own cache forgets a partial file when its process ends.
            http_get(
                url,
                target,
                resume_size=target.tell(),
                headers=build_hf_headers(),
                expected_size=file.size,
            )


def _verify(path: Path, file: File) -> None:
    """Remove and refuse a file whose content is not what the hub says."""
    digest = file_sha256(path)
    if digest != file.sha256:
        path.unlink()
        raise ValueError(
            f"{file.path} has sha256 {digest}, not the {file.sha256} of the hub; "
            "it was removed, so try again"
        )
