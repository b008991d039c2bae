"""Run one program in a zygote and read what it answers.

Nothing that a child says is believed but its form: for each input, in order, one line of JSON with
a known status, no more lines than were asked for, not too long and not too deep. A program that
says anything else counts as one that died.
"""

import json
import marshal
import math
import os
import re
import select
import signal
import socket
import time
from collections.abc import Sequence
from typing import Any

from turnscope.sandbox import driver, zygote
from turnscope.sandbox.limits import Limits, Program, Result, Status
from turnscope.sandbox.worker import GRACE, Worker

EXTRA = 1 << 12
"""Bytes that an answer may have beyond its value."""
DEEPEST = 2 * driver.DEPTH + 8
"""Brackets within each other in an answer; a dict may take two for each."""
HALF = re.compile(rb"\\u[dD]")
"""Where half characters may be."""
TOGETHER = 10
"""Times of the clock's limit that the scripts of one run may take together."""
ADDRESS = re.compile(r"0x[0-9a-f]{8,}")
ONE = {Status.OK, Status.ERROR, Status.MEMORY, Status.OUTPUT}
ALL = {Status.ERROR, Status.MEMORY, Status.SYNTAX, Status.MISSING}
EARLY = {Status.SYNTAX, Status.MISSING}
"""What is known before there is a result."""
GONE = Result(Status.KILLED)
"""The child has closed its end; why is to be asked."""
ILLEGAL = Result(Status.KILLED, error="answered what is no answer")


def _refuse(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        _refuse(text)
    return number


_decoder = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)


def run(worker: Worker, program: Program, batches: Sequence[Sequence[Any]]) -> list[list[Result]]:
    """Run a program on batches of inputs; what it leaves unanswered gets the result of its end.

    Raises:
        ConnectionError: The zygote was dead before the run, or the kernel made no process for it.
    """
    results: list[list[Result]] = [[] for _ in batches]
    last = (_scripts if program.entry is None else _calls)(worker, program, batches, results)
    for found, batch in zip(results, batches, strict=True):
        found += [last] * (len(batch) - len(found))
    return results


def _calls(
    worker: Worker, program: Program, batches: Sequence[Sequence[Any]], results: list[list[Result]]
) -> Result:
    """Call a function on all inputs in one child; send a batch when the one before is answered.

    Returns:
        What inputs without a result get.
    """
    sent = [(batch, found) for batch, found in zip(batches, results, strict=True) if batch]
    if not sent:
        return GONE
    messages = [
        pack([i + 1 < len(sent), list(batch), *([] if i else program)])
        for i, (batch, _) in enumerate(sent)
    ]
    last = None
    with begin(worker, zygote.CALL, []) as channel:
        for message, (batch, found) in zip(messages, sent, strict=True):
            last = exchange(channel, message, len(batch), found, worker.limits.output)
            if last is not None:
                break
    if last is not None and last.status in EARLY and any(results):
        last = ILLEGAL
    why, code = finish(worker, last not in (None, GONE))
    return death(worker.limits, why, code) if last in (None, GONE) else last


def exchange(
    channel: socket.socket, message: bytes, wanted: int, found: list[Result], most: int
) -> Result | None:
    """Send a batch and read its answers, each at most `most` bytes and a little.

    Returns:
        The result of all other inputs, if that is known now.
    """
    rest = b""
    try:
        if _speaks(channel):
            return ILLEGAL  # it was not asked
        channel.sendall(message)
        while len(found) < wanted:
            part = channel.recv(1 << 16)
            if not part:
                return GONE
            *lines, rest = (rest + part).split(b"\n") if b"\n" in part else (rest + part,)
            for line in lines:
                one, result = _read(line)
                if not one or len(found) == wanted:
                    return ILLEGAL if one else result
                found.append(result)
            if max(map(len, [rest, *lines])) > most + EXTRA:
                return Result(Status.OUTPUT, error="answered too much")
    except OSError:
        return GONE
    return ILLEGAL if rest else None


def _speaks(channel: socket.socket) -> bool:
    """Whether there is something to read now."""
    poller = select.poll()
    poller.register(channel, select.POLLIN)
    return bool(poller.poll(0)) and bool(channel.recv(1, socket.MSG_PEEK))


def _scripts(
    worker: Worker, program: Program, batches: Sequence[Sequence[str]], results: list[list[Result]]
) -> Result:
    """Run a script once for each input, until it takes too long or is no program.

    Returns:
        What inputs without a result get.
    """
    end = time.monotonic() + TOGETHER * worker.limits.wall
    late = f"all took more than {TOGETHER * worker.limits.wall:g} s"
    for batch, found in zip(batches, results, strict=True):
        for text in batch:
            if time.monotonic() > end:
                return Result(Status.TIMEOUT, error=late)
            result = _script(worker, program.text, text)
            if result.status in EARLY and any(results):
                result = ILLEGAL
            found.append(result)
            if result.status in (Status.TIMEOUT, Status.SYNTAX) or not worker.alive:
                return result
    return GONE


