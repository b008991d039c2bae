"""How near the result of a statement is to the one that was asked for.

`overlap` is what a turn is worth here: the same rows, whatever type a driver gives a number, and in
the same order where the question has one. `intercode_reward` is the reward as published.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

Rows = Sequence[Sequence[Any]]

DIGITS = 9
"""Significant digits of numbers that are compared; engines add up in different orders."""
EXACT = 15
"""Significant digits by which a number is told to be a whole one, which has all of its digits."""
AS_THEY_ARE = {str, int, type(None)}
"""Types whose values are plain already."""
QUOTED = re.compile(
    r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`[^`]*`"
    r"|/\*.*?\*/|--(?=\s|$)[^\n]*|\#[^\n]*",
    re.DOTALL,
)
"""Texts, names and comments, in which words say nothing of a query."""
ORDER = re.compile(r"\bORDER\s+BY\b", re.IGNORECASE)


def plain(value: Any) -> Any:
    """Give a value the same form in every database: numbers alike, all else as text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float | Decimal):
        number = float(f"{value:.{EXACT}g}")
        if not number.is_integer():
            number = float(f"{value:.{DIGITS}g}")
        if math.isnan(number):
            return "nan"  # two of them are alike here
        return int(number) if number.is_integer() else number
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode(errors="backslashreplace")
    return str(value)


def table(rows: Rows) -> list[tuple[Any, ...]]:
    """Give all values of a result their plain form."""
    return [
        tuple([value if type(value) in AS_THEY_ARE else plain(value) for value in row])
        for row in rows
    ]


def is_ordered(statement: str) -> bool:
    """Whether a query asks for an order of its rows: outermost, not in a subquery."""
    text, depth = QUOTED.sub(" ", statement), 0
    outside = []
    for character in text:
        depth += (character == "(") - (character == ")")
        outside.append(character if depth == 0 else " ")
    return bool(ORDER.search("".join(outside)))


def overlap(found: list[tuple[Any, ...]], gold: list[tuple[Any, ...]], ordered: bool) -> float:
    """Return how much two results have in common, 0 to 1; 1 only for what was asked.

    Args:
        found: Plain rows.
        gold: Plain rows that were asked for.
        ordered: Whether their order matters. If so and it is another, what is in common is
            multiplied by the share of places that agree.
    """
    if not found and not gold:
        return 1.0
    ours, theirs = Counter(found), Counter(gold)
    common = (ours & theirs).total() / (ours | theirs).total()
    if not ordered or found == gold:
        return common
    alike = sum(one == other for one, other in zip(found, gold, strict=False))
    return common * alike / max(len(found), len(gold))


def intercode_reward(found: Rows | None, gold: Rows) -> float:
    """Return the reward of InterCode, as published.

    Rows are compared as text; their order always counts, by Kendall's tau of the rows in common,
    which can be negative; the product is rounded, so that 299 of 300 rows are rewarded like all.

    Args:
        found: Rows as the driver gave them; None if the statement did not run.
        gold: Rows of the gold query, from the same database.

    Source:
        Yang et al. 2023, "InterCode", arXiv:2306.14898, and its `sql_env.py`.
    """
    if found is None:
        return 0.0
    ours, theirs = [str(tuple(row)) for row in found], [str(tuple(row)) for row in gold]
    if not ours and not theirs:
        return 1.0
    mine, other = Counter(ours), Counter(theirs)
    reward = (mine & other).total() / (mine | other).total()
    tau = _tau(_kept(ours, mine & other), _kept(theirs, mine & other))
    return reward if tau is None else round(tau * reward, 2)


def _kept(rows: list[str], common: Counter[str]) -> list[str]:
    """Keep the rows in common, each as often as both have it, in their order."""
    left = Counter(common)
    kept = []
    for row in rows:
        if left[row] > 0:
            left[row] -= 1
            kept.append(row)
    return kept


def _tau(ours: list[str], theirs: list[str]) -> float | None:
    """Return the correlation of two orders; None where they have none, as with a single row."""
    from scipy.stats import kendalltau

    ranks = {row: rank for rank, row in enumerate(sorted({*ours, *theirs}))}
    if len(ranks) < 2:
        return None
    # Its type stubs say nothing of what it returns.
    found: Any = kendalltau([ranks[row] for row in ours], [ranks[row] for row in theirs])
    return None if math.isnan(found.statistic) else float(found.statistic)
