"""What a child of the zygote does: run one program and answer the host.

Runs inside the isolation with the standard library alone. The child holds its program, the inputs
it was sent so far, and nothing else: expected outputs never come here, and the next inputs come
only after these were answered. A program can do to this code what it likes: that changes only what
is said of that program, and the host believes nothing but the form.

Messages to the child are a length, four bytes, and a marshalled list: [more to come, inputs, text,
entry], later [more to come, inputs]. The host can be trusted; the child cannot, so it answers in
lines of JSON: [status, value or error] for an input, [status, error, null] for the whole run.
"""

import atexit
import builtins
import contextlib
import gc
import io
import json
import marshal
import math
import os
import signal
import struct
import sys
import threading
import types
from typing import Any

from turnscope.sandbox import prelude

NAME = "program.py"
ERROR_LENGTH = 200
"""Longest message of an exception that the host passes on, characters."""
DEPTH = 64
"""Deepest nesting of a value."""
TAGS = ("set", "dict", "repr")
INTEGERS = {int}
DIGITS, LONGEST = 4000, 13_000
"""Digits and bits of an integer that the host can still read, less than 4,300 digits."""
MARSHAL = 2
"""Version of the format: the last in which no two inputs share an object."""
HEAD = struct.Struct("<I")


class Unfit(Exception):
    """Ends the whole run: the status and the error of every input."""


def encode(value: Any, depth: int = DEPTH) -> Any:
    """Turn a value into what JSON can carry.

    Tuples become lists, a set {"set": [...]} in order, a dict with other keys than text {"dict":
    [[key, value], ...]} in order of the keys, and what has no such form {"repr": text}.
    """
    kind = type(value)
    if kind is bool or value is None:
        return value
    if kind is int:
        return value if value.bit_length() < LONGEST else {"repr": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"repr": repr(value)}
    if kind is str:
        return value if _is_unicode(value) else {"repr": ascii(value)}
    if depth == 0:
        return {"repr": "..."}
    if isinstance(value, list | tuple):
        return [encode(item, depth - 1) for item in value]
    if isinstance(value, set | frozenset):
        return {"set": sorted((encode(item, depth - 1) for item in value), key=_order)}
    if isinstance(value, dict):
        items = [(encode(key, depth - 1), encode(item, depth - 1)) for key, item in value.items()]
        if all(type(key) is str for key, _ in items) and not (
            len(items) == 1 and items[0][0] in TAGS
        ):
            return dict(items)
        return {"dict": sorted(([key, item] for key, item in items), key=lambda p: _order(p[0]))}
    for plain in (bool, int, float, str):
        if isinstance(value, plain):
            return encode(plain(value), depth - 1)
    return {"repr": repr(value)}


def _order(value: Any) -> tuple[int, float, str]:
    """Sort numbers by size, before everything else by its text."""
    if isinstance(value, int | float):
        with contextlib.suppress(OverflowError):
            return (0, float(value), str(value))
    return (1, 0.0, json.dumps(value))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def describe(error: BaseException) -> str:
    """Say in one line what was raised, without places of the machine it was raised on."""
    try:
        text = str(error.msg if isinstance(error, ImportError) and error.msg else error)
    except BaseException:  # noqa: BLE001  # the program's own __str__
        text = ""
    name = type(error).__name__
    if isinstance(error, ImportError):
        text = text.partition(" (/")[0]
    return " ".join(f"{name}: {text}".split())[: 2 * ERROR_LENGTH] if text else name


def _failure(error: BaseException) -> list[str]:
    return ["memory" if isinstance(error, MemoryError) else "error", describe(error)]


def call(channel: int, output: int, seconds: float = 0.0) -> None:
    """Define a program's functions, and answer batch after batch of calls of one of them.

    Args:
        channel: Descriptor of the socket to the host.
        output: Longest answer, bytes.
        seconds: Processor time after which a batch ends this process; 0 is without end.
    """
    more, inputs, text, entry = _receive(channel)
    try:
        function = _define(text, entry)
    except Unfit as unfit:
        _send(channel, [*unfit.args, None])
        return
    while True:
        if seconds:
            signal.setitimer(signal.ITIMER_PROF, seconds)
        for arguments in inputs:
            answer = _answer(function, arguments)
            if len(answer) > output:
                answer = b'["output", ""]\n'
            _write(channel, answer)
        if seconds:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        if not more:
            return
        more, inputs = _receive(channel)


