"""A warm interpreter inside the isolation that forks a child for every run.

It never reads what is run: it gets descriptors, hands them to a child and watches its time. So no
child finds in its memory what another program was or was asked. Its descriptor 0 is a socket to the
host. The first message on it says how to close the doors, which is done for good before any program
comes; then each message is a run. Runs with the standard library alone.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import marshal
import math
import os
import random
import resource
import select
import signal
import socket
import struct
import sys
import time
import types
from typing import Any

from turnscope.sandbox import driver, prelude

_WARM = """
abc array base64 bisect calendar cmath collections collections.abc contextlib copy dataclasses
datetime decimal enum fractions functools hashlib heapq inspect io itertools json math numbers
operator queue random re statistics string struct textwrap threading time traceback types typing
unicodedata
"""
WARM = _WARM.split()
"""What programs import; a child that finds a module here does not pay for it."""
JOB, REPORT = struct.Struct("<cI"), struct.Struct("<IBi")
CALL, SCRIPT, SESSION, STOP = b"c", b"s", b"i", b"k"
FINISHED, CPU, WALL, STOPPED, REFUSED = range(5)
"""Why a child ended: by itself, a limit, the host's wish; or there was none."""
REHEARSALS = 16
CALLS = 7
"""Calls that lead to a program, for which it does not pay: from here to `exec` of a script."""
ENDLESS = {"cpu": math.inf, "wall": math.inf}
LONGEST = 1e6
"""Longest wait for an event, seconds."""
STACK = 64 << 20
FILES = 64
DUMPABLE = 4
PARENT_DEATH, KEEP_CAPABILITIES, NO_NEW_PRIVILEGES, SECCOMP = 1, 8, 38, 22
LANDLOCK_RESTRICT = 446
READ_ANY = 1 << 2
"""CAP_DAC_READ_SEARCH: reach an interpreter that lies in a closed directory."""
CAPABILITIES = 0x20080522

libc = ctypes.CDLL(None, use_errno=True)
libc.prctl.argtypes = [
    ctypes.c_int,
    ctypes.c_ulong,
    ctypes.c_char_p,
    ctypes.c_ulong,
    ctypes.c_ulong,
]


