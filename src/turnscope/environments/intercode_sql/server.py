"""Databases of a MariaDB or MySQL server, which are only read.

Every statement has a connection of its own. So nothing but the current database is left of one: no
variable, no lock and no setting. Any number of episodes may be played side by side.
"""

import contextlib
import os
import re
import time
from typing import Any, NamedTuple

import pymysql
from pymysql.constants import CR, ER, FIELD_TYPE
from pymysql.converters import decoders
from pymysql.cursors import SSCursor

from turnscope.environments.intercode_sql import allowed
from turnscope.environments.intercode_sql.backends import Limits, Result

USER = "reader"
"""Account that may only read, if an address names no other."""
PASSWORD = "TURNSCOPE_SQL_PASSWORD"
"""Variable of the environment that holds its password; without it there is none."""
PORT = 3306
ADDRESS = re.compile(
    r"(?:(?P<user>[^@/\s]+)@)?(?:(?P<socket>/.+)|(?P<host>[^@/\s:]+)(?::(?P<port>\d{1,5}))?)"
)
OWN = ("information_schema", "mysql", "performance_schema", "sys")
"""Databases that a server keeps about itself."""
MODE = "IGNORE_SPACE"
"""How SQL is read. `COUNT (*)` may have its space and a column may stand beside what is counted for
each group, as in SQLite and as gold queries need. All else that a mode can say is about writing."""
SPACE = 256 << 20
"""Bytes of memory, and of temporary tables, that a statement may use."""
SIZE = 2_000_000
"""Characters and bytes of all texts of a result."""
NOW = 1_700_000_000
"""The time that MariaDB tells, in seconds since 1970: a statement that is played again must find
the same. For that `RAND()` always starts from SEEDS."""
SEEDS = (123_456_789, 987_654_321)
GRACE = 1.0
"""Seconds over its limit after which a statement is killed that the server has not stopped."""
TOO_LONG = "the statement takes too long"
TOO_MUCH = "the statement needs too much memory"
STOPPED = (ER.STATEMENT_TIMEOUT, ER.QUERY_TIMEOUT)
"""Errors of statements that the server stopped at their time limit."""
FULL = (
    *(ER.OPTION_PREVENTS_STATEMENT, ER.OUTOFMEMORY, ER.OUT_OF_SORTMEMORY, ER.OUT_OF_RESOURCES),
    ER.RECORD_FILE_FULL,
)
"""Errors of statements that used up the space they may use."""
KILLED = 1927
"""Error of a connection that an administrator cut."""
GONE = (
    ER.SERVER_SHUTDOWN,
    ER.QUERY_INTERRUPTED,
    KILLED,
    CR.CR_SERVER_GONE_ERROR,
    CR.CR_SERVER_LOST,
)
"""Errors that say nothing of a statement."""
CONVERTERS: dict[Any, Any] = decoders | {FIELD_TYPE.TIME: str}
"""Of values, as text; a time of day stays one."""


class Address(NamedTuple):
    """Where a server is, and who asks there."""

    user: str
    socket: str
    """Path of it; empty where there is a host."""
    host: str
    port: int


def address_of(text: str) -> Address:
    """Read an address: `/path/of/socket` or `host:port`; `user@` goes before it.

    Raises:
        ValueError: It is none.
    """
    found = ADDRESS.fullmatch(text)
    if found is None:
        raise ValueError(
            f"server is {text!r}; legal is [user@]/path/of/socket or [user@]host[:port]"
        )
    socket, host = found["socket"] or "", found["host"] or ""
    return Address(found["user"] or USER, socket, host, int(found["port"] or PORT))


class Backend:
    """Databases of a server.

    Args:
        address: Of the server; the account should be one that may only read.
        limits: On every statement.
    """

    name = "server"

    def __init__(self, address: Address, limits: Limits):
        self._address = address
        self._limits = limits
        self._seen: list[str] = []

    def databases(self) -> list[str]:
        """List names of databases that the account may read, sorted.

        Raises:
            OSError: The server is gone.
        """
        return [name for name in self._all() if name.lower() not in OWN]

    def begin(self, database: str) -> "Session":
        """Open a session in a database, whose name is read in any case.

        Raises:
            OSError: The server is gone.
            ValueError: There is no such database.
        """
        # With the server's own ones, as an episode may have gone there.
        self._seen = self._seen or self._all()
        named = {name.lower(): name for name in self._seen}
        if database.lower() not in named:
            known = ", ".join(name for name in self._seen if name.lower() not in OWN)
            raise ValueError(f"unknown database {database!r}; known: {known}")
        return Session(self._address, named[database.lower()], self._limits)

    def _all(self) -> list[str]:
        """List names of databases that the account can see, sorted."""
        with _connected(self._address, None, self._limits) as connection:
            cursor = connection.cursor()
            try:
                cursor.execute("SHOW DATABASES")
            except pymysql.MySQLError as failure:
                raise ConnectionError(f"the server is gone: {_error(failure)[1]}") from failure
            return sorted(name for (name,) in cursor.fetchall())


