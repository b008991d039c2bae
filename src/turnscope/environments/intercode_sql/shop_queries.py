"""Small shops and questions about them: problems from which `nano` can learn to query.

A shop is one table of things with a name, a kind, a price and a number of units. What the table and
its columns are called differs from shop to shop, in an order that differs as well, and no question
says it: who does not look has to guess. A question leaves no more open than that, and its query has
one text, whose symbols stand apart so that a small tokenizer has one token for each::

    total units of kind toy
    SELECT SUM( pieces ) FROM goods WHERE sort = 'toy'

Every query belongs to one split, in every study, by its text. At train questions the expert says
queries of train alone; and no query of train answers a test question, not even by chance.
"""

import itertools
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from turnscope import draws
from turnscope.environments.intercode_sql import shops
from turnscope.environments.intercode_sql.problems import Problem
from turnscope.environments.intercode_sql.shops import KINDS, PLACES, PRICES, Shop

FORMS = ("names", "total", "highest", "lowest", "order")
"""What is asked, in turn; each is a stratum."""
HELD_OUT = 0.3
"""Share of queries that are kept for test."""
QUESTIONS = {"train": 10, "test": 5}
"""About each shop."""


class Query(NamedTuple):
    """A question, by its parts."""

    form: str
    """One of `FORMS`."""
    of: str
    """The column that is added up, looked for the highest of, or ordered by, or nothing."""
    check: str
    """`kind`, `above` or `below` (of the price), or nothing."""
    value: str
    """What the check compares with, `down` or `up` of an order, or nothing."""


@lru_cache(maxsize=1)
def queries() -> tuple[Query, ...]:
    """List all questions."""
    kinds = [("kind", kind) for kind in KINDS]
    prices = [(check, str(bound)) for check in ("above", "below") for bound in PRICES[2:-2]]
    found = [Query("names", "", *check) for check in kinds + prices]
    for form, of in itertools.product(("total", "highest", "lowest"), ("price", "units")):
        found += [Query(form, of, *check) for check in kinds]
    found += [
        Query("order", of, "", way) for of in ("price", "units", "name") for way in ("up", "down")
    ]
    return tuple(found)


def describe(query: Query) -> str:
    """Ask a question."""
    check = {
        "kind": f"of kind {query.value}",
        "above": f"with price above {query.value}",
        "below": f"with price below {query.value}",
    }.get(query.check, "")
    return {
        "names": f"names {check}",
        "total": f"total {query.of} {check}",
        "highest": f"highest {query.of} {check}",
        "lowest": f"lowest {query.of} {check}",
        "order": f"names by {query.of} {query.value}",
    }[query.form]


def render(query: Query, table: str, called: dict[str, str]) -> str:
    """Write the query that answers a question.

    Args:
        query: The question.
        table: What the table is called.
        called: What its columns are called.
    """
    check = {
        "kind": f" WHERE {called['kind']} = '{query.value}'",
        "above": f" WHERE {called['price']} > {query.value}",
        "below": f" WHERE {called['price']} < {query.value}",
    }.get(query.check, "")
    of = called.get(query.of, "")
    what, order = {
        "names": (called["name"], ""),
        "total": (f"SUM( {of} )", ""),
        "highest": (f"MAX( {of} )", ""),
        "lowest": (f"MIN( {of} )", ""),
        "order": (called["name"], f" ORDER BY {of}{' DESC' if query.value == 'down' else ''}"),
    }[query.form]
    return f"SELECT {what} FROM {table}{check}{order}"


def gold(query: Query, shop: Shop) -> str:
    """Write the query that answers a question about a shop."""
    return render(query, shop.table, dict(shop.columns))


@lru_cache(maxsize=1 << 16)
def split_of(text: str) -> str:
    """Say whether a query is for `train` or `test`, in every study."""
    held = draws.uniform(draws.seed("shop_queries", "split", text), 0) < HELD_OUT
    return "test" if held else "train"


def near(query: Query) -> list[Query]:
    """List the questions that differ from one in a single part, as mistakes do."""
    return [other for other in queries() if _is_near(query, other)]


def _is_near(one: Query, other: Query) -> bool:
    apart = [
        one.form != other.form,
        one.of != other.of,
        (one.check, one.value) != (other.check, other.value),
    ]
    if one.check == other.check and one.check in ("above", "below"):
        return sum(apart) == 1 and abs(int(one.value) - int(other.value)) <= 1
    return sum(apart) == 1


def answer(query: Query, shop: Shop) -> list[Any]:
    """Return what a query finds in a shop: its only column, in order."""
    rows = [row for row in shop.rows if _passes(query, row)]
    values = [row[PLACES[query.of]] for row in rows if query.of]
    if query.form == "names":
        return [row[0] for row in rows]
    if query.form == "order":
        order = sorted(range(len(rows)), key=values.__getitem__, reverse=query.value == "down")
        return [rows[place][0] for place in order]
    return [{"total": sum, "highest": max, "lowest": min}[query.form](values)] if rows else [None]


def _alike(query: Query, found: list[Any], other: list[Any]) -> bool:
    """Whether another result answers a question, too."""
    if query.form == "order":
        return found == other
    return Counter(found) == Counter(other)


def _passes(query: Query, row: tuple[str, str, int, int]) -> bool:
    _, kind, price, _ = row
    if query.check == "kind":
        return kind == query.value
    if query.check:
        return price > int(query.value) if query.check == "above" else price < int(query.value)
    return True


def problems(seed: int, split: str, number: int, names: int) -> Iterator[tuple[Problem, Shop]]:
    """Ask questions about one shop after the other, the forms in turn.

    Args:
        seed: Names the set.
        split: `train` or `test`.
        number: How many.
        names: See `shops`.
    """
    made = 0
    for place, shop in enumerate(shops.shops(seed, split, names)):
        random = shops.stream(seed, "question", split, place)
        asked: set[str] = set()
        for turn in range(QUESTIONS[split]):
            if made == number:
                return
            query = _question(random, shop, FORMS[(made + turn) % len(FORMS)], split, asked)
            if query is None:
                continue
            text = gold(query, shop)
            asked.add(text)
            yield (
                Problem(
                    f"{split}-{made:05d}",
                    describe(query),
                    f"{split}{place:04d}",
                    text,
                    query.form,
                ),
                shop,
            )
            made += 1


def _question(
    random: np.random.Generator, shop: Shop, form: str, split: str, asked: set[str]
) -> Query | None:
    """Draw a question whose query is of the split, new, and finds something; None without one."""
    fitting = [
        query
        for query in queries()
        if query.form == form
        and split_of(text := gold(query, shop)) == split
        and text not in asked
        and answer(query, shop) not in ([], [None])
        and (split == "train" or not _is_answered(query, shop))
    ]
    return fitting[int(random.integers(len(fitting)))] if fitting else None


def _is_answered(query: Query, shop: Shop) -> bool:
    """Whether a query of train answers a question about a shop."""
    found = answer(query, shop)
    return any(
        split_of(gold(other, shop)) == "train" and _alike(query, found, answer(other, shop))
        for other in queries()
    )


@lru_cache(maxsize=1)
def _by_question() -> dict[str, Query]:
    return {describe(query): query for query in queries()}


def asked(question: str) -> Query:
    """Find the parts of a question.

    Raises:
        KeyError: It is none of `queries`.
    """
    return _by_question()[question]
