"""Questions about databases."""

from typing import NamedTuple


class Problem(NamedTuple):
    """A question and the query that answers it."""

    name: str
    """Unique within its source."""
    question: str
    database: str
    """Name of the database it is asked about."""
    gold: str
    """The query."""
    stratum: str
    """How hard it is, or of which kind."""
