"""The short format of calls, in which a small model has to say few tokens.

A response is calls with ` ; ` between them, or `done`. A call is the name of a function and its
arguments with one blank between them, in the order of the signature; `name=value` gives one out of
order. What a value means is said by the signature: a text of printable characters stands as it is,
any other in JSON's quotes, items of a list have commas between them, objects are JSON without
blanks.

    mkdir docs ; mv a.txt docs
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

DONE = "done"
TOKEN = r'(?:[!#-:<-~]|"(?:[^"\\\x00-\x1f]|\\.)*")+'
"""Printable characters but `;`, and quoted texts."""
LINE = re.compile(rf"(?:{TOKEN}|;)(?: (?:{TOKEN}|;))*")
PIECE = re.compile(rf"{TOKEN}|;")
BARE = re.compile(r"[!#-:<-~]+")
INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+(?:e[+-]?[0-9]+)?|-?[1-9]e[+-]?[0-9]+")
WORDS = {"True": True, "False": False}
LIST = "array of "


class Signature(NamedTuple):
    """Parameters of a function."""

    kinds: dict[str, str]
    """Type of each, in order: `string`, `integer`, `float`, `boolean`, `dict`, `array of ...`."""
    needed: frozenset[str]
    """Those without a default."""


def signature(document: Mapping[str, Any]) -> Signature:
    """Read the documentation of a function, a schema of its parameters."""
    fields = document["parameters"]
    kinds = {
        name: LIST + field["items"]["type"] if field["type"] == "array" else field["type"]
        for name, field in fields["properties"].items()
    }
    return Signature(kinds, frozenset(fields.get("required", ())))


def read(text: str, signatures: Mapping[str, Signature]) -> list[tuple[str, dict[str, Any]]]:
    """Read a response.

    Returns:
        Names and arguments of its calls, none if it closes the request.

    Raises:
        ValueError: It is no such text, in one line.
    """
    if text == DONE:
        return []
    if not LINE.fullmatch(text):
        raise ValueError(f"say calls such as name value value ; name value, or {DONE}")
    calls: list[list[str]] = [[]]
    for piece in PIECE.findall(text):
        if piece == ";":
            calls.append([])
        else:
            calls[-1].append(piece)
    if not all(calls):
        raise ValueError("between two ; there must be a call")
    return [_call(name, values, signatures) for name, *values in calls]


def _call(
    name: str, values: Sequence[str], signatures: Mapping[str, Signature]
) -> tuple[str, dict[str, Any]]:
    if name not in signatures:
        raise ValueError(f"there is no function {name[:40] if name.isascii() else 'so called'}")
    kinds, needed = signatures[name]
    order, given = [*kinds], {}
    for place, value in enumerate(values):
        key, equals, rest = value.partition("=")
        if equals and key in kinds:
            value = rest
        elif place < len(order):
            key = order[place]
        else:
            raise ValueError(f"{name} has {len(order)} arguments, not {len(values)}")
        if key in given:
            raise ValueError(f"{name} is given {key} twice")
        given[key] = _value(value, kinds[key], f"{name} {key}")
    if missing := [key for key in order if key in needed and key not in given]:
        raise ValueError(f"{name} needs {missing[0]}")
    return name, given


def _value(text: str, kind: str, where: str) -> Any:
    """Read a value of a type; one in quotes is a text, whatever the type."""
    if text.startswith('"'):
        return _json(text, str, where)
    if kind == "string" and BARE.fullmatch(text):
        return text
    if kind in ("integer", "float") and INTEGER.fullmatch(text):
        return int(text)
    if kind == "float" and FLOAT.fullmatch(text):
        return float(text)
    if kind == "boolean" and text in WORDS:
        return WORDS[text]
    if kind == "dict":
        return _json(text, dict, where)
    if kind.startswith(LIST) and text:
        if text.startswith("["):
            return _json(text, list, where)
        return [_value(item, kind.removeprefix(LIST), where) for item in text.split(",")]
    raise ValueError(f"{where} is not of type {kind}")


def _json(text: str, kind: type, where: str) -> Any:
    try:
        value = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, kind):
        raise ValueError(f"{where} cannot be read")
    return value


def refuse(constant: str) -> None:
    """Read NaN and infinities, which Python takes for JSON.

    Raises:
        ValueError: Always.
    """
    raise ValueError(f"{constant} is no JSON")


def spell(calls: Sequence[tuple[str, dict[str, Any]]], signatures: Mapping[str, Signature]) -> str:
    """Write a response that `read` reads as these calls; without any, the one that closes.

    Raises:
        ValueError: A value cannot be said, as None.
    """
    return " ; ".join(_spelled(*call, signatures) for call in calls) or DONE


def _spelled(name: str, given: Mapping[str, Any], signatures: Mapping[str, Signature]) -> str:
    kinds, words, in_order = signatures[name].kinds, [name], True
    for key, kind in kinds.items():
        if key not in given:
            in_order = False
            continue
        word = _word(given[key], kind)
        if not in_order or word.partition("=")[0] in kinds:
            word = f"{key}={word}"
        words.append(word)
    return " ".join(words)


def _word(value: Any, kind: str) -> str:
    if isinstance(value, str) and kind == "string" and BARE.fullmatch(value):
        return value
    if kind.startswith(LIST) and isinstance(value, list) and value:
        inner = kind.removeprefix(LIST)
        words = [_word(one, inner) for one in value]
        if not any(set('",[]') & set(word) for word in words):
            return ",".join(words)
    word = str(value) if isinstance(value, bool) else json.dumps(value, separators=(",", ":"))
    if _value(word, kind, "") != value:
        raise ValueError(f"{value!r} of type {kind} cannot be said in the compact format")
    return word
