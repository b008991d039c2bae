"""The scenes of `small_requests` by class, and which of their problems are for test."""

import json
from functools import lru_cache
from typing import Any

from turnscope import draws
from turnscope.environments.bfcl import _cars, _files, _messages
from turnscope.environments.bfcl._scenes import Call, Scene, compact, parse

SCENES: dict[str, Scene] = {
    "GorillaFileSystem": _files.SCENE,
    "VehicleControlAPI": _cars.SCENE,
    "MessageAPI": _messages.SCENE,
}
"""By the name of the official class."""
HELD_OUT = 0.3
"""Share of pairs, and of problems without one, that are for test."""
FUNCTIONS = {name: scene for scene in SCENES.values() for name in scene.parameters}


def scene_of(payload: dict[str, Any]) -> Scene:
    """Return the scene of a problem.

    Raises:
        ValueError: The problem was not made by `small_requests`.
    """
    classes = payload["classes"]
    scene = SCENES.get(classes[0]) if len(classes) == 1 else None
    if scene is None or not {*payload["functions"]} <= {*scene.parameters}:
        raise ValueError(f"classes {classes} have no expert; problems of small_requests have one")
    return scene


@lru_cache(maxsize=1 << 14)
def read(text: str) -> Call:
    """Read a call as the official checker does; one that it cannot run equals no other."""
    name = text.partition("(")[0]
    try:
        return parse(text, FUNCTIONS[name].parameters[name] if name in FUNCTIONS else ())
    except (SyntaxError, ValueError):  # as f(class=1), and a.b()
        return (text,)


def kinds(function: str) -> tuple[str, ...]:
    """Return of what kind each argument of a function is; empty where none was drawn."""
    return FUNCTIONS[function].kinds.get(function, ()) if function in FUNCTIONS else ()


def is_pair(call: Call) -> bool:
    """Say whether two drawn values stand together in a call."""
    return sum(bool(kind) for kind in kinds(call[0])) > 1


@lru_cache(maxsize=1 << 14)
def side(call: Call) -> str:
    """Say for which split a pair is, in every study."""
    return _drawn(compact([call]))


def split_of(payload: dict[str, Any]) -> str:
    """Say whether a problem is for `train` or `test`; empty if it has pairs of both."""
    calls = [read(text) for some in payload["gold"] for text in some]
    sides = {side(call) for call in calls if is_pair(call)}
    if sides:
        return sides.pop() if len(sides) == 1 else ""
    # Not by the configuration: that of another problem with the same solution may differ in nothing
    # that matters.
    return _drawn(json.dumps(payload["gold"]))


def _drawn(text: str) -> str:
    held = draws.uniform(draws.seed("small_requests", "split", text), 0) < HELD_OUT
    return "test" if held else "train"
