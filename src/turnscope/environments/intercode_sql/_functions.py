"""Functions that a statement may call: all deterministic, and none takes long.

SQLite's own `LIKE`, `instr`, `replace` and `trim` may take time that grows with a power of the
length of a text, within one step of its machine, where no limit on steps sees it. Here they charge
for what they do.
"""

import re
import sqlite3
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

NATIVE = {
    "abs", "avg", "ceil", "ceiling", "coalesce", "count", "cume_dist", "dense_rank", "exp",
    "first_value", "floor", "group_concat", "hex", "ifnull", "lag", "last_value", "lead",
    "length", "ln", "log", "log10", "log2", "lower", "ltrim", "max", "min", "mod", "nth_value",
    "ntile", "nullif", "percent_rank", "pow", "power", "rank", "round", "row_number", "rtrim",
    "sign", "sqrt", "substr", "substring", "sum", "total", "trim", "typeof", "upper",
}  # fmt: skip
"""Functions of SQLite that may be called."""
PATTERN = 1000
"""Most characters of a pattern of `LIKE`."""
CALL = 30
"""Characters that take as long as a call."""
READ = 150
"""Characters that take as long as one of a pattern that a statement has not used before."""
Value = str | bytes | int | float | None


class Refused(Exception):
    """A function is called with too much; the text says of what."""


class Work:
    """What functions may still do for a statement, in characters that are looked at.

    Args:
        limit: Of one statement.
        length: Most characters of a text that is made.
    """

    def __init__(self, limit: int, length: int):
        self.limit, self.length = limit, length
        self.begin()

    def begin(self) -> None:
        """Start anew, for the next statement."""
        self.left, self.spent, self.fault = self.limit, False, ""
        self.patterns: set[tuple[str, str]] = set()

    def charge(self, amount: int) -> None:
        """Take some of it.

        Raises:
            Refused: There is not that much.
        """
        self.left -= amount
        if self.left < 0:
            self.spent = True
            raise Refused

    def check(self, name: str, length: int, most: int) -> None:
        """Check the length of a text.

        Raises:
            Refused: It is too long. SQLite keeps no text of an exception, so it is in `fault`.
        """
        if length > most:
            self.fault = f"{name} has {length} characters; legal are at most {most}"
            raise Refused(self.fault)

    def made(self, length: int) -> None:
        """Check and charge for a text before it is made.

        Raises:
            Refused: It is too long, or too much.
        """
        self.check("a text", length, self.length)
        self.charge(length)


