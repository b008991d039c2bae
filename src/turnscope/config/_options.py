"""Whether options fit the function that will be called with them."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from turnscope.config import _schema

KINDS = {bool: "boolean", int: "integer", float: "number", str: "string", NoneType: "null"}


def misfits(
    path: str, function: Callable[..., Any], options: Mapping[str, Any], *arguments: Any
) -> Iterator[str]:
    """Yield names that the function does not take, and values of another type than it says.

    Args:
        path: Key of the options.
        function: Takes them by keyword.
        options: By name.
        arguments: What it is given beside the options.
    """
    signature = inspect.signature(function)
    known = [
        name
        for name, parameter in signature.parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    for name in options:
        if name not in known:
            yield _schema.unknown(f"{path}.{name}", "option", name, known)
            return
    try:
        signature.bind(*arguments, **options)
    except TypeError as error:
        yield f"{path}: {error}; known: {', '.join(known)}"
        return
    hints = get_type_hints(function.__init__ if inspect.isclass(function) else function)
    kinds = {name: _kind(hint) for name, hint in hints.items() if name in known}
    yield from _schema.faults(dict(options), {"properties": kinds}, path)


def refusal(path: str, function: Callable[..., Any], options: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the function itself says against the options."""
    try:
        function(**options)
    except (TypeError, ValueError) as error:
        yield f"{path}: {' '.join(str(error).split())}"


def _kind(hint: Any) -> dict[str, Any]:
    """Translate a type hint to a JSON schema; what has no translation fits everything."""
    parts = get_args(hint)
    match get_origin(hint) or hint:
        case kind if kind in KINDS:
            return {"type": KINDS[kind]}
        case kind if kind in (Union, UnionType):
            return {"anyOf": [_kind(part) for part in parts]}
        case kind if kind is Literal:
            return {"enum": list(parts)}
        case kind if kind in (Sequence, list):
            return {"type": "array", "items": _kind(parts[0]) if parts else {}}
        case kind if kind in (Mapping, dict):
            return {"type": "object"}
    return {}