def _define(text: str, entry: str) -> Any:
    """Return what makes the function anew for a call: methods get an object of their own."""
    code = _compile(text)
    module = sys.modules["program"] = types.ModuleType("program")
    module.__dict__["__builtins__"] = prelude.offered
    try:
        exec(code, module.__dict__)
    except BaseException as error:  # noqa: BLE001  # it is the program's
        raise Unfit(*_failure(error)) from None
    if callable(found := module.__dict__.get(entry)):
        return lambda: found
    solution = module.__dict__.get("Solution")
    if isinstance(solution, type) and callable(getattr(solution, entry, None)):
        return lambda: getattr(solution(), entry)
    raise Unfit("missing", f"{entry} is not defined")


def _compile(text: str) -> types.CodeType:
    try:
        return compile(text, NAME, "exec", dont_inherit=True)
    except MemoryError as error:
        raise Unfit("memory", describe(error)) from None
    except (SyntaxError, ValueError, RecursionError, OverflowError) as error:
        raise Unfit("syntax", describe(error)) from None


def _answer(function: Any, arguments: list[Any]) -> bytes:
    """Call once; the answer is one line."""
    try:
        value = function()(*arguments)
        kind = type(value)
        if kind is int or (kind is list and {*map(type, value)} <= INTEGERS):
            with contextlib.suppress(ValueError):  # a number has too many digits
                text = f'["ok", {value}]\n'  # the common case needs no encoder
                if len(text) < DIGITS:
                    return text.encode()
        return json.dumps(["ok", encode(value)]).encode() + b"\n"
    except BaseException as error:  # noqa: BLE001  # it is the program's
        return json.dumps(_failure(error)).encode() + b"\n"


def script(channel: int) -> None:
    """Run a program as a script; it leaves its output behind, and a message if it fails."""
    text = _receive(channel)[2]
    sys.argv[:] = [NAME]
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    failure = _play(text)
    getattr(threading, "_shutdown", lambda: None)()  # waits for its threads
    failure = _leave() or failure
    if failure is not None:
        _send(channel, [*failure, None])


def _play(text: str) -> list[str] | None:
    """Run a script to its end; return its failure."""
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__dict__.update(__file__=NAME, __builtins__=builtins)
    try:
        exec(_compile(text), module.__dict__)
    except Unfit as unfit:
        return list(unfit.args)
    except SystemExit as error:
        return None if error.code in (None, 0) else _failure(error)
    except BaseException as error:  # noqa: BLE001  # it is the program's
        return _failure(error)
    return None


def _leave() -> list[str] | None:
    """Do what the interpreter does at its end, so that nothing written is lost; as it does it.

    Returns:
        The failure to write what was printed.
    """
    try:
        atexit._run_exitfuncs()
        with contextlib.suppress(Exception):  # may be anything that the program put there
            sys.stdout.flush()
        sys.stdout = sys.__stdout__
        _flush_files()
        sys.modules.pop("__main__", None)
        gc.collect()  # objects say good-bye
        for one in gc.get_objects():
            if type(one) is dict and one.get("__file__") is NAME:
                one.clear()  # something outside the program holds it
        if sys.__stdout__ is not None and not sys.__stdout__.closed:
            sys.__stdout__.flush()
    except BaseException as error:  # noqa: BLE001  # it is the program's
        return _failure(error)
    return None


def _flush_files() -> None:
    """Write what files hold back; the collector might close first what lies under them."""
    for one in gc.get_objects():
        if issubclass(type(one), io.TextIOWrapper) and not one.closed:
            one.flush()


def _receive(channel: int) -> list[Any]:
    """Read one message of the host; leave if there is none, for the host gave up."""
    data = os.read(channel, 1 << 16)
    while len(data) < HEAD.size or len(data) < HEAD.size + HEAD.unpack_from(data)[0]:
        if not (part := os.read(channel, 1 << 20)):
            os._exit(0)
        data += part
    return marshal.loads(memoryview(data)[HEAD.size :])


def _send(channel: int, message: list[Any]) -> None:
    _write(channel, json.dumps(message).encode() + b"\n")


def _write(channel: int, data: bytes) -> None:
    while data:
        data = data[os.write(channel, data) :]
