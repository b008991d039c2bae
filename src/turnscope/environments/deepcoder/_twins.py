"""When a train problem is a twin of a test problem: one rule for all sources."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from turnscope.environments.deepcoder._values import identity
from turnscope.environments.deepcoder.problems import Case

TESTS = 3
"""Tests that two problems must share to be twins; fewer if one of them has fewer."""


class Marks(NamedTuple):
    """What is compared of a problem, as digests."""

    texts: frozenset[bytes]
    """Of its statement and of its solution."""
    tests: frozenset[bytes]
    """Of each test, input and output together."""


def marks(statement: str, solution: str | None, cases: Iterable[Case]) -> Marks:
    """Digest a statement (its letters and digits), a solution (but for blanks) and tests."""
    letters = "".join(filter(str.isalnum, statement.lower())) or statement
    texts = {_digest(f"statement {letters}")}
    if solution:
        texts.add(_digest(f"solution {''.join(solution.split())}"))
    tests = (_digest(json.dumps([*map(_spelled, case)])) for case in cases)
    return Marks(frozenset(texts), frozenset(tests))


def _spelled(value: Any) -> str:
    """Spell a value; of a text blanks do not matter, as in what a script reads and prints."""
    return " ".join(value.split()) if isinstance(value, str) else identity(value)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Barred:
    """Test problems, of which a train problem must not be a twin."""

    def __init__(self) -> None:
        self._texts: set[bytes] = set()
        self._owners: dict[bytes, list[int]] = {}
        self._sizes: list[int] = []

    def add(self, found: Marks) -> None:
        """Bar a test problem."""
        self._texts |= found.texts
        for test in found.tests:
            self._owners.setdefault(test, []).append(len(self._sizes))
        self._sizes.append(len(found.tests))

    def holds(self, found: Marks) -> bool:
        """Say whether a problem shares a statement, a solution, or tests with a barred one."""
        if found.texts & self._texts:
            return True
        shared = Counter(owner for test in found.tests for owner in self._owners.get(test, ()))
        return any(
            number >= min(TESTS, len(found.tests), self._sizes[owner])
            for owner, number in shared.items()
        )
