import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnscope import provenance, sandbox
from turnscope.sandbox import Limits, Program, Result, Settings, Status, encode

LIMITS = Limits(cpu=0.2, wall=5.0)
ECHO = Program("def f(*values):\n    return list(values)\n", "f")
HANG = Program("def f(*values):\n    while True:\n        pass\n", "f")


@pytest.fixture(scope="module")
def pool():
    return sandbox.pool(Settings(LIMITS))


def _results(pool, text, *inputs, entry="f"):
    return pool.run(Program(text, entry), [list(inputs)])[0]


def _below(pid: int) -> dict[int, list[str]]:
    """Return the fields after the name in `/proc/PID/stat` of all that descend from a process."""
    fields = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
    found = {pid}
    while more := {one for one, f in fields.items() if int(f[1]) in found} - found:
        found |= more
    return {one: fields[one] for one in found - {pid}}


def _state(pid: int) -> str:
    """Return the letter of a process; of one that ended, `X` or, if nobody asked about it, `Z`."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def _kill(pids: set[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # some go with the others
            os.kill(pid, signal.SIGKILL)


def test_a_function_is_called_on_every_input_of_every_batch(pool):
    found = pool.run(
        Program("def f(a, b):\n    return a // b", "f"), [[[6, 2], [1, 0]], [], [[9, 3]]]
    )
    assert found == [
        [
            Result(Status.OK, 3),
            Result(Status.ERROR, error="ZeroDivisionError: integer division or modulo by zero"),
        ],
        [],
        [Result(Status.OK, 3)],
    ]


def test_a_method_of_a_solution_is_found_and_gets_an_object_of_its_own(pool):
    text = """
class Solution:
    def __init__(self):
        self.calls = 0
    def f(self, x):
        self.calls += 1
        return [x, self.calls]
"""
    assert [r.value for r in _results(pool, text, [5], [6])] == [[5, 1], [6, 1]]


def test_what_guards_a_script_does_not_run_in_a_call(pool):
    text = "def f():\n    return __name__\nif __name__ == '__main__':\n    raise ValueError\n"
    (result,) = _results(pool, text, [])
    assert result.status == Status.OK
    assert result.value != "__main__"


def test_dataclasses_and_annotations_find_their_module(pool):
    text = """
from __future__ import annotations
import dataclasses, typing
@dataclasses.dataclass
class Point:
    x: typing.ClassVar[int] = 3
    y: int = 4
def f():
    return [dataclasses.asdict(Point()), list(typing.get_type_hints(Point))]
"""
    assert _results(pool, text, [])[0].value == [{"y": 4}, ["x", "y"]]


def test_a_script_reads_and_writes(pool):
    text = "n = int(input())\nprint(sum(map(int, input().split())) * n)\n"
    found = pool.run(Program(text, None), [["2\n1 2 3\n"], ["1\n4\n", "x\n"]])
    assert found[0] == [Result(Status.OK, "12\n")]
    assert found[1][0] == Result(Status.OK, "4\n")
    assert found[1][1].status == Status.ERROR
    assert found[1][1].error == "ValueError: invalid literal for int() with base 10: 'x'"


def test_a_script_runs_its_main_guard_and_what_it_registered(pool):
    text = (
        "import atexit, sys, threading\natexit.register(lambda: print('end'))\n"
        "if __name__ == '__main__':\n    threading.Thread(target=lambda: print('ä')).start()\n"
        "    sys.exit()\n"
    )
    assert pool.run(Program(text, None), [[""]]) == [[Result(Status.OK, "ä\nend\n")]]


def test_a_script_that_says_it_failed_did(pool):
    (result,) = pool.run(Program("print(1)\nraise SystemExit(3)", None), [[""]])[0]
    assert result == Result(Status.ERROR, "1\n", "SystemExit: 3")


def test_a_hang_leaves_the_results_before_it(pool):
    text = "def f(x):\n    while x == 3:\n        pass\n    return x\n"
    found = pool.run(Program(text, "f"), [[[1], [2]], [[3], [4]], [[5]]])
    assert [[r.status for r in batch] for batch in found] == [
        [Status.OK, Status.OK],
        [Status.TIMEOUT, Status.TIMEOUT],
        [Status.TIMEOUT],
    ]
    assert found[1][0].error == "took more than 0.2 s of processor time"


def test_a_script_that_hangs_is_not_run_on_the_other_inputs(pool):
    text = "import sys\nwhile input() == 'x':\n    pass\n" + "while True:\n    pass\n"
    found = pool.run(Program(text, None), [["x\ny\n"] * 50])
    assert {r.status for r in found[0]} == {Status.TIMEOUT}


def test_a_batch_is_sent_only_when_the_one_before_is_answered(pool):
    text = """
import os, select
def is_open(fd):
    try:
        return bool(os.fstat(fd))
    except OSError:
        return False
channel = next(fd for fd in range(3, 64) if is_open(fd))
def f(x):
    return bool(select.select([channel], [], [], 0.1)[0])
