"""A MySQL dump as one SQLite script for each of its databases.

A script holds tables, their keys and their rows. Types keep their names, of which SQLite takes only
the affinity. Collations, indexes that are no constraint, and versioned comments are left out.
"""

import re
from collections.abc import Iterator, Sequence

TOKEN = re.compile(
    r"""
    (?P<comment> --(?=\s|$)[^\n]* | \#[^\n]* | /\*.*?\*/ )
    | (?P<text> '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" )
    | (?P<name> `(?:[^`]|``)*` )
    | (?P<blank> \s+ )
    | (?P<number> -?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w$]) )
    | (?P<word> [\w$@.]+ )
    | (?P<sign> [^\s'"`] )
    """,
    re.VERBOSE | re.DOTALL,
)
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
KEPT = {"%": "\\%", "_": "\\_"}
"""Escapes of patterns, that keep their backslash in a text."""
IGNORED = {
    "ALTER", "COMMIT", "CREATE USER", "DROP", "FLUSH", "GRANT", "LOCK", "SET", "START", "UNLOCK",
}  # fmt: skip
SWITCHES = {"CREATE DATABASE", "CREATE SCHEMA", "USE"}
KEYS = {"KEY", "INDEX", "FULLTEXT", "SPATIAL"}
"""First words of a part of a table that is only an index."""
SPACED = {"KEY", "VALUES"}
"""Words that a blank sets off from a parenthesis."""


def scripts(text: str) -> dict[str, str]:
    """Convert a dump.

    Args:
        text: As `mysqldump` writes it, with `CREATE DATABASE` or `USE` before the tables.

    Returns:
        Name of each database, in order, and a script that makes it.

    Raises:
        ValueError: Names a statement that is none of a dump of tables and rows.
    """
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for statement in _statements(text):
        first = statement[0].upper()
        kind = f"{first} {statement[1].upper()}" if first == "CREATE" else first
        if kind in SWITCHES:
            name = next((token for token in statement[1:] if token.startswith("`")), None)
            if name is None:
                raise ValueError(f"{_shown(statement)} has no name in backquotes, as dumps have it")
            current = found.setdefault(_bare(name), [])
        elif kind in ("CREATE TABLE", "INSERT"):
            if current is None:
                raise ValueError(f"{_shown(statement)} belongs to no database; legal is after USE")
            try:
                current.append(_table(statement) if kind == "CREATE TABLE" else _insert(statement))
            except (IndexError, ValueError) as error:
                raise ValueError(f"{_shown(statement)} has another form than in a dump") from error
        elif kind not in IGNORED:
            raise ValueError(f"{_shown(statement)} is no part of a dump of tables and rows")
    return {name: "\n".join(lines) for name, lines in found.items()}


def _statements(text: str) -> Iterator[list[str]]:
    """Split a dump into statements, and these into tokens."""
    tokens: list[str] = []
    place = 0
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise ValueError(f"quote at character {place} of the dump has no end")
        place = match.end()
        if match.lastgroup in ("comment", "blank"):
            continue
        if match[0] != ";":
            tokens.append(match[0])
        elif tokens:
            yield tokens
            tokens = []
    if tokens:
        raise ValueError(f"{_shown(tokens)} has no end; legal is a semicolon after it")


def _shown(tokens: Sequence[str]) -> str:
    return repr(" ".join(tokens[:4]))


def _bare(name: str) -> str:
    return name[1:-1].replace("``", "`")


def _table(tokens: Sequence[str]) -> str:
    """Write `CREATE TABLE` with what SQLite knows."""
    opening = tokens.index("(")
    parts: list[list[str]] = [[]]
    depth = 0
    for token in tokens[opening + 1 :]:
        if token == "," and depth == 0:
            parts.append([])
            continue
        depth += (token == "(") - (token == ")")
        if depth < 0:  # the table's own parenthesis; its engine follows
            break
        parts[-1].append(token)
    lines = [_column(part) if part[0].startswith("`") else _key(part) for part in parts]
    listed = ",\n  ".join(line for line in lines if line)
    return f"CREATE TABLE {tokens[opening - 1]} (\n  {listed}\n);"


def _column(tokens: Sequence[str]) -> str:
    """Write a column; what MySQL counts up is said beside its type, where SQLite takes any word."""
    kept: list[str] = []
    skip = 0
    for place, token in enumerate(tokens):
        word = token.upper()
        if skip:
            skip -= 1
        elif word == "COLLATE" or word == "COMMENT":
            skip = 1
        elif word == "CHARACTER" and tokens[place + 1].upper() == "SET":
            skip = 2
        elif word != "AUTO_INCREMENT":
            kept.append(_value(token))
    if "AUTO_INCREMENT" in map(str.upper, tokens):
        kept.insert(2, "AUTO_INCREMENT")
    return _joined(kept)


def _key(tokens: Sequence[str]) -> str:
    """Write a constraint; nothing for an index, which changes no result."""
    first = tokens[0].upper()
    if first in KEYS:
        return ""
    if first == "UNIQUE":
        named = [token for token in tokens[1 : tokens.index("(")] if token.startswith("`")]
        start = f"CONSTRAINT {named[0]} UNIQUE" if named else "UNIQUE"
        return f"{start} {_columns(tokens[tokens.index('(') :])}"
    if first == "PRIMARY":
        return f"PRIMARY KEY {_columns(tokens[tokens.index('(') :])}"
    return _joined(tokens)


def _columns(tokens: Sequence[str]) -> str:
    """Write a list of columns without the lengths of prefixes."""
    return f"({', '.join(token for token in tokens if token.startswith('`'))})"


def _insert(tokens: Sequence[str]) -> str:
    values: list[str] = []
    binary = False
    for token in tokens:
        if token.lower() == "_binary":
            binary = True
            continue
        values.append(_value(token, binary=binary))
        binary = False
    return f"{_joined(values)};"


def _value(token: str, *, binary: bool = False) -> str:
    """Write a literal as SQLite reads it; any other token stays."""
    if token[0] in "'\"":
        inner = token[1:-1].replace(token[0] * 2, token[0])
        text = ESCAPE.sub(lambda match: KEPT.get(match[1], ESCAPED.get(match[1], match[1])), inner)
        if binary:
            return f"X'{text.encode('utf-8').hex()}'"
        if "\0" in text:  # a script ends there
            return f"CAST(X'{text.encode('utf-8').hex()}' AS TEXT)"
        return "'{}'".format(text.replace("'", "''"))
    if token[:2] in ("0x", "0X"):
        return f"X'{token[2:]}'"
    return token


def _joined(tokens: Sequence[str]) -> str:
    """Join tokens with blanks, but none inside of parentheses, before a comma, or in a type."""
    line, last = "", "("
    for token in tokens:
        opens = token == "(" and last.isidentifier() and last.upper() not in SPACED
        line += token if opens or last == "(" or token in ")," else f" {token}"
        last = token
    return line
