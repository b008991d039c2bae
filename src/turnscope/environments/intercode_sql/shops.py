"""Small shops that are made up: one table, of which nobody says what it is called and holds."""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from turnscope import draws

TABLES = ("items", "goods", "wares", "stock")
COLUMNS = {
    "name": ("name", "title", "label"),
    "kind": ("kind", "sort", "class"),
    "price": ("price", "cost", "worth"),
    "units": ("units", "pieces", "left"),
}
"""What a column holds, as questions call it, and what shops may call it."""
KINDS = ("toy", "tool", "food")
NAMES = (
    *("ball", "doll", "kite", "drum", "robot", "puzzle"),
    *("saw", "hammer", "rope", "nail", "drill", "brush"),
    *("bread", "rice", "apple", "cheese", "honey", "tea"),
)
"""Of things: as many for each kind, in its order."""
PLACES = {holds: place for place, holds in enumerate(COLUMNS)}
"""Where a row has what."""
ROWS = 6
"""Things in a shop."""
PRICES, UNITS = range(1, 13), range(1, 10)


class Shop(NamedTuple):
    """A table, by what it and its columns are called."""

    table: str
    columns: tuple[tuple[str, str], ...]
    """What each column holds and what it is called, in the order of the table."""
    rows: tuple[tuple[str, str, int, int], ...]
    """Name, kind, price and units of each thing."""

    def column(self, holds: str) -> str:
        """Return what a column is called."""
        return dict(self.columns)[holds]


def script(shop: Shop) -> str:
    """Write a shop down as SQL."""
    types = {"name": "TEXT", "kind": "TEXT", "price": "INTEGER", "units": "INTEGER"}
    columns = ", ".join(f"{called} {types[holds]}" for holds, called in shop.columns)
    lines = [f"CREATE TABLE {shop.table} ({columns});"]
    for row in shop.rows:
        values = dict(zip(COLUMNS, row, strict=True))
        spelt = ", ".join(
            f"'{value}'" if isinstance(value := values[holds], str) else str(value)
            for holds, _ in shop.columns
        )
        lines.append(f"INSERT INTO {shop.table} VALUES ({spelt});")
    return "\n".join(lines)


def _shop(random: np.random.Generator, names: int) -> Shop:
    """Draw a shop whose prices, units and names are all different, so that orders have no ties."""
    table = TABLES[int(random.integers(names))]
    called = [(holds, COLUMNS[holds][int(random.integers(min(names, 3)))]) for holds in COLUMNS]
    order = random.permutation(len(called)) if names > 1 else range(len(called))
    things = random.permutation(len(NAMES))[:ROWS]
    prices = random.permutation(list(PRICES))[:ROWS]
    units = random.permutation(list(UNITS))[:ROWS]
    each = len(NAMES) // len(KINDS)
    return Shop(
        table,
        tuple(called[place] for place in order),
        tuple(
            (NAMES[thing], KINDS[thing // each], int(price), int(left))
            for thing, price, left in zip(things, prices, units, strict=True)
        ),
    )


def shops(seed: int, split: str, names: int) -> Iterator[Shop]:
    """Draw shops without end.

    Args:
        seed: Names the set.
        split: `train` or `test`.
        names: How many of the names of a table or column are used, 1 to 4.
    """
    for number in itertools.count():
        yield _shop(stream(seed, "shop", split, number), names)


def stream(*names: Any) -> np.random.Generator:
    """Start the random numbers of that name."""
    return np.random.Generator(np.random.PCG64(draws.seed("shop_queries", *names)))


def fields_of(shop: Shop) -> list[Any]:
    """Turn a shop into JSON values."""
    return [shop.table, [*map(list, shop.columns)], [*map(list, shop.rows)]]


def shop_of(fields: list[Any]) -> Shop:
    """Read a shop from JSON values."""
    table, columns, rows = fields
    return Shop(table, tuple(map(tuple, columns)), tuple(map(tuple, rows)))
