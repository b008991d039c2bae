"""Databases in the memory of the process, which no statement can change.

Three walls, each of which would do: only queries are handed to SQLite at all; an authorizer allows
nothing but reading the tables of one database, and functions of a list; and the connection is set
to `query_only`. What a statement may use is bounded by steps of SQLite's machine, so that the same
statement always gets the same answer, and behind that by the clock.

Differs from MySQL:
    Text is compared as SQLite does it: letter case counts for `=`, and so do blanks at the end. A
    name in double quotes that is no column is a text. Only the current database can be queried;
    `USE` changes it. There is no EXPLAIN of a query.
"""

from collections.abc import Mapping

from turnscope.environments.intercode_sql import _catalog, _statements
from turnscope.environments.intercode_sql._functions import PATTERN
from turnscope.environments.intercode_sql._locked import Database, characters
from turnscope.environments.intercode_sql._statements import Command
from turnscope.environments.intercode_sql.backends import Limits, Result

KEPT = 8_000_000
"""Bytes of the results that a backend keeps, about."""
VALUE, ENTRY = 60, 400
"""Bytes, about, of a value and of a kept result beside its characters."""
RESERVED = ("main", "temp")
"""Names that SQLite has for databases of its own."""


class Backend:
    """Databases that are made from scripts.

    Args:
        scripts: Name of each database, and the SQL that makes it.
        limits: Of a statement.

    Raises:
        ValueError: There is no database, or a name is reserved or differs from another only in
            letter case.
    """

    name = "sqlite"

    def __init__(self, scripts: Mapping[str, str], limits: Limits):
        self._scripts = {name.lower(): (name, script) for name, script in scripts.items()}
        if not scripts or len(self._scripts) < len(scripts) or {*RESERVED} & {*self._scripts}:
            raise ValueError(
                f"databases are {', '.join(scripts) or 'none'}; legal are one or more, whose names "
                f"differ in lower case and are none of {', '.join(RESERVED)}"
            )
        self._limits = limits
        self._built: dict[str, Database] = {}
        self._kept: dict[tuple[str, str], Result] = {}
        self._size = 0

    def databases(self) -> list[str]:
        """List names of databases, sorted."""
        return sorted(name for name, _ in self._scripts.values())

    def begin(self, database: str) -> "Session":
        """Open a session as if it were the first.

        Raises:
            ValueError: There is no such database, or its script does not run.
        """
        found = self.find(database)
        if found is None:
            known = ", ".join(self.databases())
            raise ValueError(f"unknown database {database!r}; known: {known}")
        return Session(self, found)

    def find(self, name: str) -> Database | None:
        """Return a database, whatever the letter case of its name; it is made at first use.

        Raises:
            ValueError: Its script does not run.
        """
        key = name.lower()
        if key not in self._built and key in self._scripts:
            self._built[key] = Database(*self._scripts[key], self._limits)
        return self._built.get(key)

    def refusal(self, statement: str) -> str:
        """Say why a statement is not read at all; empty if it is."""
        most = self._limits.length
        if len(statement) > most:
            return f"the statement has {len(statement)} characters; legal are at most {most}"
        if "\0" in statement:
            return "the statement holds a character NUL"
        if not statement.isascii() and any("\ud800" <= char <= "\udfff" for char in statement):
            return "the statement holds half a character"
        return ""

    def query(self, database: Database, text: str) -> Result:
        """Run a trimmed query. As nothing can change, the same one is run only once."""
        found = self._kept.get((database.name, text))
        if found is None:
            found = database.query(text)
            size = ENTRY + VALUE * len(found.rows) + characters(found.rows, VALUE) + len(text)
            if self._size + size > KEPT:
                self._kept.clear()
                self._size = 0
            if size <= KEPT:
                self._kept[database.name, text] = found
                self._size += size
        return found

    def answer(self, asked: Command, current: Database) -> Result:
        """Answer a question about what there is."""
        if len(asked.like or "") > PATTERN:
            return Result(error=f"a pattern is too long; legal are at most {PATTERN} characters")
        if asked.kind == "databases":
            return _catalog.databases(self.databases(), asked.like)
        found = self.find(asked.database) if asked.database else current
        if found is None:
            return unknown(asked)
        return _catalog.answer(asked, found.name, found.tables)


class Session:
    """What one episode sees: the databases, one of which is the current one."""

    def __init__(self, backend: Backend, current: Database):
        self._backend, self._current = backend, current
        self.database = current.name

    def run(self, statement: str) -> Result:
        """Run one statement, which is untrusted."""
        if refusal := self._backend.refusal(statement):
            return Result(error=refusal)
        text = _statements.trimmed(statement)
        word = _statements.first_word(text)
        if word in _statements.QUERIES:
            return self._backend.query(self._current, text)
        asked = _statements.command(text)
        if asked is None:
            return Result(error=_statements.complaint(text, word))
        if asked.kind != "use":
            return self._backend.answer(asked, self._current)
        found = self._backend.find(str(asked.database))
        if found is None:
            return unknown(asked)
        self._current, self.database = found, found.name
        return Result()

    def close(self) -> None:
        """Do nothing: a session holds nothing of its own."""


def unknown(asked: Command) -> Result:
    """Say that there is no such database."""
    return Result(error=f"Unknown database '{asked.database}'")
