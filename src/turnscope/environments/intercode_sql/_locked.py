"""One SQLite database that nothing can change, and that answers any text soon."""

import sqlite3
import threading
import time
from collections import OrderedDict
from contextlib import closing

from turnscope.environments.intercode_sql import _catalog, _functions
from turnscope.environments.intercode_sql.backends import Limits, Result

STEPS = 10_000_000
"""Of SQLite's machine, that a statement may take; the hardest gold query of Spider takes 53,400."""
INTERVAL = 1000
"""Steps between two looks at the clock."""
WORK = 30_000_000
"""Characters that functions may look at for a statement, see `_functions.Work`."""
LENGTH = 20_000
"""Bytes of a text, of a blob, or of a row while a statement runs."""
SIZE = 2_000_000
"""Characters of a result."""
VALUE = 8
"""What a value of a result that is no text counts as."""
HEAP = 128 << 20
"""Bytes that SQLite may use, for all databases of the process together."""
OPEN = 200
"""Databases of the process that are open at a time, for `HEAP` is soon used up; one with a single
small table takes 120,000 bytes of it. Others wait as bytes of Python."""
CHARACTER = 4
"""Most bytes of a character."""
LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: LENGTH,
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 100_000,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 50,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
TEXTS_IN_QUOTES = 1013
"""Number of SQLite's setting, which later versions of Python name SQLITE_DBCONFIG_DQS_DML."""
ERROR = 300
"""Most characters of an error."""
TOO_LONG = "the statement takes too long"
TOO_MUCH = "the statement needs too much memory"
STACKED = "only one statement can be run at a time"
DENIED = "not authorized"


class Database:
    """A database in memory, made from a script and locked.

    Args:
        name: Of the database.
        script: SQL that makes it.
        limits: Of a statement.

    Raises:
        ValueError: The script does not run.
    """

    def __init__(self, name: str, script: str, limits: Limits):
        self.name, self._limits = name, limits
        self._lock = threading.Lock()
        self._work = _functions.Work(WORK, LENGTH)
        with closing(sqlite3.connect(":memory:")) as made:
            try:
                made.executescript(script)
            except sqlite3.Error as error:
                raise ValueError(f"script of database {name!r} does not run: {error}") from error
            made.commit()
            self.tables = _catalog.tables(made)
            self._content = made.serialize() if self.tables else b""
        self._held: sqlite3.Connection | None = None

    @property
    def _connection(self) -> sqlite3.Connection:
        """Open it, if it is not open."""
        if self._held is None:
            # No statement is kept ready: its steps would be counted on from where it ended before.
            self._held = sqlite3.connect(
                ":memory:", isolation_level=None, check_same_thread=False, cached_statements=0
            )
            # Under its own name, so that `name.table` is found too.
            quoted = self.name.replace('"', '""')
            self._held.execute(f"ATTACH ':memory:' AS \"{quoted}\"")
            if self._content:  # SQLite has none for a database without tables
                self._held.deserialize(self._content, name=self.name)
            self._lock_up(self._held)
        return self._held

    def shut(self) -> None:
        """Give back its memory, until it is asked again."""
        with self._lock:
            if self._held is not None:
                self._held.close()
                self._held = None

    def _lock_up(self, connection: sqlite3.Connection) -> None:
        if configure := getattr(connection, "setconfig", None):  # Python 3.12
            configure(TEXTS_IN_QUOTES, True)
        heap = connection.execute("PRAGMA hard_heap_limit").fetchone()[0]
        if not 0 < heap <= HEAP:
            connection.execute(f"PRAGMA hard_heap_limit = {HEAP}")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA query_only = ON")
        modules = connection.execute("PRAGMA module_list").fetchall()
        self._modules = {module.lower() for (module,) in modules}
        self._functions = _functions.install(connection, self._work)
        for limit, value in LIMITS.items():
            connection.setlimit(limit, value)
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, CHARACTER * self._limits.length)
        connection.set_authorizer(self._allow)

    def _allow(
        self, action: int, first: str | None, second: str | None, within: str | None, _: str | None
    ) -> int:
        """Allow what a query of this database's tables needs."""
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and str(second).lower() in self._functions:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            table = str(first).lower()
            if table in self.tables:
                return sqlite3.SQLITE_OK
            # Tables that a query makes itself are asked about only where no column is needed.
            if not second and within is None and not self._is_built_in(table):
                return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    def _is_built_in(self, table: str) -> bool:
        return table in self._modules or table.startswith(("sqlite_", "pragma_"))

    def query(self, text: str) -> Result:
        """Run a query, which is untrusted."""
        try:
            return self._ask(text)
        finally:
            _opened.used(self)

    def _ask(self, text: str) -> Result:
        with self._lock:
            self._work.begin()
            clock = _Clock(self._limits.seconds)
            self._connection.set_progress_handler(clock.tick, INTERVAL)
            try:
                return self._fetch(text)
            except MemoryError:
                return Result(error=TOO_MUCH)
            # `Error` does not cover a warning, and values may be too large for Python.
            except (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError) as error:
                late = clock.late or self._work.spent
                return Result(error=TOO_LONG if late else self._work.fault or _said(error))

    def _fetch(self, text: str) -> Result:
        rows: list[tuple] = []
        size = 0
        with closing(self._connection.execute(text)) as cursor:
            columns = tuple(head[0] for head in cursor.description or ())
            while part := cursor.fetchmany(200):
                rows += part
                size += characters(part, VALUE)
                if len(rows) > self._limits.rows:
                    return Result(error=f"the result has more than {self._limits.rows} rows")
                if size > SIZE:
                    return Result(error=f"the result has more than {SIZE} characters")
        return Result(columns, tuple(rows))


class _Opened:
    """Databases that may be open, the one that was asked last at the end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: OrderedDict[int, Database] = OrderedDict()

    def used(self, database: Database) -> None:
        """Note that a database was asked, and shut the one for which that is longest ago."""
        with self._lock:
            self._asked[id(database)] = database
            self._asked.move_to_end(id(database))
            oldest = self._asked.popitem(last=False)[1] if len(self._asked) > OPEN else None
        if oldest is not None:  # without the lock, for it may be busy
            oldest.shut()


_opened = _Opened()


class _Clock:
    """Ends a statement after its steps, and at the latest after its seconds."""

    def __init__(self, seconds: float):
        self._end = time.monotonic() + seconds
        self._left = STEPS // INTERVAL
        self.late = False

    def tick(self) -> bool:
        self._left -= 1
        self.late = self._left < 0 or time.monotonic() > self._end
        return self.late


def characters(rows: list[tuple] | tuple[tuple, ...], other: int) -> int:
    """Count characters of texts and bytes; any other value counts as `other`."""
    return sum(
        len(value) if isinstance(value, str | bytes) else other for row in rows for value in row
    )


def _said(error: Exception) -> str:
    """Write an error as one line that is not long."""
    said = " ".join(str(error).split())
    if "one statement at a time" in said:
        return STACKED
    if said == DENIED:
        said += ": only queries of the tables of the current database can be run"
    return said if len(said) <= ERROR else f"{said[:ERROR]}..."
