"""What is said about results, in two forms."""

from collections.abc import Sequence
from typing import Any

from turnscope.environments.intercode_sql.backends import Result

VIEWS = ("terse", "full")
SUBMIT = "submit"
RIGHT, WRONG = "the answer is right", "the answer is wrong"
NOTHING = "there is no answer to submit"
GUIDE = (
    "You answer a question about a database by SQL. In each turn say one SQL statement, alone or "
    "in a block of three backticks; its result is the reply. SHOW TABLES and DESCRIBE tell what "
    "there is. Nothing can be changed."
)
ENDINGS = {
    "submit": "When the last result is the answer, say submit.",
    "auto": "Each result is taken as an answer until one is right.",
}


BREAK = {"terse": " ; ", "full": "\n"}
"""Between a result and its reward."""


def statement_in(action: str) -> str:
    """Find the statement in what was said: the last block of three backticks, or all of it.

    Reasoning, up to `</think>`, does not count.
    """
    said = action.rpartition("</think>")[2]
    parts = said.split("```")
    if len(parts) < 3:
        return said.strip()
    block = parts[-2] if len(parts) % 2 else parts[-1]
    first, _, rest = block.partition("\n")
    return (rest if first.strip().isalpha() and rest else block).strip()


def is_submit(action: str) -> bool:
    """Whether an action says, also in a block or in capitals, that the last result answers."""
    return statement_in(action).removesuffix(";").strip().lower() == SUBMIT


def first(
    question: str, view: str, protocol: str, tables: Sequence[tuple[str, Sequence[str]]]
) -> str:
    """Ask the question.

    Args:
        question: In words.
        view: One of `VIEWS`.
        protocol: How an episode ends.
        tables: Tables and their columns, where the policy is told them.
    """
    told = [f"{table}({', '.join(columns)})" for table, columns in tables]
    if view == "terse":
        return " ; ".join([question, *told])
    parts = [f"{GUIDE} {ENDINGS[protocol]}", *(["Tables: " + "; ".join(told)] if told else [])]
    return "\n\n".join([*parts, f"Question: {question}"])


def reply(result: Result, view: str, rows: int, cut: int) -> str:
    """Write a result down.

    Args:
        result: Of a statement.
        view: One of `VIEWS`.
        rows: Most rows that are shown.
        cut: Most characters.
    """
    if result.error:
        said = result.error if view == "terse" else f"Error executing query: {result.error}"
    elif view == "terse":
        said = _terse(result, rows)
    else:
        said = str([tuple(row) for row in result.rows[:rows]])
        if len(result.rows) > rows:
            said += f" and {len(result.rows) - rows} more of {len(result.rows)} rows"
    return said if len(said) <= cut else f"{said[:cut]}..."


def _terse(result: Result, rows: int) -> str:
    """Write rows with blanks between values; of a table's columns only their names."""
    kept = [row[:1] for row in result.rows] if result.columns[:1] == ("Field",) else result.rows
    lines = [" ".join(_word(value) for value in row) for row in kept[:rows]]
    if len(kept) > rows:
        lines.append(f"{len(kept)} rows")
    return " ; ".join(lines) or "no rows"


def _word(value: Any) -> str:
    return "null" if value is None else str(value)
