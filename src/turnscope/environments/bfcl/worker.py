"""What runs inside the sandbox: the simulated systems of BFCL and its official checker.

The host sends the text of this module and a call of `begin` as the program of a session, so it
imports nothing of Turnscope. A state goes to the host as text and comes back with the next request,
and nothing else stays: equal requests get equal replies, in whatever process and order. Three
things would spoil that:

- The date. `verify_traveler_information` asks whether somebody is of age today, and files note when
  they were written. Here it is always the day on which the version of the package was published.
- Constants that systems hold in long_context, and that change with them. They are put back.
- Default arguments that are lists: a system keeps them, and they change with it. They are part of a
  state, because the next call of that method sees them.
"""

import ast
import base64
import copy
import datetime
import hashlib
import importlib
import inspect
import os
import pickle
import random
import sys
import time
import types
from collections.abc import Callable
from typing import Any

PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval"
SYSTEMS = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
"""Class -> its module."""
TODAY = datetime.datetime(2026, 3, 23)
TAG, NUMBER = "turn", "0"
"""Make the name of a system while a call runs: the same for all, for it can get into a text."""
FAILED = "Error during execution: "
"""What the executor says of a call that raised, before the message of the exception."""
LIMIT = f"{FAILED}limit exceeded"
NO_CALL, STRANGE = f"{FAILED}invalid syntax", "_()"
"""What a text answers that is no call, and what the checker gets for it: it raises, that is all."""
DEEP = f"{FAILED}maximum recursion depth exceeded"
"""How a call ends that ran out of stack; one out of memory has no message."""
LARGEST, LONGEST = 1 << 20, 100_000
"""Bytes of a state, and characters of an output; those of right trajectories are below a third."""

_systems: dict[str, Any] = {}
"""Classes by name."""
_pristine: list[tuple[dict[Any, Any], bytes]] = []
"""Constants that may change, and how they are at the start."""
_defaults: dict[str, tuple[types.FunctionType, bytes]] = {}
"""Class and method -> a method with lists as defaults, and how they are at the start."""


class Clock(datetime.datetime):
    """Dates as they are, but for the present one."""

    now = today = classmethod(lambda cls, tz=None: TODAY)  # type: ignore[assignment]


def begin(folder: str) -> None:
    """Import the package and stop its clocks.

    Args:
        folder: Where it lies.
    """
    sys.path.insert(0, folder)
    os.environ["TZ"] = "UTC"
    time.tzset()
    sources = f"{PACKAGE}.func_source_code"
    clock = types.ModuleType("datetime")
    clock.__dict__.update(vars(datetime), datetime=Clock)
    vars(importlib.import_module(f"{sources}.gorilla_file_system"))["datetime"] = clock
    vars(importlib.import_module(f"{sources}.travel_booking"))["datetime"] = Clock
    for value in vars(importlib.import_module(f"{sources}.long_context")).values():
        if isinstance(value, dict) and "__name__" not in value:
            _pristine.append((value, pickle.dumps(value)))
    for name, module in SYSTEMS.items():
        system = _systems[name] = getattr(importlib.import_module(f"{sources}.{module}"), name)
        for title, method in inspect.getmembers(system, inspect.isfunction):
            if any(isinstance(value, list | dict) for value in method.__defaults__ or ()):
                _defaults[f"{name}.{title}"] = method, pickle.dumps(method.__defaults__)


def serve(requests: list[list[Any]]) -> list[Any]:
    """Answer requests, each on its own.

    Args:
        requests: The name of `start`, `act`, `agreement` or `check`, and its arguments, each.
    """
    known = {one.__name__: one for one in (start, act, agreement, check)}
    return [known[name](*arguments) for name, *arguments in requests]


def start(config: dict[str, Any], classes: list[str], long: bool) -> tuple[str, str]:
    """Set systems up.

    Args:
        config: Class -> its state at the start.
        classes: In the order of the task.
        long: Whether they get the additions of long_context.

    Returns:
        A state and its digest.
    """
    _put_back()
    systems = {}
    for name in classes:
        system = systems[name] = _systems[name]()
        if hasattr(system, "_load_scenario"):
            system._load_scenario(copy.deepcopy(config.get(name, {})), long_context=long)
    return base64.b64encode(_pack(systems)).decode(), digest(systems)


def act(state: str, name: str, calls: list[str]) -> tuple[list[str], str, str]:
    """Make calls one after the other; one that exceeds a limit leaves the state as it was.

    Args:
        state: Comes from `start` or `act`.
        name: Its digest.
        calls: Source text.

    Returns:
        Their outputs, the state after them, and its digest.
    """
    packed = base64.b64decode(state)
    systems, outputs = _unpack(packed), []
    for call in calls:
        output = _wrong(call, list(systems)) or _execute(systems, call)
        try:
            after = _pack(systems)
            known = name if after == packed else digest(systems)
        except (RecursionError, MemoryError, ValueError):  # the last is of a number too long
            after, known = packed, ""
        if known and len(after) <= LARGEST and output != FAILED and not output.startswith(DEEP):
            packed, name = after, known
        else:
            systems, output = _unpack(packed), LIMIT
        outputs.append(_cut(output))
    return outputs, base64.b64encode(packed).decode(), name


