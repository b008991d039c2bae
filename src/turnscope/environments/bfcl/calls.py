"""What a model says, read as calls of functions with literal arguments. Nothing is evaluated.

A call is rebuilt from what was read, so whoever runs its text meets names and literals alone.
`compact` is for small models; `qwen3` and `python` are formats of the benchmark, read as it does.
"""

import ast
import json
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from turnscope.environments.bfcl import compact
from turnscope.environments.bfcl.compact import Signature

FORMATS = ("compact", "qwen3", "python")
LENGTH = 20_000
"""Most characters of a response that are read, reasoning not counted."""
NUMBER = 50
"""Most calls of a response."""
VALUES, DEPTH = 2_000, 8
"""Most values of a response, and how deep they may be nested."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
OPEN, SHUT = "<tool_call>\n", "\n</tool_call>"
ATTEMPT = re.compile(r"(?:python\s+)?(?:\[|[A-Za-z_][\w.]*\()")
"""How a response begins that is meant to call, and is not a word to the user."""


class Call(NamedTuple):
    """A call of one function."""

    name: str
    arguments: dict[str, Any]
    """JSON values by name of the parameter."""

    @property
    def text(self) -> str:
        """Return the call as Python writes it."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.name}({given})"


class Fault(NamedTuple):
    """Why a response could not be read."""

    why: str
    """One line."""
    calls: tuple[Call, ...] = ()
    """Calls of it that could, which the benchmark would run."""


def parse(text: str, form: str, signatures: Mapping[str, Signature]) -> list[Call] | Fault:
    """Read a response.

    Args:
        text: What the model said.
        form: One of `FORMATS`.
        signatures: Functions that may be called; `compact` knows no others.

    Returns:
        Its calls, none if it closes the request.
    """
    said = text if form == "compact" else text.rpartition("</think>")[2]
    if len(said) > LENGTH:
        return Fault(f"the response has {len(said)} characters; legal are {LENGTH}")
    try:
        if form == "compact":
            calls = [Call(*found) for found in compact.read(said, signatures)]
        else:
            calls = {"qwen3": _qwen3, "python": _python}[form](said)
    except ValueError as problem:
        return Fault(str(problem))
    found = calls.calls if isinstance(calls, Fault) else calls
    wrong = _wrong(found)
    if not wrong:
        return calls
    legal = tuple(call for call in found if not _wrong([call]))
    return Fault(wrong, () if _wrong(legal) else legal)


def spell(calls: Sequence[Call], form: str, signatures: Mapping[str, Signature]) -> str:
    """Write a response that `parse` reads as these calls; without any, one that closes.

    Raises:
        ValueError: The format cannot say it.
    """
    if form == "compact":
        return compact.spell(calls, signatures)
    if form == "qwen3":
        bodies = (json.dumps({"name": one.name, "arguments": one.arguments}) for one in calls)
        return "\n".join(f"{OPEN}{body}{SHUT}" for body in bodies) or "Done."
    return f"[{', '.join(call.text for call in calls)}]"


def from_python(text: str, signatures: Mapping[str, Signature]) -> Call:
    """Read a call of a task's solution, whose arguments may come without names.

    Raises:
        ValueError: It is no call with literal arguments.
    """
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.Call):
        raise ValueError(f"{text!r} is not a call")
    call = _python_call(node)
    names = list(signatures[call.name].kinds) if call.name in signatures else []
    placed = zip(names, (_literal(one) for one in node.args), strict=False)
    return Call(call.name, dict(placed) | call.arguments)


def _qwen3(said: str) -> list[Call] | Fault:
    """Read blocks of tool calls.

    Source:
        The handler of Qwen models in bfcl-eval 2026.3.23: blocks that are no JSON are left out,
        and a response with a block of another shape is not read at all.
        Differs: numbers are finite and of 64 bits.
    """
    calls: list[Call] = []
    outside, broken, at = "", "", 0
    while (start := said.find(OPEN, at)) >= 0:
        end = said.find(SHUT, start + len(OPEN))
        if end < 0:
            break
        outside += said[at:start]
        at = end + len(SHUT)
        try:
            found = json.loads(said[start + len(OPEN) : end], parse_constant=compact.refuse)
        except (ValueError, RecursionError):
            broken = "a <tool_call> block holds no JSON"
        else:
            calls.append(_tool_call(found))
    if "tool_call>" in outside + said[at:]:
        broken = "a block must be <tool_call>, JSON and </tool_call>, each on its own line"
    return Fault(broken, tuple(calls)) if broken else calls