def text_of(value: Value) -> str:
    """Write a value as SQLite does when it needs a text; bytes that are none become U+FFFD."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if not isinstance(value, float):
        return str(value)
    digits = f"{value or 0.0:.15g}"  # it has no negative zero
    mantissa, mark, exponent = digits.partition("e")
    if mantissa.lstrip("-").isdigit():
        mantissa += ".0"
    return {"inf": "Inf", "-inf": "-Inf"}.get(digits, mantissa + mark + exponent)


@lru_cache(maxsize=1024)
def matcher(pattern: str, escape: str = "") -> re.Pattern[str]:
    r"""Turn a pattern of `LIKE` into an expression that never goes back, so it is linear.

    Each part between two `%` is looked for once, at its first place after the part before it: if
    the rest fits anywhere, it fits after that. Letters of ASCII match in either case.

    Args:
        pattern: With `%` and `_`.
        escape: A character before which they stand for themselves.
    """
    parts: list[str] = [""]
    plain = False
    for char in pattern:
        if plain or char not in ("%", "_", escape):
            parts[-1] += re.escape(char)
            plain = False
        elif char == escape:
            plain = True
        elif char == "%":
            parts.append("")
        else:
            parts[-1] += "."
    first, *others = parts
    middle = "".join(f"(?>.*?{part})" for part in others[:-1] if part)
    last = f".*{others[-1]}" if others else ""
    return re.compile(first + middle + last, re.IGNORECASE | re.ASCII | re.DOTALL)


def install(connection: sqlite3.Connection, work: Work) -> set[str]:
    """Give a connection these functions.

    Returns:
        Names, in lower case, of all that may be called.
    """
    made: list[tuple[str, int, Callable[..., Any]]] = [
        ("like", 2, partial(_like, work)),
        ("like", 3, partial(_like, work)),
        ("instr", 2, _instr),
        ("locate", 2, lambda part, text: _instr(text, part)),
        ("replace", 3, partial(_replace, work)),
        ("trim", 2, partial(_trim, work, str.strip)),
        ("ltrim", 2, partial(_trim, work, str.lstrip)),
        ("rtrim", 2, partial(_trim, work, str.rstrip)),
        ("concat", -1, partial(_concat, work)),
        ("concat_ws", -1, partial(_concat_ws, work)),
        ("if", 3, lambda test, yes, no: yes if _true(test) else no),
        ("char_length", 1, lambda text: None if text is None else len(text_of(text))),
        ("year", 1, lambda date: _part(date, 0)),
        ("month", 1, lambda date: _part(date, 1)),
        ("day", 1, lambda date: _part(date, 2)),
    ]
    for name, number, function in made:
        connection.create_function(name, number, _charged(work, function), deterministic=True)
    return NATIVE | {name for name, _, _ in made}


def _charged(work: Work, function: Callable[..., Any]) -> Callable[..., Any]:
    """Charge for the texts that a function is given."""

    def call(*values: Value) -> Any:
        given = sum([len(value) for value in values if isinstance(value, str | bytes)])
        work.charge(CALL + given)
        return function(*values)

    return call


def _like(work: Work, pattern: Value, text: Value, escape: Value = "") -> bool | None:
    if pattern is None or text is None or escape is None:
        return None
    if isinstance(pattern, bytes) or isinstance(text, bytes):
        return False
    pattern, text, escape = text_of(pattern), text_of(text), text_of(escape)
    work.check("a pattern", len(pattern), PATTERN)
    work.check("an escape", len(escape), 1)
    if (pattern, escape) not in work.patterns:  # not what is kept from other statements
        work.patterns.add((pattern, escape))
        work.charge(READ * len(pattern))
    work.charge(len(text) * len(pattern))
    return matcher(pattern, escape).fullmatch(text) is not None


def _instr(text: Value, part: Value) -> int | None:
    if text is None or part is None:
        return None
    return text_of(text).find(text_of(part)) + 1


def _replace(work: Work, text: Value, old: Value, new: Value) -> str | None:
    if text is None or old is None or new is None:
        return None
    text, old, new = text_of(text), text_of(old), text_of(new)
    if not old:
        return text
    work.made(len(text) + text.count(old) * (len(new) - len(old)))
    return text.replace(old, new)


def _trim(work: Work, strip: Callable[[str, str], str], text: Value, chars: Value) -> str | None:
    if text is None or chars is None:
        return None
    text, chars = text_of(text), text_of(chars)
    work.charge(len(text) * len(chars))
    return strip(text, chars) if chars else text


def _concat(work: Work, *values: Value) -> str | None:
    if None in values:
        return None
    texts = [text_of(value) for value in values]
    work.made(sum(map(len, texts)))
    return "".join(texts)


def _concat_ws(work: Work, between: Value, *values: Value) -> str | None:
    if between is None:
        return None
    texts = [text_of(value) for value in values if value is not None]
    between = text_of(between)
    work.made(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


def _true(value: Value) -> bool:
    """Whether a value counts as true; a text by the number that it starts with."""
    if value is None or isinstance(value, int | float):
        return bool(value)
    start = re.match(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)", text_of(value), re.ASCII)
    return start is not None and float(start[0]) != 0


def _part(date: Value, place: int) -> int | None:
    """Return a part of a date that is written `2010-12-31`, perhaps with a time after it."""
    found = re.match(r"(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)", text_of(date), re.ASCII)
    return int(found.group(place + 1)) if found else None
