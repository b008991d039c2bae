"""The records beside artifacts, which may be lost or damaged."""

import json
from pathlib import Path
from typing import Any

MAPPINGS, LISTS = ("spec", "modules"), ("inputs", "outputs")


def read(mark: Path) -> dict[str, Any] | None:
    """Read the record of an artifact, see `turnscope.provenance.record`.

    Args:
        mark: `provenance.json`, or `NAME.provenance.json`.

    Returns:
        The record; None if there is none, or if it is damaged.
    """
    try:
        found = json.loads(mark.read_text())
    except (OSError, ValueError):
        return None
    return found if _whole(found) else None


def _whole(found: Any) -> bool:
    """Tell whether all is there that is read of a record."""
    return (
        isinstance(found, dict)
        and isinstance(found.get("stage"), str)
        and all(isinstance(found.get(name), dict) for name in MAPPINGS)
        and all(isinstance(found.get(name), list) for name in LISTS)
        and all(
            isinstance(entry, dict)
            and isinstance(entry.get("path"), str)
            and isinstance(entry.get("sha256"), str)
            for name in LISTS
            for entry in found[name]
        )
    )
