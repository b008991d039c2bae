"""What the machine does to the sandbox, and what the sandbox does to the machine."""

import contextlib
import os
import socket
import sys
from pathlib import Path

import pytest

from turnscope import sandbox
from turnscope.sandbox import Limits, Program, Result, Settings, Status, landlock, rungs, runs
from turnscope.sandbox.worker import Worker

LIMITS = Limits(cpu=3.0, wall=20.0)
ECHO = Program("def f(*values):\n    return list(values)\n", "f")


def _pool(rung: str) -> sandbox.Pool:
    settings = Settings(LIMITS, rung=rung)
    try:
        sandbox.rung(settings)
    except ValueError as error:
        pytest.skip(str(error))
    return sandbox.Pool(settings)


THREADS = """
import threading
threading.stack_size(32768)
over = threading.Event()
def f():
    started = []
    try:
        while len(started) < 1500:
            started.append(threading.Thread(target=over.wait, daemon=True))
            started[-1].start()
    except RuntimeError:
        pass
    return len(started)
"""


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_threads_are_counted(rung):
    if rung == "landlock" and os.geteuid() != 0:
        pytest.skip("the caller's own processes count too")
    pool = _pool(rung)
    (result,) = pool.run(Program(THREADS, "f"), [[[]]])[0]
    assert result.status == Status.OK
    assert 16 <= result.value <= rungs.PROCESSES
    assert pool.run(ECHO, [[[1]]])[0][0].value == [1]
    pool.close()


EMPTY = """
import os
def f(path):
    opened = []
    for flags in (os.O_TRUNC, os.O_TRUNC | 3, os.O_TRUNC | os.O_RDWR, os.O_WRONLY):
        try:
            opened.append(os.close(os.open(path, flags)))
        except OSError:
            pass
    return [len(opened), open(path).read()]
"""


@pytest.mark.parametrize("version", [1, 2, None])
def test_files_are_not_emptied_under_any_landlock(version, tmp_path, monkeypatch):
    pool = _pool("landlock")
    (canary := tmp_path / "canary").write_text("sings")
    canary.chmod(0o666)
    tmp_path.chmod(0o755)
    visible = [*rungs.visible(), tmp_path]
    monkeypatch.setattr(rungs, "visible", lambda: visible)
    if version is not None:
        if landlock.version() < version:
            pytest.skip("the kernel's Landlock is older")
        monkeypatch.setattr(landlock, "version", lambda: version)
    (result,) = pool.run(Program(EMPTY, "f"), [[[str(canary)]]])[0]
    pool.close()
    assert canary.read_text() == "sings"
    assert result == Result(Status.OK, [0, "sings"])


def _refusing() -> Worker:
    """Start a zygote that the kernel allows no process besides itself."""
    _pool("landlock")
    launch = next(rungs.launches(Settings(rung="landlock")))
    return Worker(launch._replace(setup=launch.setup | {"processes": 1}), LIMITS)


def test_a_process_that_the_kernel_refuses_is_no_verdict():
    worker = _refusing()
    for program, batch in ((ECHO, [[1]]), (Program("print(1)", None), [""])):
        with pytest.raises(ConnectionError, match="the kernel made no process"):
            runs.run(worker, program, [batch])
    assert worker.alive
    worker.close()


def test_a_pool_says_that_the_machine_fails_it_and_recovers():
    pool = _pool("landlock")
    pool._idle.get()
    pool._idle.put(_refusing())
    with pytest.raises(RuntimeError, match="did not run a program"):
        pool.run(ECHO, [[[1]]])
    assert pool.run(ECHO, [[[1]]])[0][0].value == [1]
    pool.close()


FAKE = """#!/bin/sh
while [ "$1" != python3 ]; do shift; done
shift
exec {python} "$@"
"""


def test_a_rung_that_failed_may_work_later(tmp_path, monkeypatch):
    settings = Settings(rung="apptainer", image="later.sif")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(ValueError, match="no sandbox for programs"):
        sandbox.rung(settings)
    (container := tmp_path / "apptainer").write_text(
        FAKE.format(python=os.path.realpath(sys.executable))
    )
    container.chmod(0o755)
    assert sandbox.rung(settings) == "apptainer"
    container.unlink()
    assert sandbox.rung(settings) == "apptainer"  # what worked is kept


def test_what_comes_before_it_was_asked_for_is_no_answer():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5)
        theirs.sendall(b'["ok", 1]\n')
        found: list[Result] = []
        assert runs.exchange(ours, b"question", 1, found, 100) == runs.ILLEGAL
        assert found == []
        theirs.setblocking(False)
        with pytest.raises(BlockingIOError):
            theirs.recv(9)


def _below(pid: int) -> set[int]:
    """Return the processes that descend from one."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended
            fields = path.read_text().rpartition(")")[2].split()
            parents[int(path.parent.name)] = int(fields[1])
    found = {pid}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_zygotes_go_first_and_show_nobody_their_memory(rung):
    pool, before = _pool(rung), _below(os.getpid())
    assert pool.run(ECHO, [[[1]]])[0][0].value == [1]
    zygotes = []
    for process in _below(os.getpid()) - before:
        command = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        if b"-S" in command[:6] and b"-B" in command[:6]:
            zygotes.append(process)
            assert Path(f"/proc/{process}/oom_score_adj").read_text() == "500\n"
            assert Path(f"/proc/{process}/maps").stat().st_uid == 0  # only root may look into it
    pool.close()
    assert zygotes


def test_limits_too_tight_for_anything_are_no_fault_of_the_machine():
    tight = sandbox.Pool(Settings(Limits(output=3)))
    assert tight.run(ECHO, [[[1]]])[0][0].status == Status.OUTPUT
    tight.close()
