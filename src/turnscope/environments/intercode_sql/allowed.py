"""Which statements a server is sent at all.

The server itself keeps an account that may only read from writing. What is left to keep out is what
could lift its limits, or see other connections.
"""

import re

from turnscope.environments.intercode_sql.backends import Limits

WORDS = ("SELECT", "WITH", "VALUES", "TABLE", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "USE")
"""First words of statements that only read. Others could lift limits, as `SET STATEMENT` does."""
SHOWN = (
    *("TABLES", "DATABASES", "SCHEMAS", "COLUMNS", "FIELDS", "CREATE TABLE", "CREATE VIEW"),
    *("INDEX", "INDEXES", "KEYS"),
)
"""What may be shown: nothing about the machine, accounts or other connections."""
GAP = r"(?:[\s(]|/\*.*?\*/|--\s[^\n]*(?:\n|$)|#[^\n]*(?:\n|$))*"
"""What may stand before a word."""
WORD = re.compile(rf"{GAP}([a-z]*)", re.IGNORECASE | re.ASCII | re.DOTALL)
HIDDEN = re.compile(
    r"/\*M?!|@@|(?:global|session)_(?:variables|status)|system_variables"
    r"|processlist|get_lock|connection_id|uuid|sys_guid|random_bytes",
    re.IGNORECASE,
)
"""Comments that are run, so that a statement is not what it looks like; how the server is set up;
ways to see other connections or to hold them up; and what is never the same again."""
EXPLAINED = re.compile(r"\bconnection\b", re.IGNORECASE)
"""Another connection, in a statement that explains."""


def refusal(statement: str, limits: Limits) -> str:
    """Say in one line why a statement is not even sent; empty if it is."""
    if len(statement) > limits.length:
        return f"the statement has {len(statement)} characters; legal are at most {limits.length}"
    if any("\ud800" <= character <= "\udfff" for character in statement):
        return "the statement holds half a character"
    word, *others = words(statement)
    shown = " ".join(others) if others[0] == "CREATE" else others[0]
    if word not in WORDS:
        return f"only {', '.join(WORDS)} are run" + (f", not {word}" if word else "")
    if word == "SHOW" and shown not in SHOWN:
        return f"only {', '.join(SHOWN)} can be shown"
    found = HIDDEN.search(statement)
    if word in ("DESCRIBE", "DESC", "EXPLAIN"):
        found = found or EXPLAINED.search(statement)
    return f"{found[0]} may not be used" if found else ""


def words(statement: str) -> list[str]:
    """Return the first three words of a statement, in upper case, without FULL and EXTENDED."""
    read: list[str] = []
    place = 0
    while len(read) < 3:
        found = WORD.match(statement, place)
        assert found is not None  # it may be empty
        place, word = found.end(), found[1].upper()
        if word not in ("FULL", "EXTENDED"):
            read.append(word)
    return read
