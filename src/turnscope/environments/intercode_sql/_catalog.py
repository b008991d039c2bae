"""What a database holds, in the words of MySQL."""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from turnscope.environments.intercode_sql._functions import matcher
from turnscope.environments.intercode_sql._statements import Command
from turnscope.environments.intercode_sql.backends import Result

FIELDS = ("Field", "Type", "Null", "Key", "Default", "Extra")
FULL_FIELDS = (
    "Field", "Type", "Collation", "Null", "Key", "Default", "Extra", "Privileges", "Comment",
)  # fmt: skip
COUNTED = " auto_increment"
"""Stands beside the type of a column that MySQL counts up."""


class Table(NamedTuple):
    """A table as it is described."""

    name: str
    columns: tuple[tuple[Any, ...], ...]
    """Of each column `FIELDS`."""
    create: str
    """The statement that makes it."""


def tables(connection: sqlite3.Connection) -> dict[str, Table]:
    """Describe the tables of a connection.

    Returns:
        By name in lower case, sorted.
    """
    found = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%'"
        " ESCAPE '\\' ORDER BY lower(name)"
    ).fetchall()
    return {name.lower(): Table(name, _columns(connection, name), sql) for name, sql in found}


def _columns(connection: sqlite3.Connection, table: str) -> tuple[tuple[Any, ...], ...]:
    keys = _keys(connection, table)
    described = []
    for _, name, kind, strict, default, place in _pragma(connection, "table_info", table):
        base, counted, _ = kind.lower().partition(COUNTED)
        null = "NO" if strict or place else "YES"
        key = "PRI" if place else keys.get(name.lower(), "")
        extra = COUNTED.strip() if counted else ""
        described.append((name, base, null, key, _default(default), extra))
    return tuple(described)


def _keys(connection: sqlite3.Connection, table: str) -> dict[str, str]:
    """Say of columns in lower case whether they are unique, or may occur again under a key."""
    found: dict[str, str] = {}
    for _, place, _, column, *_ in _pragma(connection, "foreign_key_list", table):
        if place == 0:
            found[column.lower()] = "MUL"
    for _, index, unique, *_ in _pragma(connection, "index_list", table):
        names = [row[2] for row in _pragma(connection, "index_info", index)]
        if names[0] is not None:
            found[names[0].lower()] = "UNI" if unique and len(names) == 1 else "MUL"
    return found


def _pragma(connection: sqlite3.Connection, name: str, of: str) -> list[tuple[Any, ...]]:
    quoted = of.replace('"', '""')
    return connection.execute(f'PRAGMA {name}("{quoted}")').fetchall()


def _default(text: str | None) -> str | None:
    """Return the default that a literal stands for."""
    if text is None or text.upper() == "NULL":
        return None
    return text[1:-1].replace("''", "'") if text[0] == "'" else text


def databases(names: Sequence[str], like: str | None) -> Result:
    """Answer `SHOW DATABASES`."""
    head = "Database" if like is None else f"Database ({like})"
    return Result((head,), tuple((name,) for name in _chosen(names, like)))


def answer(asked: Command, database: str, known: dict[str, Table]) -> Result:
    """Answer any other question about a database.

    Args:
        asked: The question.
        database: Name of the database.
        known: Its tables, see `tables`.
    """
    if asked.kind == "tables":
        names = _chosen([table.name for table in known.values()], asked.like)
        head = f"Tables_in_{database}" + ("" if asked.like is None else f" ({asked.like})")
        if asked.full:
            return Result((head, "Table_type"), tuple((name, "BASE TABLE") for name in names))
        return Result((head,), tuple((name,) for name in names))
    table = known.get(str(asked.table).lower())
    if table is None:
        return Result(error=f"Table '{database}.{asked.table}' doesn't exist")
    if asked.kind == "create":
        return Result(("Table", "Create Table"), ((table.name, table.create),))
    names = set(_chosen([column[0] for column in table.columns], asked.like))
    rows = tuple(column for column in table.columns if column[0] in names)
    if asked.full:
        return Result(FULL_FIELDS, tuple(map(_full, rows)))
    return Result(FIELDS, rows)


def _full(column: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*column[:2], None, *column[2:], "select", "")


def _chosen(names: Sequence[str], like: str | None) -> Iterator[str]:
    """Keep the names that fit a pattern, whose escape is a backslash."""
    if like is None:
        return iter(names)
    return iter([name for name in names if matcher(like, "\\").fullmatch(name)])
