"""What both databases, SQLite in the process and a server, have in common."""

from typing import Any, NamedTuple, Protocol


class Limits(NamedTuple):
    """What one statement may use."""

    seconds: float = 5.0
    """On the clock."""
    rows: int = 10_000
    """Of its result."""
    length: int = 10_000
    """Characters of its text."""


class Result(NamedTuple):
    """What came of a statement."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    """Values as the database's driver gives them."""
    error: str = ""
    """One line about why it did not run; then there are no rows."""


class Session(Protocol):
    """A connection that sees what one episode may see, and changes nothing but that."""

    database: str
    """In which names are looked up."""

    def run(self, statement: str) -> Result:
        """Run one statement, which is untrusted.

        Raises:
            OSError: The server is gone. That says nothing of the statement.
        """
        ...

    def close(self) -> None:
        """Release it. Calling it twice is safe."""
        ...


class Backend(Protocol):
    """Databases, and how to get at them."""

    name: str
    """`sqlite` or `server`."""

    def databases(self) -> list[str]:
        """List names of databases, sorted."""
        ...

    def begin(self, database: str) -> Session:
        """Open a session as if it were the first.

        Raises:
            ValueError: There is no such database.
        """
        ...
