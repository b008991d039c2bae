"""Programs run in the sandbox, against a fresh interpreter for each and against bare forks.

All three compile one small program, call its function on 3 public and then on 8 private inputs,
and bring the results back. The fresh interpreter is `python -I`, started for each program; the bare
forks are those of a warm interpreter with the same modules, without any isolation, limit or watch,
which gives away all inputs at once. One program at a time; processor time is that of this process
and of all that it started.

Then 1,000 programs of which 5% hang, half of them asleep, against the ideal schedule: the time that
all runs take one after the other, a hang its limit, divided by the workers. The bar supposes that
there is a free core for each worker.
"""

import json
import marshal
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.rows import Row, Time, alternate, compare, main
from turnscope import sandbox
from turnscope.sandbox import zygote

TEXT = "def entry(numbers, k):\n    return sorted(x * k for x in numbers if x % 2 == 0)[::-1]\n"
CASES = [[[3 * i, 2, 7, 4 * i, 10], i] for i in range(11)]
EXPECTED = [sorted((x * k for x in numbers if x % 2 == 0), reverse=True) for numbers, k in CASES]
PROGRAM, BATCHES = sandbox.Program(TEXT, "entry"), [CASES[:3], CASES[3:]]
ROUNDS, FRESH, WARM = 5, 25, 250
LEAST_FRESH, LEAST_FORKS = 8.0, 0.6

PROGRAMS, EVERY, WORKERS = 1000, 20, 2
"""How many, which ones of them hang, and how many run side by side."""
HANGS = [
    sandbox.Program("def entry(numbers, k):\n    while True:\n        pass\n", "entry"),
    sandbox.Program("import time\ndef entry(numbers, k):\n    time.sleep(1e6)\n", "entry"),
]
LIMIT = 0.5
LIMITS = sandbox.Limits(cpu=LIMIT, wall=LIMIT)
"""A hang ends by whichever it meets first, so that a loop takes no longer on a busy machine."""
BAR_SCHEDULE, BAR_GROWTH = 1.3, 1 << 20

ANSWER = """
def answer(text, cases):
    names = {}
    exec(compile(text, "program", "exec"), names)
    return json.dumps([names["entry"](*case) for case in cases])
"""
ALONE = f"import json, sys\n{ANSWER}\nprint(answer(*json.load(sys.stdin)))"
SERVER = f"""
import gc, importlib, json, marshal, os, socket, sys
os.register_at_fork = lambda **hooks: None
for name in sys.argv[1:]:
    importlib.import_module(name)
{ANSWER}
control = socket.socket(fileno=0)
gc.collect()
gc.freeze()
while files := socket.recv_fds(control, 1, 1)[1]:
    child = os.fork()
    if not child:
        os.write(files[0], answer(*marshal.loads(os.read(files[0], 65536))).encode())
        os._exit(0)
    os.close(files[0])
    os.waitpid(child, 0)
    control.send(b"r")
"""


def measure() -> list[Row]:
    """Compare the three ways, then run many programs of which some hang."""
    settings = sandbox.Settings()
    pool = sandbox.pool(settings)
    with _Forks() as forks:
        sides = [
            lambda: _timed(WARM, lambda: pool.run(PROGRAM, BATCHES), _values),
            lambda: _timed(FRESH, _fresh, json.loads),
            lambda: _timed(WARM, forks.run, json.loads),
        ]
        ours, fresh, bare = alternate(sides, ROUNDS)
    details = {"rung": sandbox.rung(settings)}
    one, many = (WARM, FRESH), (WARM, WARM)
    return [
        compare(
            f"{what}, a core",
            ours,
            other,
            amount=amount,
            unit="programs/s",
            least=least,
            details=details,
        )
        for what, other, amount, least in [
            ("sandbox to a fresh python -I", fresh, one, LEAST_FRESH),
            ("sandbox to bare forks", bare, many, LEAST_FORKS),
        ]
    ] + [_hanging()]