"""
    found = pool.run(Program(text, "f"), [[[1]], [[2]], [[3]]])
    assert [batch[0].value for batch in found] == [False, False, False]


def test_inputs_larger_than_a_socket_holds_get_there(pool):
    text = "x" * (1 << 20)
    assert (
        _results(pool, "def f(a):\n    return len(a)", [text], [list(range(10**5))])[0].value
        == 1 << 20
    )
    assert pool.run(Program("print(len(input()))", None), [[text]])[0][0].value == f"{1 << 20}\n"
    long = "def f():\n    return 1\n" + "#" * (1 << 20)
    assert _results(pool, long, [])[0].value == 1


VALUES = [
    ((1, [2, (3,)]), [1, [2, [3]]]),
    ({3, 1, 2}, {"set": [1, 2, 3]}),
    ({"b", "a", 10, 9, None}, {"set": [9, 10, "a", "b", None]}),
    (frozenset({(1, 2)}), {"set": [[1, 2]]}),
    ({"a": 1, "b": {2}}, {"a": 1, "b": {"set": [2]}}),
    ({1: "x", "1": "y"}, {"dict": [[1, "x"], ["1", "y"]]}),
    ({"set": 1}, {"dict": [["set", 1]]}),
    ({"set": 1, "a": 2}, {"set": 1, "a": 2}),
    (True, True),
    ([True, 1, 1.0, None], [True, 1, 1.0, None]),
    (float("nan"), {"repr": "nan"}),
    ([float("-inf")], [{"repr": "-inf"}]),
    (1 + 2j, {"repr": "(1+2j)"}),
    (b"x", {"repr": "b'x'"}),
    (range(3), {"repr": "range(0, 3)"}),
    ("\ud800", {"repr": "'\\ud800'"}),
    (10**5000, {"repr": hex(10**5000)}),
    (-(2**200), -(2**200)),
    ("ü\n\0", "ü\n\0"),
]


def test_what_json_cannot_carry_is_encoded():
    for value, expected in VALUES:
        assert encode(value) == expected


def test_values_arrive_as_they_are_encoded(pool):
    given, expected = zip(*(pair for pair in VALUES if not isinstance(pair[0], range)), strict=True)
    assert [
        r.value for r in _results(pool, "def f(x):\n    return x", *([v] for v in given))
    ] == list(expected)


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"]), min_size=5), inner, max_size=3
        )
    ),
    max_leaves=12,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(plain, max_size=3))
def test_json_values_come_back_as_they_went(values):
    (result,) = sandbox.pool(Settings(LIMITS)).run(ECHO, [[values]])[0]
    assert result == Result(Status.OK, values)
    assert json.dumps(result.value) == json.dumps(values)


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_a_program_or_bad_syntax(text):
    found = sandbox.pool(Settings(LIMITS)).run(Program(text, "f"), [[[]], [[]]])
    assert [len(batch) for batch in found] == [1, 1]
    assert found[0][0].status in (Status.SYNTAX, Status.MISSING, Status.ERROR)


def test_an_error_is_one_short_line_without_places_and_addresses(pool):
    text = "def f(x):\n    raise ValueError(f'{object()} is\\nbad ' + 'y' * 1000)"
    (result,) = _results(pool, text, [1])
    assert result.error.startswith("ValueError: <object object at 0x...> is bad yyy")
    assert len(result.error) == 200
    (result,) = _results(pool, "from math import nothing", [])
    assert result.error == "ImportError: cannot import name 'nothing' from 'math'"


def test_map_keeps_the_order(pool):
    two = sandbox.pool(Settings(LIMITS, workers=2))
    jobs = [(HANG if i % 7 == 3 else ECHO, [[[i]]]) for i in range(21)]
    for on in (pool, two):
        found = on.map(jobs)
        assert [r[0][0].value for r in found] == [None if i % 7 == 3 else [i] for i in range(21)]


def test_an_input_that_cannot_be_sent_is_refused(pool):
    with pytest.raises(ValueError, match="unmarshallable"):
        pool.run(ECHO, [[[1], [object()]]])
    assert pool.run(ECHO, [[[1]]])[0][0].value == [1]


def test_no_inputs_are_no_results(pool):
    assert pool.run(ECHO, []) == []
    assert pool.run(ECHO, [[], []]) == [[], []]
    assert pool.run(Program("1 / 0", None), [[]]) == [[]]
    assert pool.map([]) == []


def test_a_pool_survives_the_death_of_its_zygotes():
    mine = sandbox.Pool(Settings(LIMITS))
    before = set(_below(os.getpid()))
    for number in range(3):
        assert mine.run(ECHO, [[[number]]])[0][0].value == [number]
        _kill(set(_below(os.getpid())) - before)
    mine.close()
    assert not set(_below(os.getpid())) - before


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_a_run_whose_zygote_dies_twice_is_killed(rung):
    mine = sandbox.Pool(Settings(LIMITS._replace(cpu=30.0, wall=30.0), rung=rung))
    try:
        sandbox.rung(mine.settings)
    except ValueError as error:
        pytest.skip(str(error))
    before = set(_below(os.getpid()))
    started = set()
    over = threading.Event()

    def kill():
        while not over.wait(0.4):
            found = set(_below(os.getpid())) - before
            started.update(found)
            _kill(found)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        assert mine.run(HANG, [[[1]]])[0][0].status == Status.KILLED
    finally:
        over.set()
        killer.join()
    assert len(started) > 1
    assert mine.run(ECHO, [[[2]]])[0][0].value == [2]
    mine.close()
    assert not [pid for pid in started if _state(pid) not in "ZX"]


def test_many_runs_of_which_some_hang_leave_nothing_behind():
    mine = sandbox.Pool(Settings(LIMITS._replace(cpu=0.1), workers=2))
    mine.map([(ECHO, [[[1]]])] * 20)
    before = _below(os.getpid())
    files = len(os.listdir("/proc/self/fd"))
    found = mine.map([(HANG if i % 20 == 0 else ECHO, [[[i]], [[i]]]) for i in range(200)])
    after = _below(os.getpid())
    assert [r[1][0].status for r in found].count(Status.TIMEOUT) == 10
    assert sum(r[1][0].status == Status.OK for r in found) == 190
    assert after.keys() == before.keys()
    pages = [sum(int(fields[21]) for fields in processes.values()) for processes in (before, after)]
    assert pages[1] - pages[0] < 64
    assert len(os.listdir("/proc/self/fd")) == files
    mine.close()


def test_a_host_that_is_killed_takes_everything_with_it():
    code = (
        "import sys, threading, time\nfrom turnscope import sandbox\n"
        "p = sandbox.pool(sandbox.Settings(sandbox.Limits(cpu=60, wall=60)))\n"
        "h = sandbox.Program('def f():\\n    while True: pass', 'f')\n"
        "threading.Thread(target=p.run, args=(h, [[[]]])).start()\n"
        "time.sleep(0.8)\nprint('there', flush=True)\ntime.sleep(60)\n"
    )
    host = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": ":".join(sys.path)},
    )
    assert host.stdout is not None
    host.stdout.readline()
    below = _below(host.pid)
    assert below
    host.kill()
    host.wait()
    end = time.monotonic() + 20
    while alive := [pid for pid in below if _state(pid) not in "ZX"]:
        assert time.monotonic() < end, alive
        time.sleep(0.02)


def test_a_pool_is_not_used_in_a_fork(pool):
    pool.run(ECHO, [[[1]]])
    child = os.fork()
    if child == 0:
        try:
            pool.run(ECHO, [[[1]]])
        except RuntimeError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_one_pool_for_equal_settings_and_a_line_about_it(pool):
    assert sandbox.pool(Settings(LIMITS)) is pool
    pool.run(ECHO, [[[1]]])
    (line,) = [
        line for line in sandbox.in_force() if "0.2 s" in line and line.endswith(" 1 at a time")
    ][:1]
    assert line.startswith(sandbox.rung(Settings(LIMITS)))


def test_a_rung_is_said_before_it_is_used():
    assert sandbox.rung(Settings(rung="landlock")) == "landlock"
    assert sandbox.rung(Settings(rung="rlimits", allow_unsandboxed=True)) == "rlimits"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Settings(rung="cellar"), "unknown rung 'cellar'; known: bubblewrap"),
        (Settings(workers=0), "workers is 0; it must be 1 or more"),
        (Settings(Limits(cpu=0)), "limit cpu is 0; it must be above 0"),
        (Settings(rung="rlimits"), "no sandbox for programs"),
        (Settings(rung="apptainer"), "no sandbox for programs"),
        (Settings(rung="apptainer", image="no.sif"), "no sandbox for programs"),
    ],
)
def test_settings_that_cannot_be_met_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message) as error:
        sandbox.rung(wrong)
    assert "\n" not in str(error.value)


def test_without_isolation_programs_run_too():
    bare = sandbox.pool(Settings(LIMITS, allow_unsandboxed=True, rung="rlimits"))
    assert bare.run(ECHO, [[[1]]])[0][0].value == [1]
    assert bare.run(HANG, [[[1]]])[0][0].status == Status.TIMEOUT


def test_the_record_of_a_job_counts_the_processor_time_of_programs(pool):
    busy = (
        "import time\ndef f():\n    while time.process_time() < 0.15:\n        pass\n    return 1"
    )
    assert _results(pool, busy, []) == [Result(Status.OK, 1)]  # the zygote is there
    before = provenance.circumstances("", "", 0.0)["cpu_seconds"]
    assert _results(pool, busy, [], []) == [Result(Status.OK, 1)] * 2
    # Ticks of 10 ms are rounded down.
    assert provenance.circumstances("", "", 0.0)["cpu_seconds"] - before > 0.15 - 0.04
