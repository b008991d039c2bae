"""JSON values of problems: read strictly, checked, told apart, and shown in messages."""

import json
import keyword
import math
from typing import Any


def parse(text: str) -> Any:
    """Parse JSON.

    Raises:
        ValueError: It is not JSON, an object has a key twice, or a number is no finite one.
    """
    try:
        return json.loads(
            text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_object
        )
    except RecursionError:
        raise ValueError("too deeply nested; legal is what a JSON parser takes") from None
    except ValueError as fault:
        raise ValueError(f"not JSON: {fault}") from None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is beyond all floats")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice[:40]!r} comes twice")
    return found


def check(name: str, value: Any) -> None:
    """Refuse what a file of JSON in UTF-8 cannot carry.

    Args:
        name: What the value is, for the message.
        value: Of any kind.

    Raises:
        ValueError: It holds NaN, an infinity, half of a surrogate pair, or no JSON value.
    """
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except RecursionError:
        fault = "is too deeply nested"
    except UnicodeEncodeError:
        fault = "has half of a surrogate pair"
    except (TypeError, ValueError):
        fault = "has what JSON cannot carry, such as NaN"
    else:
        return
    raise ValueError(f"{name} {fault}; legal are JSON values in UTF-8")


def identity(value: Any) -> str:
    """Spell a value so that two are spelled alike just if they are equal (`1 == 1.0 == True`)."""
    return value if isinstance(value, str) else json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    """Write numbers that are whole as integers, at any depth."""
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value


def is_name(text: str) -> bool:
    """Say whether a function may be called so."""
    return text.isidentifier() and not keyword.iskeyword(text)


def short(value: Any) -> str:
    """Show a value that may be large, on one line."""
    kind = type(value)
    if kind in (dict, list):
        return f"{'an object' if kind is dict else 'a list'} of {len(value)}"
    text = repr(value[:60] if kind is str else value)
    return text if len(text) <= 80 else text[:77] + "..."
