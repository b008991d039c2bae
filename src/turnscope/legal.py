"""Refuses options in one line: the name, the value, and what is legal."""

from collections.abc import Collection


def one_of(name: str, value: str, known: Collection[str]) -> None:
    """Refuse a value that is none of those that are known.

    Raises:
        ValueError: It is none.
    """
    if value not in known:
        raise ValueError(f"unknown {name} {value!r}; known: {', '.join(known)}")


def at_least(name: str, value: float, least: float) -> None:
    """Refuse a value that is too small, or no number.

    Raises:
        ValueError: It is.
    """
    if not value >= least:
        raise ValueError(f"{name} is {value}; legal is {least} or more")
