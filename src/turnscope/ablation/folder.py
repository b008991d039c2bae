"""A folder in which part of a study is made again, and everything else is that of the study.

Artifacts are linked and not copied, so that it costs neither time nor space. A job that makes one
again has it removed first, or puts another in its place, so the study keeps its own.
"""

import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from turnscope import atomic, provenance, records

AGAIN = Path("results/again")
"""Where these folders are, in that of a study."""
KNOWN = (Path(".snakemake/metadata"), Path(".snakemake/incomplete"))
"""What the workflow engine knows of artifacts; without it, it would not see what changed."""
ASKED, CHANGES, DONE = "asked.json", "changes.yaml", "README.md"
"""What was asked for, an overlay of the config, and the comparison; the last is there once it is
done."""
LONGEST = 80
"""Most characters of a name."""


def choose(study: Path, asked: Mapping[str, Any]) -> Path:
    """Choose a folder: the one of an equal request that was not finished, or else a new one.

    Args:
        study: Folder of the study.
        asked: The request, as JSON; `what` and `set` name the folder.
    """
    text = "+".join(filter(None, [asked["what"], *asked["set"]])) or "changed"
    name = "".join(one if one.isalnum() or one in "._=+-" else "-" for one in text)[:LONGEST]
    number = 1
    while True:
        folder = study / AGAIN / (name if number == 1 else f"{name}-{number}")
        if not (folder / ASKED).exists():  # new, or it was not filled to the end
            return folder
        same = json.loads((folder / ASKED).read_text()) == asked
        if same and not (folder / DONE).exists():
            return folder
        number += 1


def prepare(
    study: Path,
    folder: Path,
    asked: Mapping[str, Any],
    changes: Mapping[str, Any],
    again: Collection[str],
) -> None:
    """Fill a folder unless that was done; the request is written last.

    Args:
        study: Folder of the study.
        folder: The new one, below it.
        asked: The request.
        changes: Overlay of the config.
        again: Records of artifacts that are left out, so that they are made again.
    """
    if (folder / ASKED).exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    for mark in [*marks(study)]:  # the new folder lies below
        name = mark.relative_to(study)
        if name.as_posix() not in again:
            for path in _files(study, name):
                _link(study / path, folder / path)
    for known in KNOWN:
        if (study / known).is_dir():
            shutil.copytree(study / known, folder / known)
    atomic.write_text(yaml.safe_dump(dict(changes)), folder / CHANGES)
    provenance.write_json(dict(asked), folder / ASKED)


def share(study: Path, folder: Path, models: Mapping[str, Any]) -> None:
    """Let models that lie in the folder of a study be found from another one."""
    for settings in models.values():
        path = Path(settings.get("path") or "")
        local = path.parts and not path.is_absolute() and (study / path).is_dir()
        if local and not (folder / path).exists():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).symlink_to((study / path).resolve())


def remove(folder: Path) -> None:
    """Remove a folder in which nothing was made; the study keeps its files."""
    shutil.rmtree(folder)


def marks(study: Path) -> Iterator[Path]:
    """Yield the records of all artifacts of a study, but not those of studies below it."""
    if (study / records.HOME).is_dir():
        yield from records.marks(study / records.HOME)


def record(mark: Path) -> dict[str, Any]:
    """Read the record of an artifact.

    Raises:
        ValueError: It is damaged.
    """
    found = records.read(mark)
    if found is None:
        raise ValueError(f"{mark}: not a readable record; remove it, and the study makes it again")
    return found


def _files(study: Path, mark: Path) -> list[Path]:
    """List the files of an artifact, from its record; some may be lost."""
    named = [Path(entry["path"]) for entry in record(study / mark)["outputs"]]
    return [path for path in [*named, mark, records.diary(mark)] if (study / path).is_file()]


def _link(source: Path, target: Path) -> None:
    """Link a file, or copy it where files cannot be linked; its date stays."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