def _script(worker: Worker, program: str, text: str) -> Result:
    """Run a script once."""
    most = worker.limits.output
    given, written = os.memfd_create("stdin"), os.memfd_create("stdout")
    try:
        _fill(given, text.encode(errors="replace"))
        heard = b""
        with begin(worker, zygote.SCRIPT, [given, written]) as channel:
            try:
                channel.sendall(pack([False, None, program]))
                while len(heard) < EXTRA and (part := channel.recv(EXTRA)):
                    heard += part
            except OSError:
                pass
        why, code = finish(worker, bool(heard) and len(heard) >= EXTRA)
        size = os.fstat(written).st_size
        output = os.pread(written, most, 0) if size <= most else b""
    finally:
        os.close(given)
        os.close(written)
    if why == zygote.FINISHED and size > most:
        return Result(Status.OUTPUT, error=f"wrote more than {most} bytes")
    value = output.decode(errors="replace")
    if why != zygote.FINISHED:
        return death(worker.limits, why, code)
    if heard:
        one, result = _read(heard.rstrip(b"\n"))
        return ILLEGAL if one else result._replace(value=value)
    if code:
        return death(worker.limits, why, code)._replace(value=value)
    return Result(Status.OK, value)


def _fill(file: int, data: bytes) -> None:
    """Write without moving the position, from which the child will read."""
    place = 0
    while place < len(data):
        place += os.pwrite(file, data[place:], place)


def begin(worker: Worker, kind: bytes, files: list[int]) -> socket.socket:
    """Start a child and return the socket to it.

    Raises:
        ConnectionError: There is no zygote to do it.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            worker.send(kind, [theirs.fileno(), *files])
        except OSError as error:
            ours.close()
            worker.alive = False
            raise ConnectionError(str(error)) from None
    ours.settimeout(worker.limits.wall + GRACE)
    return ours


def pack(parts: list[Any]) -> bytes:
    """Write a message to a child."""
    data = marshal.dumps(parts, driver.MARSHAL)
    return driver.HEAD.pack(len(data)) + data


def finish(worker: Worker, at_once: bool) -> tuple[int, int]:
    """Hear how a child ended; a zygote that went with it is marked as dead.

    Raises:
        ConnectionError: There was none.
    """
    try:
        why, code = worker.end(at_once)
    except OSError:
        worker.alive = False
        return zygote.FINISHED, -signal.SIGKILL
    if why == zygote.REFUSED:
        raise ConnectionRefusedError("the kernel made no process")
    return why, code


def death(limits: Limits, why: int, code: int) -> Result:
    """Say why a child ended before it had answered."""
    if why == zygote.CPU:
        return Result(Status.TIMEOUT, error=f"took more than {limits.cpu:g} s of processor time")
    if why == zygote.WALL:
        return Result(Status.TIMEOUT, error=f"took more than {limits.wall:g} s")
    if code < 0:
        known = {int(one): one.name for one in signal.Signals}
        return Result(Status.KILLED, error=f"died by {known.get(-code, f'signal {-code}')}")
    return Result(Status.KILLED, error=f"left with exit code {code}")


def _read(line: bytes) -> tuple[bool, Result]:
    """Read one line of a child.

    Returns:
        Whether it is about one input, not the whole run, and the result.
    """
    try:
        message = _decoder.decode(line.decode())
        if not isinstance(message, list):
            return False, ILLEGAL
        status, *rest = message
        status, one = Status(status), len(rest) == 1
        if len(rest) not in (1, 2) or status not in (ONE if one else ALL):
            return False, ILLEGAL
        if status == Status.OK:
            return (True, Result(status, rest[0])) if _is_sound(line, rest[0]) else (False, ILLEGAL)
        return one, Result(status, error=_clean(rest[0]))
    except (ValueError, TypeError, RecursionError):
        return False, ILLEGAL


def _is_sound(line: bytes, value: Any) -> bool:
    """Whether a value can go anywhere: not deep, of whole characters."""
    if line.count(b"[") + line.count(b"{") <= DEEPEST and not HALF.search(line):
        return True
    level = [value]
    for _ in range(DEEPEST):
        for item in level:
            if isinstance(item, str):
                item.encode()
            elif isinstance(item, dict):
                "".join(item).encode()
        level = [
            part
            for item in level
            if isinstance(item, list | dict)
            for part in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return True
    return False


def _clean(text: Any) -> str:
    """Make one line that is the same on every machine and in every process."""
    if not isinstance(text, str):
        raise TypeError("no text")
    text = ADDRESS.sub("0x...", text.encode(errors="replace").decode())
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[
        : driver.ERROR_LENGTH
    ]