class Session:
    """What one episode sees of a server.

    Args:
        address: Of the server.
        database: The current one at first.
        limits: On every statement.
    """

    def __init__(self, address: Address, database: str, limits: Limits):
        self.database = database
        self._address = address
        self._limits = limits

    def run(self, statement: str) -> Result:
        """Run one statement, which is untrusted.

        Raises:
            OSError: The server is gone. That says nothing of the statement.
        """
        if why := allowed.refusal(statement, self._limits):
            return Result(error=why)
        with _connected(self._address, self.database, self._limits) as connection:
            cursor = connection.cursor(SSCursor)
            start = time.monotonic()
            try:
                return self._ask(cursor, statement, start)
            except pymysql.MySQLError as failure:
                number, said = _error(failure)
                if number in STOPPED or time.monotonic() - start >= self._limits.seconds:
                    why = TOO_LONG
                elif number in GONE:
                    raise ConnectionError(f"the server is gone: {said}") from failure
                else:
                    return Result(error=TOO_MUCH if number in FULL else said)
            except (_UnreadError, ArithmeticError, ValueError) as failure:
                why = _line(str(failure))
            self._stop(connection, cursor)
            return Result(error=why)

    def close(self) -> None:
        """Release it: there is nothing to release."""

    def _ask(self, cursor: SSCursor, statement: str, start: float) -> Result:
        cursor.execute(statement)
        result = Result(tuple(column[0] for column in cursor.description or ()))
        if cursor.description:
            result = result._replace(rows=_rows(cursor, self._limits, start))
        if allowed.words(statement)[0] == "USE":
            cursor.execute("SELECT DATABASE()")
            ((self.database,),) = cursor.fetchall()
        return result

    def _stop(self, connection: pymysql.Connection, cursor: SSCursor) -> None:
        """Have the server stop a statement whose result is not read to the end."""
        if unread := vars(cursor)["_result"]:
            unread.unbuffered_active = False  # else the driver reads to the end to forget it
        with (
            contextlib.suppress(OSError, pymysql.MySQLError),
            _connected(self._address, None, self._limits) as other,
        ):
            other.kill(connection.thread_id())


class _UnreadError(Exception):
    """A result is not read to its end; says why."""


def _rows(cursor: SSCursor, limits: Limits, start: float) -> tuple[tuple[Any, ...], ...]:
    """Read a result, as long as it keeps to the limits."""
    rows: list[tuple[Any, ...]] = []
    size = 0
    while (row := cursor.fetchone()) is not None:
        rows.append(row)
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if len(rows) > limits.rows:
            raise _UnreadError(
                f"the result has more than {limits.rows} rows; legal are at most that many"
            )
        if size > SIZE:
            raise _UnreadError(f"the result has more than {SIZE} characters")
        if time.monotonic() - start >= limits.seconds:
            break
    # BENCHMARK is one of those that say nothing when they are stopped.
    if time.monotonic() - start >= limits.seconds:
        raise _UnreadError(TOO_LONG)
    return tuple(rows)


def _connected(address: Address, database: str | None, limits: Limits) -> pymysql.Connection:
    """Open a connection on which nothing can be written and statements have limits.

    Raises:
        OSError: The server is gone, or does not let the account in.
    """
    try:
        connection = pymysql.connect(
            unix_socket=address.socket or None,
            host=address.host or None,
            port=address.port,
            user=address.user,
            password=os.environ.get(PASSWORD, ""),
            database=database,
            charset="utf8mb4",
            collation="utf8mb4_general_ci",
            init_command="SET SESSION TRANSACTION READ ONLY",
            autocommit=True,
            conv=CONVERTERS,
            read_timeout=limits.seconds + GRACE,
            write_timeout=limits.seconds + GRACE,
            # To get ready for encryption takes ten times as long as the rest; a socket needs none.
            ssl_disabled=True if address.socket else None,
        )
        connection.query(_settings("MariaDB" in connection.get_server_info(), limits))
    except pymysql.MySQLError as failure:
        raise ConnectionError(f"no server at {address}: {_error(failure)[1]}") from failure
    return connection


def _settings(mariadb: bool, limits: Limits) -> str:
    """Write the statement that sets the limits."""
    common = f"SET SESSION sql_mode = '{MODE}', time_zone = '+00:00'"
    if not mariadb:
        return f"{common}, max_execution_time = {max(1, round(limits.seconds * 1000))}"
    # Rows that tie would come in the order of their addresses if temporary tables were in memory.
    return (
        f"{common}, max_statement_time = {limits.seconds:f}, tmp_memory_table_size = 0,"
        f" max_session_mem_used = {SPACE}, tmp_disk_table_size = {SPACE},"
        f" timestamp = {NOW}, rand_seed1 = {SEEDS[0]}, rand_seed2 = {SEEDS[1]}"
    )


def _error(failure: pymysql.MySQLError) -> tuple[int, str]:
    """Return the number of an error, 0 if it has none, and one line."""
    number, words = failure.args if len(failure.args) == 2 else (0, failure)
    return number, _line(str(words))


def _line(text: str) -> str:
    return " ".join(text.split())
