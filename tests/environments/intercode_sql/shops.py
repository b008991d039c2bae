"""One small shop and a question about it, worked by hand."""

from typing import Any

from turnscope.environments.intercode_sql.backends import Limits
from turnscope.types import Task

FIELDS = [
    "goods",
    [["price", "cost"], ["name", "title"], ["units", "left"], ["kind", "sort"]],
    [["ball", "toy", 5, 2], ["saw", "tool", 9, 4], ["kite", "toy", 7, 1]],
]
GOLD = "SELECT title FROM goods WHERE sort = 'toy'"


def task(question: str = "names of kind toy", gold: str = GOLD, **changed: Any) -> Task:
    """Make a task about the shop."""
    payload = {
        "question": question,
        "database": "shop",
        "gold": gold,
        "source": "shop_queries",
        "protocol": "submit",
        "limits": Limits()._asdict(),
        "names": 4,
        "shop": FIELDS,
    }
    return Task("one", "test", "names", "one", payload | changed, 2)
