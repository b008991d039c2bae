"""Plug-ins by name: the file name is the name, and there is no list to edit."""

import importlib
from pathlib import Path
from types import ModuleType

KINDS = (
    "environments",
    "policies",
    "algorithms",
    "metrics",
    "claims",
    "figures",
    "summaries",
    "audits",
)


def names(kind: str) -> list[str]:
    """List the plug-ins of a kind without importing any.

    Args:
        kind: One of `KINDS`.

    Returns:
        Names, sorted: modules and packages of that folder that do not start with `_`.

    Raises:
        ValueError: There is no such kind.
    """
    if kind not in KINDS:
        raise ValueError(f"unknown kind of plug-in {kind!r}; known: {', '.join(KINDS)}")
    folder = Path(__file__).parent / kind
    modules = {path.stem for path in folder.glob("*.py")}
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    return sorted(name for name in modules | packages if not name.startswith("_"))


def source(kind: str, name: str) -> Path:
    """Return the file of one of `names(kind)`; of a package, its `__init__.py`."""
    path = Path(__file__).parent / kind / name
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def load(kind: str, name: str) -> ModuleType:
    """Import one plug-in.

    Args:
        kind: One of `KINDS`.
        name: One of `names(kind)`.

    Returns:
        The module.

    Raises:
        ValueError: There is no such plug-in.
    """
    if name not in names(kind):
        raise ValueError(f"unknown {kind} {name!r}; known: {', '.join(names(kind))}")
    return importlib.import_module(f"turnscope.{kind}.{name}")
