"""Statements about the catalogue, which SQLite lacks and MySQL has."""

import re
from typing import NamedTuple

NAME = r"""(?:`(?:[^`]|``)+`|"[^"]+"|[\w$]+)"""
LIKE = r"""(?:\s+LIKE\s+(?P<like>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"))?"""
TABLE = rf"(?:(?P<of>{NAME})\s*\.\s*)?(?P<table>{NAME})"
PLAN = "(?:SELECT|WITH|VALUES|TABLE|QUERY|INSERT|UPDATE|DELETE|REPLACE|ANALYZE|EXTENDED|FORMAT)"
"""What follows the same words when they ask for a plan, which there is none of."""
FORMS = {
    "databases": rf"SHOW\s+(?:DATABASES|SCHEMAS){LIKE}",
    "tables": rf"SHOW\s+(?P<full>FULL\s+)?TABLES(?:\s+(?:FROM|IN)\s+(?P<database>{NAME}))?{LIKE}",
    "columns": (
        rf"SHOW\s+(?P<full>FULL\s+)?(?:COLUMNS|FIELDS)\s+(?:FROM|IN)\s+{TABLE}"
        rf"(?:\s+(?:FROM|IN)\s+(?P<database>{NAME}))?{LIKE}"
    ),
    "create": rf"SHOW\s+CREATE\s+TABLE\s+{TABLE}",
    "describe": rf"(?:DESCRIBE|DESC|EXPLAIN)\s+(?!{PLAN}\b){TABLE}(?:\s+(?P<column>{NAME}))?",
    "use": rf"USE\s+(?P<database>{NAME})",
}
PATTERNS = {
    kind: re.compile(rf"{form}\s*", re.IGNORECASE | re.ASCII) for kind, form in FORMS.items()
}
KNOWN = {
    "SHOW": (
        "SHOW DATABASES, SHOW TABLES, SHOW COLUMNS FROM a table, or SHOW CREATE TABLE and a table"
    ),
    "DESCRIBE": "DESCRIBE and a table",
    "DESC": "DESC and a table",
    "EXPLAIN": "EXPLAIN and a table",
    "USE": "USE and a database",
}
"""How statements about the catalogue are written."""
BLANK = re.compile(r"(?:\s+|--(?=\s|$)[^\n]*|\#[^\n]*|/\*(?!!).*?\*/)+", re.DOTALL)
WORD = re.compile(r"[^\W\d]\w*")
QUERIES = ("SELECT", "WITH", "VALUES")
SHOWN = 20
"""Characters of a statement that a complaint repeats."""


class Command(NamedTuple):
    """A question about the catalogue."""

    kind: str
    """A key of `FORMS`."""
    database: str | None
    """Where to look; None is the current one."""
    table: str | None
    like: str | None
    """A pattern of names."""
    full: bool


def trimmed(statement: str) -> str:
    """Leave out blanks and comments before a statement, and the semicolon after it."""
    start = BLANK.match(statement)
    return statement[start.end() if start else 0 :].rstrip("; \t\r\n\f\v")


def first_word(text: str) -> str:
    """Return the word that a trimmed statement starts with, in upper case; else nothing."""
    word = WORD.match(text)
    return word[0].upper() if word else ""


def command(text: str) -> Command | None:
    """Read a trimmed statement about the catalogue; None for any other."""
    for kind, pattern in PATTERNS.items():
        if match := pattern.fullmatch(text):
            found = match.groupdict()
            names = {key: _bare(found.get(key)) for key in ("of", "database", "table", "column")}
            like = names["column"] or _text(found.get("like"))
            database = names["database"] or names["of"]
            return Command(kind, database, names["table"], like, bool(found.get("full")))
    return None


def complaint(text: str, word: str) -> str:
    """Say why a trimmed statement is none that can be run.

    Args:
        text: The statement.
        word: Its `first_word`.
    """
    if not text:
        return "the statement is empty"
    if word in KNOWN:
        return f"{word} is understood only as {KNOWN[word]}"
    shown = (word or " ".join(text[:SHOWN].split()))[:SHOWN]
    return f"only a query, SHOW, DESCRIBE and USE can be run, not {shown}"


def _bare(name: str | None) -> str | None:
    if name is None:
        return None
    return name[1:-1].replace("``", "`") if name[0] in '`"' else name


def _text(literal: str | None) -> str | None:
    """Return what a quoted pattern says; its own escapes stay."""
    if literal is None:
        return None
    return literal[1:-1].replace(literal[0] * 2, literal[0])