def _tool_call(found: Any) -> Call:
    if not isinstance(found, dict) or not {"name", "arguments"} <= found.keys():
        raise ValueError('a <tool_call> block must hold {"name": ..., "arguments": {...}}')
    arguments = found["arguments"]
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments, parse_constant=compact.refuse)
        except (ValueError, RecursionError):
            raise ValueError("the arguments of a call are no JSON") from None
    if not isinstance(found["name"], str) or not isinstance(arguments, dict):
        raise ValueError("the name of a call must be a text, and its arguments a JSON object")
    return Call(found["name"], arguments)


def _python(said: str) -> list[Call] | Fault:
    """Read a list of calls as Python writes it.

    Source:
        The prompting handlers of bfcl-eval 2026.3.23, which drop arguments without a name.
        Differs: arguments are literals alone; nested calls and sums are refused.
    """
    said = said.strip("`\n ")
    text = said if said.startswith("[") else f"[{said}"
    text = text if said.endswith("]") else f"{text}]"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, mode="eval").body
        nodes = tree.elts if isinstance(tree, ast.List) else [tree]
        calls = [_python_call(node) for node in nodes]
    except (SyntaxError, MemoryError, RecursionError):
        why = "the response is no list of calls such as [f(a=1), g(b='x')]"
        return Fault(why) if ATTEMPT.match(said) else []
    except ValueError:
        if not ATTEMPT.match(said):
            return []
        raise
    return calls


def _python_call(node: ast.AST) -> Call:
    if not isinstance(node, ast.Call):
        raise ValueError("the response is no list of calls such as [f(a=1), g(b='x')]")
    given = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise ValueError("arguments must be given by name, as in f(a=1)")
        given[keyword.arg] = _literal(keyword.value)
    return Call(_dotted(node.func), given)


def _dotted(node: ast.AST) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise ValueError("what is called must be the name of a function")
    return ".".join([node.id, *reversed(parts)])


def _literal(node: ast.AST) -> Any:
    """Read a literal; a bare name is a text, as in the benchmark, and a tuple a list."""
    if isinstance(node, ast.Constant):
        if node.value is None or isinstance(node.value, bool | int | float | str):
            return node.value
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _literal(node.operand)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return -value
    elif isinstance(node, ast.List | ast.Tuple):
        return [_literal(one) for one in node.elts]
    elif isinstance(node, ast.Dict):
        keys = [_literal(key) if key else None for key in node.keys]
        if all(isinstance(key, str) for key in keys):
            return dict(zip(keys, map(_literal, node.values), strict=True))
    elif isinstance(node, ast.Name):
        return node.id
    raise ValueError("arguments must be literals: numbers, texts, True, False, None, lists, dicts")


def _wrong(calls: Sequence[Call]) -> str:
    """Say what of calls is not legal, in one line; empty if all is."""
    if len(calls) > NUMBER:
        return f"the response has {len(calls)} calls; legal are {NUMBER}"
    left = VALUES
    for call in calls:
        if not NAME.fullmatch(call.name):
            return "the name of a function has characters that are not legal"
        for name in call.arguments:
            if not NAME.fullmatch(name) or "." in name:
                return "the name of an argument has characters that are not legal"
        why, left = _value(call.arguments, left, DEPTH + 1)
        if why:
            return why
    return ""


def _value(value: Any, left: int, depth: int) -> tuple[str, int]:
    """Check a JSON value; return what is wrong with it and how many more there may be."""
    if left <= 0:
        return f"the response has more values than {VALUES}, which are legal", 0
    if depth < 0:
        return f"values are nested deeper than {DEPTH}, which is legal", 0
    left -= 1
    if isinstance(value, list | dict):
        for one in [*value, *value.values()] if isinstance(value, dict) else value:
            why, left = _value(one, left, depth - 1)
            if why:
                return why, 0
    elif isinstance(value, str):
        # What is no text of Unicode could not be told to another process.
        if not value.isascii() and any("\ud800" <= one <= "\udfff" for one in value):
            return "a text has half of a character", 0
    elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return "a number needs more than 64 bits", 0
    elif isinstance(value, float) and not math.isfinite(value):
        return "a number is not finite", 0
    return "", left
