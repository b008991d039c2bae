"""What a JSON schema says of a study, and how to say it to a person."""

import difflib
import math
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator, validators


def _is_integer(_: Any, value: Any) -> bool:
    """Tell whole numbers; 4.0 is none, since it may not count anything in Python."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(_: Any, value: Any) -> bool:
    """Tell finite numbers; a specification cannot hold others."""
    return _is_integer(_, value) or (isinstance(value, float) and math.isfinite(value))


_Validator: Any = validators.extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine_many(
        {"integer": _is_integer, "number": _is_number}
    ),
)


def faults(value: Any, schema: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield one line for each fault, misspelt keys first.

    Args:
        value: What is checked.
        schema: JSON schema of it, draft 2020-12.
        prefix: Key under which the value stands.
    """
    errors = _Validator(schema).iter_errors(value)
    for error in sorted(
        errors, key=lambda error: (error.validator != "additionalProperties", error.json_path)
    ):
        yield _line(error, prefix)


def filled(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Copy a value, add the defaults of its schema, and write 1 as 1.0 where it is a measure.

    What is under `allOf` is a part of a section that is whole elsewhere, and gets no defaults.
    """
    part = "allOf" in schema
    schema = schema["allOf"][0] if part else schema
    while "$ref" in schema:
        target: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        schema = target
    if isinstance(value, Mapping):
        known = schema.get("properties", {})
        others = schema.get("additionalProperties", {})
        defaults = {key: one["default"] for key, one in known.items() if "default" in one}
        return {
            key: filled(entry, known.get(key, others if isinstance(others, dict) else {}), root)
            for key, entry in {**({} if part else defaults), **value}.items()
        }
    if isinstance(value, list):
        return [filled(entry, schema.get("items", {}), root) for entry in value]
    if schema.get("type") == "number" and _is_integer(None, value) and abs(value) < 2**53:
        return float(value)
    return value


def _line(error: Any, prefix: str = "") -> str:
    """Say what is wrong, in one line that starts with the key."""
    path = ".".join([*filter(None, [prefix]), *map(str, error.absolute_path)])
    value, rule = error.instance, error.validator_value
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        key = next(key for key in value if key not in known)
        return unknown(f"{path}.{key}".lstrip("."), "key", key, known)
    if error.validator == "required":
        missing = next(key for key in rule if key not in value)
        return f"{f'{path}.{missing}'.lstrip('.')}: this key is missing"
    if error.validator == "oneOf":
        return (
            f"{path}: needs exactly one of {', '.join(rule[0]['required'] + rule[1]['required'])}"
        )
    legal = {
        "type": lambda: " or ".join([rule] if isinstance(rule, str) else rule),
        "minimum": lambda: f"at least {rule}",
        "exclusiveMinimum": lambda: f"above {rule}",
        "maximum": lambda: f"at most {rule}",
        "exclusiveMaximum": lambda: f"below {rule}",
        "enum": lambda: ", ".join(map(str, rule)),
        "minItems": lambda: f"a list of at least {rule}",
        "maxItems": lambda: f"a list of at most {rule}",
        "anyOf": lambda: " or ".join(dict.fromkeys(part.get("type", "any") for part in rule)),
        "uniqueItems": lambda: "a list without repeats",
        "minProperties": lambda: f"at least {rule} entries",
        "pattern": lambda: error.schema["description"],
        "not": lambda: f"anything but {', '.join(rule['enum'])}",
    }.get(error.validator, lambda: error.message)()
    return f"{path}: {reprlib.repr(value)} is not legal; legal is {legal}"


def unknown(path: str, what: str, name: object, known: Iterable[str]) -> str:
    """Say that a name does not exist, and which do."""
    names = list(known)
    near = difflib.get_close_matches(str(name), names, 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return f"{path}: unknown {what} {name!r}{hint}; known: {', '.join(names) or 'none'}"
