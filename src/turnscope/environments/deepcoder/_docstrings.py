"""What the statement of a function, a docstring, tells of its calls."""

import ast
import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from turnscope.environments.deepcoder.problems import Case, agrees, stands_in

REACH = 2000
"""Most characters of a call."""


class Example(NamedTuple):
    """A call in a docstring."""

    arguments: list[Any]
    shown: str
    """What the docstring says that it returns."""


def examples(prompt: str, entry: str) -> list[Example]:
    """Find the examples `>>> entry(...)` and `>>> entry(...) == value` with literal arguments."""
    lines = [line.strip() for line in prompt.splitlines()]
    found = []
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if not line.startswith(f">>> {entry}("):
            continue
        try:
            call = ast.parse(line.removeprefix(">>> "), mode="eval").body
            if isinstance(call, ast.Compare) and isinstance(call.ops[0], ast.Eq):
                call, below = call.left, ast.unparse(call.comparators[0])
            if isinstance(call, ast.Call) and not call.keywords:
                arguments = [ast.literal_eval(node) for node in call.args]
                found.append(Example(json.loads(json.dumps(arguments)), below))
        except (SyntaxError, TypeError, ValueError):
            continue
    return found


def shown(prompt: str, entry: str) -> Iterator[list[Any]]:
    """Yield the arguments of all calls with literals in a statement, whatever stands around."""
    for start in re.finditer(rf"(?<!\w){re.escape(entry)}\s*\(", prompt):
        text = prompt[start.end() : start.end() + REACH]
        for end in re.finditer(r"\)", text):  # a bracket may stand in a text
            try:
                call = ast.parse(f"f({text[: end.end()]}", mode="eval").body
            except (SyntaxError, ValueError):
                continue
            if isinstance(call, ast.Call):
                given = [*call.args, *(keyword.value for keyword in call.keywords)]
                with contextlib.suppress(TypeError, ValueError):
                    yield json.loads(json.dumps([ast.literal_eval(node) for node in given]))
            break


def is_told(case: Case, prompt: str) -> bool:
    """Say whether a statement shows arguments, in whatever form.

    Numbers and the shortest values stand in many statements without being an example: only such as
    `N = 150` and `Input: 3` count.
    """
    if any(isinstance(value, list | dict | str) and len(value) > 1 for value in case.input):
        return stands_in(case, prompt)
    spelled = [re.escape(json.dumps(value)) for value in case.input]
    return bool(spelled) and all(
        re.search(rf"(?<![=<>!])[=:]\s*{value}(?![\w.]*\w)", prompt) for value in spelled
    )


def is_right(example: Example, value: Any) -> bool:
    """Say whether an example shows what its call returns; what is no data counts as right."""
    try:
        return agrees(ast.literal_eval(example.shown), value, script=False)
    except (SyntaxError, ValueError):
        return True
