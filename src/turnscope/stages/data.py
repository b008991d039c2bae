"""Fetch what the tasks of an environment need from elsewhere, once.

spec: `env`, `tasks` (options of the environment's `tasks`). outputs: `files`, checksums of what was
fetched; the files themselves lie in the cache, see `turnscope.wheels.cache`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from turnscope import hub, provenance, registry
from turnscope.stages import _job


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Get everything, and write name -> file -> checksum."""
    world = registry.load("environments", spec["env"])
    with hub.online():
        found = {name: get() for name, get in world.downloads(**spec["tasks"]).items()}
    sums = {
        name: {
            label: provenance.file_sha256(path) for place in places for label, path in _files(place)
        }
        for name, places in found.items()
    }
    provenance.write_json(sums, outputs["files"])


def _files(place: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a folder, or a file itself, with what each is called."""
    if place.is_file():
        yield place.name, place
        return
    for path in sorted(place.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            yield path.relative_to(place).as_posix(), path


if __name__ == "__main__":
    _job.main(run)
