"""Processes that do one job together, each its share."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from turnscope import shards


def _alone(_: Any) -> None:
    """Leave a sum over one process as it is."""


class Crew(NamedTuple):
    """One process as it sees the others; the default is a process by itself.

    All processes must call `gather` and `add` equally often and in the same order.
    """

    rank: int = 0
    """Which of them this one is, from 0."""
    size: int = 1
    """How many there are."""
    gather: Callable[[list[Any]], list[Any]] = list
    """Joins the lists of all processes, in the order of their ranks."""
    add: Callable[[Any], Any] = _alone
    """Replaces a tensor by its sum over all processes, in place."""

    def share(self, rows: Sequence[Any]) -> Sequence[Any]:
        """Return the rows that are this process's; `gather` puts all shares into order again."""
        return shards.share(rows, self.rank + 1, self.size)


ALONE = Crew()
