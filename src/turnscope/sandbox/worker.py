"""The host's end of one zygote: start it, hand it runs, hear how they ended."""

import itertools
import json
import os
import socket
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from turnscope.sandbox import driver, prelude, rungs, zygote
from turnscope.sandbox.limits import Limits

BOOT = """
import ctypes, os, sys, types
libc, user = ctypes.CDLL(None), {user}
if user not in (None, os.getuid()):
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
if not libc.personality(-1) & {fixed:#x} and os.environ.setdefault("ONCE", "1") == "1":
    os.environ["ONCE"] = "2"
    libc.personality({fixed:#x})
    os.execv(sys.executable, sys.orig_argv)
os.register_at_fork = lambda **hooks: None
package = types.ModuleType("turnscope.sandbox")
sys.modules["turnscope"] = types.ModuleType("turnscope")
sys.modules["turnscope.sandbox"] = package
for name, text in {sources!r}:
    module = types.ModuleType(name)
    setattr(package, name, module)
    exec(compile(text, name, "exec"), module.__dict__)
module.main()
"""
FIXED = 0x0040000
"""Personality of a process whose objects have the same addresses every time. It holds from the next
start of a program on, but not when that gains rights: so the interpreter starts itself anew."""
START = 30.0
"""Longest start of a zygote, seconds."""
GRACE = 10.0
"""Seconds that a zygote may be late in ending a run at its limit."""
LEAVE = 2.0
"""Seconds that a zygote may take to leave."""
LINGER = 0.2
"""Seconds that a child may take to leave after it has answered everything."""

FIRST_TO_GO = ("/bin/sh", "-c", 'echo 500 2>/dev/null >/proc/self/oom_score_adj; exec "$@"', "sh")
"""When the machine is out of memory the kernel ends programs, not who runs them."""


_count = itertools.count()
_starter = ThreadPoolExecutor(1, "sandbox")
"""Starts all zygotes: they die with the thread that started them, and this one lives as long as the
process."""


def _boot(user: int | None) -> str:
    """Return the source that a zygote runs; it finds none of our files.

    Args:
        user: It becomes that user before everything else.
    """
    sources = [
        (module.__name__.rpartition(".")[2], Path(module.__file__ or "").read_text())
        for module in (prelude, driver, zygote)
    ]
    return BOOT.format(sources=sources, fixed=FIXED, user=user)


def _users(setup: dict[str, Any]) -> tuple[int | None, dict[str, Any]]:
    """Settle who a zygote becomes.

    Returns:
        The user it becomes at once, and what it is told to become later.
    """
    if setup["user"] != rungs.OWN:
        return None, {}
    user = rungs.OWN + ((os.getpid() << 6 | next(_count) & 63) & 0x0FFFFFFF)
    return (None, {"user": user}) if setup["reach"] else (user, {"user": None})


class Worker:
    """One zygote."""

    def __init__(self, launch: rungs.Launch, limits: Limits) -> None:
        self.launch, self.limits = launch, limits
        self.number, self.alive = 0, True
        self.folder = _folder(launch)
        self.control, self.process, self.filtered = _starter.submit(
            _start, launch, limits, self.folder and self.folder.name
        ).result()

    def close(self) -> None:
        """End the zygote and what runs in it."""
        self.control.close()  # the zygote leaves when it hears nothing any more
        try:
            self.process.wait(LEAVE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.folder is not None:
            self.folder.cleanup()

    def send(self, kind: bytes, files: list[int]) -> None:
        """Hand a run, or the wish to end it, to the zygote.

        Raises:
            ConnectionError: The zygote died before.
        """
        self.number += kind != zygote.STOP
        self.control.settimeout(GRACE)
        socket.send_fds(self.control, [zygote.JOB.pack(kind, self.number)], files)

    def report(self, seconds: float) -> tuple[int, int] | None:
        """Wait for the end of the child.

        Returns:
            Why, and its exit code; None if it is still running.

        Raises:
            ConnectionError: The zygote died.
        """
        end = time.monotonic() + seconds
        while True:
            self.control.settimeout(max(0.0, end - time.monotonic()) or 1e-6)
            try:
                data = self.control.recv(zygote.REPORT.size)
            except TimeoutError:
                return None
            if not data:
                raise ConnectionResetError("the zygote died")
            number, why, code = zygote.REPORT.unpack(data)
            if number == self.number:
                return why, code

    def end(self, at_once: bool) -> tuple[int, int]:
        """Wait for the end of the child, and make it end if need be.

        Raises:
            ConnectionError: The zygote died.
        """
        found = None if at_once else self.report(LINGER)
        if found is None:
            self.send(zygote.STOP, [])
            found = self.report(GRACE)
        if found is None:
            raise ConnectionAbortedError("the zygote hangs")
        return found


def _folder(launch: rungs.Launch) -> tempfile.TemporaryDirectory[str] | None:
    """Make the folder that programs work in, where there is no better place."""
    if launch.setup["directory"] is not None:
        return None
    folder = tempfile.TemporaryDirectory(prefix="turnscope-", ignore_cleanup_errors=True)
    if launch.setup["user"] is not None:
        os.chown(folder.name, launch.setup["user"], launch.setup["user"])
    return folder


def _start(
    launch: rungs.Launch, limits: Limits, folder: str | None
) -> tuple[socket.socket, subprocess.Popen[bytes], bool]:
    """Start a zygote and wait until its doors are closed; also say if it has a filter of calls.

    Raises:
        OSError: It did not come up; says why.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    user, users = _users(launch.setup)
    process = subprocess.Popen(
        [*FIRST_TO_GO, *launch.command, "-c", _boot(user)],
        stdin=theirs.fileno(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=rungs.VARIABLES,
        start_new_session=True,
        user=launch.user,
        group=launch.user,
        extra_groups=None if launch.user is None else [],
    )
    theirs.close()
    rules = [rungs.rules(launch.readable)] if launch.guarded else []
    try:
        setup = launch.setup | limits._asdict() | ({"directory": folder} if folder else {})
        setup |= users
        socket.send_fds(ours, [json.dumps(setup).encode()], rules)
        ours.settimeout(START)
        answer = json.loads(ours.recv(1 << 16) or b'{"error": ""}')
    except OSError as error:
        answer = {"error": str(error)}
    finally:
        for file in rules:
            os.close(file)
    if "error" in answer:
        ours.close()
        process.kill()
        said = process.communicate()[1].decode(errors="replace").strip().splitlines()
        raise OSError(answer["error"] or (said[-1] if said else "it ended without a word"))
    assert process.stderr is not None
    process.stderr.close()
    return ours, process, bool(answer["filtered"])
