"""What the generated scenes of `small_requests` share: calls as tuples, and how they are written.

A call is a tuple of a name and the values of its arguments in their order, such as
`("mv", "plan", "memo")`.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

Call = tuple[Any, ...]


class Asked(NamedTuple):
    """One request."""

    text: str
    """What the user says."""
    calls: tuple[Call, ...]
    """What is to be done."""


class World(Protocol):
    """A drawn state of an API class, which follows what is asked of it."""

    def config(self) -> dict[str, Any]:
        """Return the configuration from which the official class starts."""
        ...

    def ask(self, random: np.random.Generator) -> Asked:
        """Draw a request that makes sense now, and do it."""
        ...


class Scene(NamedTuple):
    """How requests to one API class are made."""

    stratum: str
    parameters: Mapping[str, tuple[str, ...]]
    """Of each function that may be called."""
    kinds: Mapping[str, tuple[str, ...]]
    """Of what kind each argument is that can be mistaken; empty where none can."""
    looks: frozenset[str]
    """Functions whose output says what the next call needs."""
    draw: Callable[[np.random.Generator], World]
    pools: Callable[[dict[str, Any]], dict[str, Sequence[Any]]]
    """Values of each kind, given a configuration."""
    slips: tuple[str, ...]
    """Responses that do what nobody asked for."""


def choose(random: np.random.Generator, values: Sequence[Any], number: int) -> list[Any]:
    """Draw some of the values, all different, in random order."""
    return [values[place] for place in random.permutation(len(values))[:number]]


def one(random: np.random.Generator, values: Sequence[Any]) -> Any:
    """Draw one of the values."""
    return values[int(random.integers(len(values)))]


def compact(calls: Sequence[Call]) -> str:
    """Write calls as a small model says them."""
    return " ; ".join(" ".join(map(str, call)) for call in calls)


def official(scene: Scene, call: Call) -> str:
    """Write a call as the official checker reads it."""
    names = scene.parameters[call[0]]
    arguments = ", ".join(f"{name}={value!r}" for name, value in zip(names, call[1:], strict=False))
    return f"{call[0]}({arguments})"


def parse(text: str, parameters: Sequence[str]) -> Call:
    """Read a call with literal arguments.

    Args:
        text: As the official checker reads it.
        parameters: Names of the parameters, in the order of the result.

    Raises:
        ValueError: It is no such call.
    """
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"{text!r} is no call")
    named = {word.arg: ast.literal_eval(word.value) for word in node.keywords}
    in_order = [named.pop(name) for name in parameters if name in named]
    return (node.func.id, *map(ast.literal_eval, node.args), *in_order, *named.values())
