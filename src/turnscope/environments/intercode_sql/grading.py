"""How good a statement is, and which statements are mistakes.

The quality of a turn is the overlap of its result with the rows that are asked for: of the result
as it is, not of what it lets a policy find out. So looking at tables is worth nothing by itself.
"""

from typing import NamedTuple

from turnscope.environments.intercode_sql import shop_queries
from turnscope.environments.intercode_sql.exercise import (
    EMPTY,
    ERROR,
    Exercise,
    Verdict,
    exercise,
    tell,
)
from turnscope.environments.intercode_sql.views import SUBMIT, is_submit, statement_in
from turnscope.types import Quality, Task, Turn

ERRORS = {
    "failed": "the statement did not run",
    "empty": "its result has no rows, though there are some to be found",
    "drop": "its result has less in common with the answer than the one before it",
}
IMMEDIATE = True
"""A quality is of a result by itself; the best is always 1."""
START = "start"
"""Kind of the state before any result."""


class Place(NamedTuple):
    """What a state key says of the last result."""

    kind: str
    quality: float
    database: str


def key_of(verdict: Verdict | None, database: str) -> str:
    """Name the state after a result; what else was said does not matter any more."""
    if verdict is None:
        return f"{START} 0.0 - {database}"
    return f"{verdict.kind} {verdict.quality!r} {verdict.digest} {database}"


def parse(state_key: str) -> Place:
    """Read a state."""
    kind, quality, _, database = state_key.split(" ", 3)
    return Place(kind, float(quality), database)


def step_quality(task: Task, state_key: str, action: str, turns_left: int) -> Quality:
    """Grade a statement by its result, and `submit` by the result that it submits.

    Args:
        task: The question.
        state_key: State before it.
        action: What the policy said.
        turns_left: Turns of the budget not yet used; does not matter.
    """
    place, asked = parse(state_key), exercise(task)
    if is_submit(action) and asked.protocol == SUBMIT:
        return Quality(place.quality, 1.0)
    return Quality(tell(asked, place.database, statement_in(action)).quality, 1.0)


def errors(task: Task, turn: Turn, state_key: str, turns_left: int) -> list[str]:
    """Name the definitions of `ERRORS` that a turn meets.

    Args:
        task: The question.
        turn: The statement and the state before it.
        state_key: State after it.
        turns_left: Does not matter.
    """
    before, after = parse(turn.state_key), parse(state_key)
    met = {
        "failed": after.kind == ERROR,
        "empty": after.kind == EMPTY and after.quality < 1,
        "drop": after.quality < before.quality,
    }
    return [name for name in ERRORS if met[name]]


def mistakes(task: Task, state_key: str, turns_left: int) -> list[str]:
    """List statements that do not answer the question: near the right one, or else simple ones."""
    asked, place = exercise(task), parse(state_key)
    known = {text: tell(asked, place.database, text).quality for text in _wrong(asked)}
    found = [text for text, quality in known.items() if quality < 1]
    if asked.protocol == SUBMIT and place.quality < 1:
        found.append(SUBMIT)
    return found


def _wrong(asked: Exercise) -> list[str]:
    if asked.shop is None or asked.query is None:
        return ["SELECT 1", "SELECT 0", "SHOW TABLES", "SELECT NULL"]
    return [shop_queries.gold(other, asked.shop) for other in shop_queries.near(asked.query)]
