"""How hard a query is, as Spider says.

Source:
    The rules of Spider's published evaluation (Yu et al. 2018, arXiv:1809.08887, section 5).
    Differs: they are applied to the words of a query and not to a parse of it.
"""

import re
from collections.abc import Sequence

TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|[\w.]+|[^\s\w]")
CLAUSES = ("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT")
JOINED = ("INTERSECT", "UNION", "EXCEPT")
AGGREGATES = ("MAX", "MIN", "COUNT", "SUM", "AVG")


def hardness(query: str) -> str:
    """Return `easy`, `medium`, `hard` or `extra`, by what the outermost query is made of."""
    clauses, nested = _clauses(TOKEN.findall(query.upper()))
    parts, others = _parts(clauses), _others(clauses)
    if nested == 0:
        if parts <= 1 and others == 0:
            return "easy"
        if (parts <= 1 and others <= 2) or (parts <= 2 and others < 2):
            return "medium"
        if parts <= 2 or (parts == 3 and others <= 2):
            return "hard"
    elif nested == 1 and parts <= 1 and others == 0:
        return "hard"
    return "extra"


def _clauses(tokens: Sequence[str]) -> tuple[dict[str, list[str]], int]:
    """Split the outermost query into clauses without what is in parentheses; count other queries.

    A query that is a table is none of them.
    """
    found: dict[str, list[str]] = {}
    current: list[str] = []
    clause, depth, nested = "", 0, 0
    for place, token in enumerate(tokens):
        if token == "(" and tokens[place + 1 : place + 2] == ["SELECT"] and depth == 0:
            nested += clause != "FROM" or "ON" in current
        depth += (token == "(") - (token == ")")
        if depth:
            continue
        if token in JOINED:
            nested += 1
            break
        if token in CLAUSES:
            clause, current = token, found.setdefault(token, [])
        else:
            current.append(token)
    return found, nested


def _parts(clauses: dict[str, list[str]]) -> int:
    """Count clauses, joins, `OR` and `LIKE`."""
    conditions = [token for name in ("FROM", "WHERE", "HAVING") for token in clauses.get(name, [])]
    return (
        sum(name in clauses for name in ("WHERE", "GROUP", "ORDER", "LIMIT"))
        + clauses.get("FROM", []).count("JOIN")
        + clauses.get("FROM", []).count(",")
        + conditions.count("OR")
        + conditions.count("LIKE")
    )


def _others(clauses: dict[str, list[str]]) -> int:
    """Count what there are several of: aggregates, columns, conditions and groups.

    The published rules take a negated condition for an aggregate, and no aggregate of `HAVING`.
    """
    where = clauses.get("WHERE", [])
    aggregates = sum(
        token in AGGREGATES for name in ("SELECT", "ORDER") for token in clauses.get(name, [])
    )
    aggregates += where.count("NOT") + clauses.get("HAVING", []).count("NOT")
    conditions = 1 + where.count("AND") + where.count("OR") - where.count("BETWEEN")
    return (
        (aggregates > 1)
        + ("," in clauses.get("SELECT", []))
        + (conditions > 1)
        + ("," in clauses.get("GROUP", []))
    )
