"""A task made ready: its database, the rows that are asked for, and what a statement is worth."""

import hashlib
import json
from functools import lru_cache
from typing import Any, NamedTuple

from turnscope.environments.intercode_sql import results, shop_queries, shops, sources
from turnscope.environments.intercode_sql.backends import Backend, Result, Session
from turnscope.environments.intercode_sql.shop_queries import Query
from turnscope.environments.intercode_sql.shops import Shop
from turnscope.recent import Recent
from turnscope.types import Task

READY = 1 << 11
"""Exercises that are kept."""
ERROR, EMPTY, ROWS = "error", "empty", "rows"


class Exercise(NamedTuple):
    """A question, and all that is needed to judge answers."""

    question: str
    database: str
    gold: str
    protocol: str
    """One of `sources.PROTOCOLS`."""
    backend: Backend
    found: Result
    """What the gold query gives in this backend."""
    wanted: list[tuple[Any, ...]]
    """The same rows, plain."""
    ordered: bool
    shop: Shop | None
    """Where the question is about a shop that was made up."""
    query: Query | None
    names: int
    """How many names a table or a column of a shop may have."""


class Verdict(NamedTuple):
    """What a statement is worth."""

    kind: str
    """`error`, `empty` or `rows`."""
    quality: float
    """Overlap with the rows that are asked for."""
    digest: str
    """Names the result."""

    @property
    def right(self) -> bool:
        """Whether it is the answer."""
        return self.kind != ERROR and self.quality == 1.0


def exercise(task: Task) -> Exercise:
    """Make a task ready.

    Raises:
        ValueError: Its database is not there, or the gold query does not run in it.
    """
    key = hashlib.sha256(json.dumps(task.payload, sort_keys=True).encode()).digest()
    return _exercises().get(key, lambda: _read(task.payload))


@lru_cache(maxsize=1)
def _exercises() -> Recent[bytes, Exercise]:
    return Recent(READY)


def _read(fields: dict[str, Any]) -> Exercise:
    backend = sources.backend(fields)
    session = backend.begin(fields["database"])
    found = session.run(fields["gold"])
    session.close()
    if found.error:
        raise ValueError(f"gold query {fields['gold']!r} does not run: {found.error}")
    shop = fields.get("shop")
    return Exercise(
        fields["question"],
        fields["database"],
        fields["gold"],
        fields["protocol"],
        backend,
        found,
        results.table(found.rows),
        results.is_ordered(fields["gold"]),
        shop and shops.shop_of(shop),
        shop_queries.asked(fields["question"]) if shop else None,
        fields.get("names", 0),
    )


def judge(asked: Exercise, result: Result) -> Verdict:
    """Compare a result with the one that is asked for."""
    if result.error:
        return Verdict(ERROR, 0.0, "-")
    rows = results.table(result.rows)
    # Of the rows as they are, for the published reward tells 37 from 37.0.
    told = repr([*result.rows]).encode("utf-8", "backslashreplace")
    digest = hashlib.blake2b(told, digest_size=6)
    # A statement such as USE has no columns: it is no answer, even where no row is asked for.
    quality = results.overlap(rows, asked.wanted, asked.ordered) if result.columns else 0.0
    return Verdict(ROWS if rows else EMPTY, quality, digest.hexdigest())


def tell(asked: Exercise, database: str, statement: str) -> Verdict:
    """Judge a statement that is run in a session of its own."""
    session: Session = asked.backend.begin(database)
    try:
        return judge(asked, session.run(statement))
    finally:
        session.close()