class ChildFilter:
    """The filter that a child enters, ready but for the child's number."""

    def __init__(self, code: bytes, placeholder: int) -> None:
        self.parts = code.split(struct.pack("=I", placeholder))
        self.buffer = ctypes.create_string_buffer(code, len(code))
        self.program = struct.pack("@HP", len(code) // 8, ctypes.addressof(self.buffer))

    def enter(self) -> None:
        """Close the doors of this process for good."""
        self.buffer.raw = struct.pack("=I", os.getpid()).join(self.parts)
        _prctl(SECCOMP, 2, self.program)


def main() -> None:
    """Close the doors, say so, and serve until the host hangs up."""
    control = socket.socket(fileno=os.dup(0))
    null = os.open("/dev/null", os.O_RDWR)
    for standard in range(2):
        os.dup2(null, standard)
    text, files, *_ = socket.recv_fds(control, 1 << 16, 1)
    setup = json.loads(text)
    try:
        _warm()
        child_filter, filtered = _enclose(setup, files)
    except OSError as error:
        control.send(json.dumps({"error": str(error)}).encode())
        return
    control.send(json.dumps({"filtered": filtered, "python": sys.version.split()[0]}).encode())
    os.dup2(null, 2)
    os.close(null)
    for name in [name for name in sys.modules if name.startswith("turnscope")]:
        del sys.modules[name]
    sys.modules["__main__"] = types.ModuleType("__main__")
    os.environ.clear()
    sys.setrecursionlimit(sys.getrecursionlimit() + CALLS)
    gc.collect()
    gc.freeze()
    _serve(control, child_filter, setup)


def _warm() -> None:
    """Import what programs will, without what it does at every fork.

    At a fork `random` would draw a new seed from the system, and the same program would not do the
    same again.
    """
    random.seed(0)
    for name in WARM:
        importlib.import_module(name)
    prelude.fill()
    for _ in range(REHEARSALS):
        _rehearse()


def _rehearse() -> None:
    """Do what a child will do, so that it finds caches filled and code quickened.

    What a child need not write it shares with the zygote; a page that it writes is a page copied.
    """
    ours, theirs = socket.socketpair()
    message = marshal.dumps([False, [[[1, 2]]] * 8, "def rehearse(a):\n    return a", "rehearse"])
    with ours, theirs:
        ours.sendall(driver.HEAD.pack(len(message)) + message)
        driver.call(theirs.fileno(), 1 << 20)
    del sys.modules["program"]


def _enclose(setup: dict[str, Any], files: list[int]) -> tuple[ChildFilter | None, bool]:
    """Enter everything that holds for the zygote and its children alike.

    Raises:
        OSError: Something that must hold was refused.
    """
    limits = {
        resource.RLIMIT_AS: setup["memory"] << 20,
        resource.RLIMIT_FSIZE: setup["output"] + 1,
        resource.RLIMIT_NOFILE: FILES,
        resource.RLIMIT_CORE: 0,
    }
    if setup["processes"]:
        limits[resource.RLIMIT_NPROC] = setup["processes"]
    if setup["user"] is not None:
        _become(setup["user"], setup["reach"])
    for kind, limit in limits.items():
        hard = resource.getrlimit(kind)[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (limit, limit))
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]  # programs ask for more, within memory
    stack = STACK if hard == resource.RLIM_INFINITY else min(STACK, hard)
    resource.setrlimit(resource.RLIMIT_STACK, (stack, hard))
    os.chdir(setup["directory"])
    os.umask(0o077)
    _prctl(NO_NEW_PRIVILEGES, 1)
    _prctl(DUMPABLE, 0)
    _prctl(PARENT_DEATH, signal.SIGKILL)
    if files:
        _checked(libc.syscall(ctypes.c_long(LANDLOCK_RESTRICT), files[0], 0))
        os.close(files[0])
    if not setup["filters"]:
        return None, False
    own, child = map(bytes.fromhex, setup["filters"])
    buffer = ctypes.create_string_buffer(own, len(own))
    try:
        _prctl(SECCOMP, 2, struct.pack("@HP", len(own) // 8, ctypes.addressof(buffer)))
    except OSError:
        if setup["must_filter"]:
            raise
        return None, False
    return ChildFilter(child, setup["placeholder"]), True


def _become(user: int, reach: bool) -> None:
    """Give up the rights of root, except to reach a closed directory if need be."""
    if reach:
        _prctl(KEEP_CAPABILITIES, 1)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    if reach:
        head = struct.pack("=Ii", CAPABILITIES, 0)
        data = struct.pack("=6I", READ_ANY, READ_ANY, 0, 0, 0, 0)
        _checked(libc.capset(head, data))


def _prctl(option: int, value: int, pointer: bytes | None = None) -> None:
    _checked(libc.prctl(option, value, pointer, 0, 0))


def _checked(result: int) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _serve(control: socket.socket, child_filter: ChildFilter | None, setup: dict[str, Any]) -> None:
    """Fork a child for each run; only the host's hanging up ends this."""
    channel = control.fileno()
    while True:
        message, files, *_ = socket.recv_fds(control, JOB.size, 3)
        if not message:
            os._exit(0)
        kind, number = JOB.unpack(message)
        if kind == STOP:
            continue  # what it was for has ended
        try:
            child = os.fork()
        except OSError:
            child = -1
        if child == 0:
            try:
                os.close(channel)
                _run(kind, files, child_filter, setup)
            finally:
                os._exit(70)
        for file in files:
            os.close(file)
        held = setup | ENDLESS if kind == SESSION else setup
        why, status = (REFUSED, 0) if child < 0 else _watch(child, channel, held)
        control.send(REPORT.pack(number, why, status))


def _run(
    kind: bytes, files: list[int], child_filter: ChildFilter | None, setup: dict[str, Any]
) -> None:
    """Be the child: nothing of the zygote's is left open."""
    _prctl(PARENT_DEATH, signal.SIGKILL)
    if kind != SESSION:
        seconds = math.ceil(setup["cpu"]) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    if kind == SCRIPT:
        os.dup2(files[1], 0)
        os.dup2(files[2], 1)
        os.close(files[1])
        os.close(files[2])
    if child_filter is not None:
        child_filter.enter()
    else:
        os.setsid()
    if kind == SCRIPT:
        driver.script(files[0])
    else:
        driver.call(files[0], setup["output"], setup["cpu"] if kind == SESSION else 0.0)
    os._exit(0)


def _watch(child: int, channel: int, setup: dict[str, Any]) -> tuple[int, int]:
    """Wait for a child, and kill it at its limits.

    Its clock is read from outside, so that it need not co-operate and a limit may be a fraction of
    a second.

    Returns:
        Why it ended, and its exit code, or minus the signal that killed it.
    """
    clock = (~child << 3) | 2
    end = time.monotonic() + setup["wall"]
    why = FINISHED
    file = os.pidfd_open(child)
    poller = select.poll()
    poller.register(file, select.POLLIN)
    poller.register(channel, select.POLLIN)
    left = min(setup["cpu"], setup["wall"])
    while True:
        events = [ready for ready, _ in poller.poll(min(left, LONGEST) * 1000 + 1)]
        if file in events:
            break
        cpu, wall = setup["cpu"] - time.clock_gettime(clock), end - time.monotonic()
        left = min(cpu, wall)
        if events:
            why = STOPPED
            poller.unregister(channel)
        elif left <= 0:
            why = CPU if cpu <= 0 else WALL
        if why != FINISHED:
            _kill(child, not setup["filters"])
            left = 1.0
    os.close(file)
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if why == FINISHED and code < 0 and usage.ru_utime + usage.ru_stime >= setup["cpu"]:
        why = CPU
    return why, code


def _kill(child: int, group: bool) -> None:
    """Kill a child, and without a filter also what it may have started."""
    if group:
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
    os.kill(child, signal.SIGKILL)
