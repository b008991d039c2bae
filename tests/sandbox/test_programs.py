"""What honest programs may expect of the interpreter that runs them."""

import resource
import subprocess
import sys

import pytest

from turnscope import sandbox
from turnscope.sandbox import Limits, Program, Result, Settings, Status, encode

LIMITS = Limits(cpu=2.0, wall=20.0)

DEPTH = """
import sys
def g(n):
    global deepest
    deepest = n
    g(n + 1)
try:
    g(1)
except RecursionError:
    print(deepest)
"""
KEPT = """
import signal
f = open(1, "w")
f.write("kept\\n")
def handle(*a):
    f.flush()
signal.signal(signal.SIGTERM, handle)
"""
OBJECT = """
import sys
class Out:
    def __init__(self, file):
        self.file, self.parts = file, []
    def write(self, text):
        self.parts.append(text)
    def flush(self):
        self.file.write("".join(self.parts))
        self.parts.clear()
sys.stdout = Out(sys.stdout)
print("mine")
"""
GOODBYE = """
import os
NAME = "end"
class A:
    def __del__(self):
        print(os.path.join(NAME, "b"))
a = A()
def keep():
    return a
"""
SCRIPTS = {
    "exit": ("print(1)\nexit()\nprint(2)", "1\n"),
    "quit": ("print(1)\nquit(0)\nprint(2)", "1\n"),
    "closes its output": ("import sys\nprint(1)\nsys.stdout.close()", "1\n"),
    "drops its output": ("import sys\nprint(1, flush=True)\nsys.stdout = None", "1\n"),
    "opens its output anew": ("f = open(1, 'w')\nf.write('hi\\n')", "hi\n"),
    "opens it and uses it in a function": (
        "f = open(1, 'w', closefd=False)\ndef g():\n    f.write('hi\\n')\ng()",
        "hi\n",
    ),
    "replaces its output": (
        "import sys, io\nout = sys.stdout\nsys.stdout = io.StringIO()\nout.write('42\\n')",
        "42\n",
    ),
    "writes what it kept at the end": (
        "import sys, io, atexit\nsys.stdout = io.StringIO()\n"
        "atexit.register(lambda: sys.__stdout__.write(sys.stdout.getvalue()))\nprint('x')",
        "x\n",
    ),
    "is kept by the interpreter": (KEPT, "kept\n"),
    "puts an object there": (OBJECT, "mine\n"),
    "says good-bye": (GOODBYE, "end/b\n"),
    "calls what is built in": (
        "print(__builtins__.abs(-1), type(__builtins__).__name__)",
        "1 module\n",
    ),
    "reads the end": (
        "print(input())\ntry:\n    input()\nexcept EOFError:\n    print('eof')",
        "1 2\neof\n",
    ),
}


@pytest.fixture(scope="module")
def pool():
    return sandbox.pool(Settings(LIMITS))


def _call(pool, text, *arguments):
    return pool.run(Program(text, "f"), [[list(arguments)]])[0][0]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_writes_what_it_writes_elsewhere(pool, name):
    text, expected = SCRIPTS[name]
    assert pool.run(Program(text, None), [["1 2\n"]]) == [[Result(Status.OK, expected)]]
    alone = [sys.executable, "-I", "-c", text]
    plain = subprocess.run(alone, input="1 2\n", capture_output=True, text=True, check=False)
    assert plain.stdout == expected


def test_a_script_may_recurse_as_deep_as_elsewhere(pool):
    (result,) = pool.run(Program(DEPTH, None), [[""]])[0]
    plain = subprocess.run([sys.executable, "-I", "-c", DEPTH], capture_output=True, check=True)
    assert 0 <= int(result.value) - int(plain.stdout) <= 2


def test_a_function_may_recurse_as_deep_as_a_script(pool):
    text = DEPTH.replace("try:", "def f():\n  try:").replace("    g(1)", "    g(1)")
    text = text.replace(
        "except RecursionError:\n    print(deepest)", "  except RecursionError:\n    return deepest"
    )
    plain = subprocess.run(
        [sys.executable, "-I", "-c", f"{text}\nprint(f())"], capture_output=True, check=True
    )
    assert 0 <= _call(pool, text).value - int(plain.stdout) <= 2


STARTER = """class Solution:
    def f(self, xs: List[int], y: Optional[int] = None) -> Dict[str, int]:
        counts = defaultdict(int, Counter(xs))
        q = deque(accumulate(xs))
        heappush(h := [], math.inf)
        return [counts[1], q[-1], gcd(12, 18), bisect_left(xs, 2), inf == h[0], pow(2, 3, 5)]
"""


def test_starters_find_the_names_that_their_harness_imports(pool):
    result = _call(pool, STARTER, [1, 1, 3])
    assert result == Result(Status.OK, [2, 5, 6, 2, True, 3])


def test_names_of_the_harness_do_not_get_in_the_way(pool):
    text = "def List(x):\n    return [x]\ndef f():\n    raise ValueError(str(List(1)))\n"
    assert _call(pool, text).error == "ValueError: [1]"
    line = "import sys\ndef f():\n    return sys._getframe().f_lineno\n"
    assert _call(pool, line).value == 3
    for entry in ("count", "gcd", "sorted", "List"):
        assert pool.run(Program("x = 1\n", entry), [[[]]])[0][0].status == Status.MISSING
    own = _call(pool, "def f():\n    return sorted(k for k in globals() if k[0] != '_')\n")
    assert own.value == ["f"]
    (script,) = pool.run(Program("print(List)", None), [[""]])[0]
    assert script.error.startswith("NameError: name 'List' is not defined")


def test_the_stack_may_be_made_larger(pool):
    if resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY:
        pytest.skip("the caller's own stack is limited for good")
    text = (
        "import resource\ndef f():\n    resource.setrlimit(resource.RLIMIT_STACK, (-1, -1))\n"
        "    return resource.getrlimit(resource.RLIMIT_STACK)"
    )
    assert _call(pool, text).value == [-1, -1]


def test_inputs_do_not_share_objects(pool):
    shared = [1]
    text = "def f(x, *more):\n    x.append(9)\n    return [x, *more]"
    found = pool.run(Program(text, "f"), [[[shared], [shared, shared]]])[0]
    assert [result.value for result in found] == [[[1, 9]], [[1, 9], [1]]]


def test_equal_dicts_are_encoded_alike():
    assert encode({2: "b", 1: "a"}) == encode({1: "a", 2: "b"}) == {"dict": [[1, "a"], [2, "b"]]}
    assert encode({(2, 1): 0, "x": 1, None: 2, 0.5: 3}) == {
        "dict": [[0.5, 3], ["x", 1], [[2, 1], 0], [None, 2]]
    }


def test_each_input_may_have_as_much_output_as_the_limit(pool):
    small = sandbox.pool(Settings(LIMITS._replace(output=1000)))
    text = "def f(n):\n    return 'x' * n"
    found = small.run(Program(text, "f"), [[[900], [900], [2000], [900]], [[900]]])
    ok, over = Status.OK, Status.OUTPUT
    assert [r.status for batch in found for r in batch] == [ok, ok, over, ok, ok]
    small.close()


def test_scripts_that_sleep_do_not_do_so_for_ever():
    brief = sandbox.Pool(Settings(Limits(cpu=1.0, wall=0.1)))
    found = brief.run(Program("import time\ntime.sleep(0.06)", None), [[""] * 40])[0]
    assert len(found) == 40
    assert found[-1].status == Status.TIMEOUT
    brief.close()