def agreement(state: str, other: str) -> float:
    """Return the share of public attributes of all systems that are equal in two states.

    Args:
        state: One.
        other: Its attributes are counted; it has the same systems.
    """
    ones, others = _unpack(base64.b64decode(state)), _unpack(base64.b64decode(other))
    equal = [
        bool(getattr(ones[name], attribute, None) == value)
        for name, system in others.items()
        for attribute, value in vars(system).items()
        if not attribute.startswith("_")
    ]
    return sum(equal) / len(equal) if equal else 1.0


def check(task: dict[str, Any], calls: list[list[list[str]]]) -> str:
    """Ask the official checker.

    Args:
        task: `category`, `config`, `classes` and `gold`.
        calls: Request -> response -> its calls; as many requests as the gold has.

    Returns:
        Empty if the trajectory is valid, else the checker's name for what is wrong.
    """
    _put_back()
    kind, classes = f"multi_turn_{task['category']}", task["classes"]
    entry = {"id": f"{kind}_{NUMBER}", "initial_config": task["config"]}
    told = [
        [[STRANGE if _wrong(call, classes) else call for call in part] for part in request]
        for request in calls
    ]
    checker = importlib.import_module(f"{PACKAGE}.multi_turn_checker")
    entry["involved_classes"] = classes
    try:
        found = checker.multi_turn_checker(told, task["gold"], entry, kind, TAG)
    finally:
        _forget()
    return "" if found["valid"] else str(found["error_type"])


def digest(systems: dict[str, Any]) -> str:
    """Name a state, private attributes, shared objects and defaults included.

    Equal names mean that every call does the same in both.
    """
    written: list[str] = []
    _spell([systems, *map(list, _held(systems).values())], {}, written.append)
    return hashlib.sha256("\0".join(written).encode()).hexdigest()


def _put_back() -> None:
    """Make constants and defaults as they were when they were imported."""
    for value, content in _pristine:
        value.clear()
        value.update(pickle.loads(content))
    for method, content in _defaults.values():
        method.__defaults__ = pickle.loads(content)


def _wrong(call: str, classes: list[str]) -> str:
    """Say what is answered to a text that is no call of a function with literal arguments.

    The executor evaluates whatever it gets. Callers send only such texts; this is a second door.
    """
    try:
        node = ast.parse(call, mode="eval").body
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return NO_CALL
        for value in [*node.args, *(one.value for one in node.keywords)]:
            ast.literal_eval(value)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return NO_CALL
    name = node.func.id
    if name.startswith("_") or not any(hasattr(_systems[one], name) for one in classes):
        return f"{FAILED}name {name!r} is not defined"
    return ""


def _execute(systems: dict[str, Any], call: str) -> str:
    """Let the official executor make one call."""
    executor = importlib.import_module(f"{PACKAGE}.multi_turn_utils")
    for name, system in systems.items():
        vars(executor)[f"{TAG}_{NUMBER}_{name}_instance"] = system
    try:
        (output,), _ = executor.execute_multi_turn_func_call(
            [call], {}, list(systems), TAG, NUMBER, long_context=False, is_evaL_run=False
        )
    finally:
        _forget()
    return str(output)


def _forget() -> None:
    """Drop the systems that the executor keeps for ever."""
    kept = vars(importlib.import_module(f"{PACKAGE}.multi_turn_utils"))
    for name in [name for name in kept if name.startswith(f"{TAG}_")]:
        del kept[name]


def _held(systems: dict[str, Any]) -> dict[str, Any]:
    """Return the defaults that belong to a state."""
    return {
        name: method.__defaults__
        for name, (method, _) in _defaults.items()
        if name.partition(".")[0] in systems
    }


def _pack(systems: dict[str, Any]) -> bytes:
    return pickle.dumps((systems, _held(systems)), 5)


def _unpack(packed: bytes) -> dict[str, Any]:
    systems, held = pickle.loads(packed)
    for name, values in held.items():
        _defaults[name][0].__defaults__ = values
    return systems


def _cut(output: str) -> str:
    """Make an output that can be sent: whole characters, and not too many."""
    output = output.encode("utf-8", "backslashreplace").decode()
    if len(output) <= LONGEST:
        return output
    return f"{output[:LONGEST]}... ({len(output)} characters in all)"


def _spell(value: Any, seen: dict[int, int], write: Callable[[str], None]) -> None:
    """Write a value so that no other is written alike; objects are numbered as they come."""
    if isinstance(value, random.Random):
        value = value.getstate()
    if not isinstance(value, dict | list) and not hasattr(value, "__dict__"):  # cannot change
        write(f"{type(value).__name__} {value!r}")
        return
    if id(value) in seen:
        write(f"@{seen[id(value)]}")
        return
    seen[id(value)] = len(seen)
    parts = value
    if not isinstance(value, list):
        items = value.items() if isinstance(value, dict) else sorted(vars(value).items())
        parts = [part for item in items for part in item]
    write(f"{type(value).__name__} {len(parts)}")
    for part in parts:
        _spell(part, seen, write)
