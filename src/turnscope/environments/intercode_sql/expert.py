"""An imperfect player of shops: it looks or guesses what is called how, errs, and stops early."""

from collections.abc import Sequence

from turnscope import draws
from turnscope.environments.intercode_sql import shop_queries
from turnscope.environments.intercode_sql.exercise import ERROR, Exercise, Verdict
from turnscope.environments.intercode_sql.shops import COLUMNS, TABLES, Shop
from turnscope.environments.intercode_sql.views import SUBMIT

LOOK = "SHOW TABLES"
DRAWS = 8
"""Of a turn."""
CARE = 0.5
"""How often somebody without any skill looks before guessing, and trusts a right result."""
ATTEMPTS = 20
"""Guesses before looking after all."""
STRIDE = 0.618034
"""Between the draws of one guess and the next."""


def say(
    asked: Exercise,
    tried: Sequence[tuple[str, Verdict]],
    seed: int,
    turn: int,
    skill: float,
    left: int,
) -> str:
    """Choose a statement, or submit.

    Args:
        asked: A question about a shop.
        tried: Statements so far and what they were worth.
        seed: Names the draws, together with `turn`.
        turn: Number of the turn, from 0.
        skill: Probability of the right query by who knows the columns, and a measure of care.
        left: Turns of the budget not yet used.

    Raises:
        ValueError: The question is not about a shop.
    """
    shop, query = asked.shop, asked.query
    if shop is None or query is None:
        raise ValueError(f"question {asked.question!r} has no expert; those about shops have one")
    dice = [draws.uniform(seed, DRAWS * turn + number) for number in range(DRAWS)]
    careful = dice[0] < CARE + (1 - CARE) * skill
    if tried and asked.protocol == SUBMIT and _submits(tried[-1], careful, left, dice[1] < skill):
        return SUBMIT
    said = [text for text, verdict in tried if verdict.kind != ERROR]
    knows_table = any(text == LOOK or shop.table in text.split() for text in said)
    knows_columns = any(text == f"DESCRIBE {shop.table}" for text in said)
    split = shop_queries.split_of(asked.gold)
    if not knows_table:
        return LOOK if careful else _guess(asked, None, dice[2:])
    if not knows_columns:
        return f"DESCRIBE {shop.table}" if careful else _guess(asked, shop, dice[2:])
    if dice[2] < skill:
        return asked.gold
    misses = [shop_queries.gold(other, shop) for other in shop_queries.near(query)]
    fitting = [text for text in misses if shop_queries.split_of(text) == split] or [asked.gold]
    return fitting[int(dice[3] * len(fitting))]


def _submits(last: tuple[str, Verdict], careful: bool, left: int, skilled: bool) -> bool:
    """Whether to submit: in the last turn, a right result mostly, a wrong one by mistake."""
    text, verdict = last
    if left == 1:
        return True
    if verdict.right:
        return careful
    return text.startswith("SELECT") and verdict.kind != ERROR and not skilled


def _guess(asked: Exercise, shop: Shop | None, dice: list[float]) -> str:
    """Write the query with names that may be wrong, of the same split as the right one.

    Args:
        asked: The question.
        shop: The shop, if it is known what its table is called.
        dice: Draws, 0 to 1: at least five.
    """
    split, query = shop_queries.split_of(asked.gold), shop_queries.asked(asked.question)
    for attempt in range(ATTEMPTS):
        turned = [(one + attempt * STRIDE) % 1 for one in dice]
        known = [names[: asked.names] for names in (TABLES, *COLUMNS.values())]
        table, *columns = (
            names[int(one * len(names))] for names, one in zip(known, turned, strict=False)
        )
        called = dict(zip(COLUMNS, columns, strict=True))
        text = shop_queries.render(query, shop.table if shop else table, called)
        if shop_queries.split_of(text) == split:
            return text
    return f"DESCRIBE {shop.table}" if shop else LOOK
