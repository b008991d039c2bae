"""Differences between what an artifact was made from and what it would be made from now."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from turnscope import provenance

ABSENT = "absent"
"""Stands for the value of a key that is not there."""
WIDTH = 40
"""Most characters of a value."""
SHOWN = 3
"""Most differences that are named."""


def specification(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Name the values that differ, each as `path old -> new`.

    Args:
        then: Specification of an artifact, as its record holds it.
        now: Specification of the job that would make it.
    """
    old, new = flat(then), flat(now)
    return [
        f"{path} {_value(old, path)} -> {_value(new, path)}"
        for path in dict.fromkeys([*new, *old])
        if path not in old or path not in new or _differ(old[path], new[path])
        # What was empty and no longer is, is told by what is in it.
        if not _filled(path, old, new) and not _filled(path, new, old)
    ]


def _differ(old: Any, new: Any) -> bool:
    """Compare as the workflow does, by the text: 1 is neither 1.0 nor true."""
    return provenance.canonical(old) != provenance.canonical(new)


def _filled(path: str, empty: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return empty.get(path) == {} and any(name.startswith(f"{path}.") for name in other)


def flat(section: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Name each value of nested mappings by its path; lists and empty mappings are values."""
    values: dict[str, Any] = {}
    for key, value in section.items():
        if isinstance(value, Mapping) and value:
            values |= flat(value, f"{prefix}{key}.")
        else:
            values[prefix + key] = value
    return values


def _value(values: Mapping[str, Any], path: str) -> str:
    if path not in values:
        return ABSENT
    text = json.dumps(values[path], ensure_ascii=False).strip('"')
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 3]}..."


def code(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Name the modules and packages that differ: a file of ours, or a version of others.

    Args:
        then: Modules behind an artifact, see `turnscope.provenance.modules`.
        now: Those of the job that would make it.
    """
    differ = [name for name in sorted({*then, *now}) if then.get(name) != now.get(name)]
    ours = [name for name in differ if name.split(".")[0] == provenance.PACKAGE.name]
    return [
        *(_module(name, then, now) for name in ours),
        *(
            f"{name} {then.get(name, ABSENT)} -> {now.get(name, ABSENT)}"
            for name in differ
            if name not in ours
        ),
    ]


def _module(name: str, then: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Write a module as the file that a reader edited."""
    stem = name.replace(".", "/")
    package = (provenance.PACKAGE.parent / stem).is_dir()
    path = f"{stem}/__init__.py" if package else f"{stem}.py"
    if name not in then:
        return f"{path} (new)"
    return path if name in now else f"{path} (gone)"


def inputs(then: Iterable[Path], now: Iterable[Path]) -> list[str]:
    """Name the files that are read now and were not, and the other way round."""
    old, new = set(then), set(now)
    return [
        *(f"{path} (new)" for path in sorted(new - old)),
        *(f"{path} (gone)" for path in sorted(old - new)),
    ]


def listed(found: list[str], most: int = SHOWN) -> str:
    """Write some of a list, and how many more there are."""
    rest = len(found) - most
    return ", ".join(found[:most]) + (f" and {rest:,} more" if rest > 0 else "")