def _timed(count: int, run: Callable[[], Any], read: Callable[[Any], Any]) -> Time:
    """Run the program some times; check what comes back."""
    wall, used = time.perf_counter(), processor()
    found = [run() for _ in range(count)]
    spent = Time(time.perf_counter() - wall, processor() - used)
    assert all(read(one) == EXPECTED for one in found)
    return spent


def _values(results: list[list[sandbox.Result]]) -> list[Any]:
    return [result.value for batch in results for result in batch]


def _fresh() -> str:
    command = [sys.executable, "-I", "-c", ALONE]
    text = json.dumps([TEXT, CASES])
    return subprocess.run(command, input=text, text=True, capture_output=True, check=True).stdout


class _Forks:
    """A warm interpreter that forks for each program."""

    def __enter__(self) -> "_Forks":
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", SERVER, *zygote.WARM], stdin=theirs.fileno()
        )
        theirs.close()
        return self

    def __exit__(self, *error: object) -> None:
        self.control.close()
        self.process.wait()

    def run(self) -> bytes:
        """Run one program."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(marshal.dumps([TEXT, CASES]))
            socket.send_fds(self.control, [b"r"], [theirs.fileno()])
            theirs.close()
            found = b""
            while part := ours.recv(1 << 16):
                found += part
        self.control.recv(1)
        return found


def _hanging() -> Row:
    """Run many programs of which some hang, and look what they leave behind."""
    pool = sandbox.pool(sandbox.Settings(LIMITS, workers=WORKERS))
    jobs = [(PROGRAM if i % EVERY else HANGS[i // EVERY % 2], BATCHES) for i in range(PROGRAMS)]
    pool.map(jobs[1 : 2 * EVERY])
    quick = [job for job in jobs if job[0] is PROGRAM][: 8 * EVERY]
    start = time.perf_counter()
    for program, batches in quick:
        sandbox.pool(sandbox.Settings()).run(program, batches)
    each = (time.perf_counter() - start) / len(quick)
    hanging = len(jobs[::EVERY])
    ideal = (hanging * LIMIT + (len(jobs) - hanging) * each) / WORKERS
    before = _descendants()
    start = time.perf_counter()
    found = pool.map(jobs)
    wall = time.perf_counter() - start
    after = _descendants()
    statuses = [results[0][0].status for results in found]
    assert statuses.count(sandbox.Status.TIMEOUT) == hanging, "another program timed out"
    growth = sum(after.values()) - sum(before.values())
    leaked = sorted(after.keys() - before.keys())
    return Row(
        f"{PROGRAMS} programs of which {hanging} hang, {WORKERS} workers",
        "s",
        wall,
        ideal,
        ratio=wall / ideal,
        bar=f"<= {BAR_SCHEDULE:g}x",
        met=wall / ideal <= BAR_SCHEDULE and not leaked and growth <= BAR_GROWTH,
        details={"leaked_processes": leaked, "growth_bytes": growth, "seconds_each": each},
    )


def _descendants() -> dict[int, int]:
    """Return the resident bytes of each process that descends from this one."""
    page = resource.getpagesize()
    return {pid: int(fields[21]) * page for pid, fields in _below().items()}


def processor() -> float:
    """Return seconds of processor time of this process and all that descend from it."""
    done = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = sum(int(field) for fields in _below().values() for field in fields[11:15])
    own = time.process_time()
    return own + done.ru_utime + done.ru_stime + ticks / os.sysconf("SC_CLK_TCK")


def _below() -> dict[int, list[str]]:
    """Return the fields of `/proc/PID/stat`, from the state on, of all descendants."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
    below = {os.getpid()}
    while more := {pid for pid, fields in found.items() if int(fields[1]) in below} - below:
        below |= more
    return {pid: found[pid] for pid in below - {os.getpid()} if pid in found}


if __name__ == "__main__":
    main(measure)
