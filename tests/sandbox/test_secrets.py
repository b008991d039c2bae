"""What a program could learn of other programs, and of tests that it was not yet sent."""

import pytest

from tests.sandbox.play import settings
from turnscope import sandbox
from turnscope.sandbox import Program, Status

FIRST, SECOND, EARLIER = ("canary" + word * 8 for word in ("Alpha", "Beta", "Gamma"))

SCRAPE = """
import bisect, collections, ctypes, gc, os

libc = ctypes.CDLL(None, use_errno=True)
PAGE = 4096
SPAN = 1 << 26

def pages():
    # Every mapped page around anything whose address we know.
    known = [id(object()), id(f), id(gc), ctypes.addressof(ctypes.c_int()), id(bytearray(9999)),
             ctypes.cast(libc.malloc, ctypes.c_void_p).value]
    known += [id(o) for o in gc.get_objects()[::50]]
    libc.sbrk.restype = ctypes.c_void_p
    known.append(libc.sbrk(0) - PAGE)
    starts = sorted({address // SPAN * SPAN for address in known})
    for start in starts:
        for page in range(start, start + SPAN, PAGE):
            # write(2) refuses what cannot be read; to read it ourselves would crash.
            if libc.write(writer, ctypes.c_void_p(page), 1) == 1:
                os.read(reader, 1)
                yield page

SHIFT = bytes((i + 7) % 256 for i in range(256))
reader, writer = os.pipe()

def copies(pages, shifted):
    # The word itself must not come into memory by looking for it: pages are shifted like it.
    found = 0
    for page in pages:
        if libc.write(writer, ctypes.c_void_p(page), PAGE) == PAGE:
            found += os.read(reader, PAGE).translate(SHIFT).count(shifted)
    return found

def f(*given):
    mapped = list(pages())
    return [len(mapped)] + [copies(mapped, word) for word in {words}]
"""


@pytest.fixture(params=["bubblewrap", pytest.param("landlock", marks=pytest.mark.slow)])
def pool(request):
    base = settings(request.param)
    with_time = base._replace(limits=sandbox.Limits(cpu=20.0, wall=60.0))
    try:
        sandbox.rung(with_time)
    except ValueError as error:
        pytest.skip(str(error))
    return sandbox.pool(with_time)


def test_memory_holds_neither_what_ran_before_nor_what_comes_next(pool):
    keeping = Program(
        f"kept = []\ndef f(x):\n    kept.append(x + {EARLIER!r})\n    return 1\n", "f"
    )
    assert pool.run(keeping, [[[EARLIER]] * 3])[0][0].status == Status.OK
    words = [bytes(c + 7 for c in word.encode()) for word in (FIRST, SECOND, EARLIER)]
    scrape = Program(SCRAPE.replace("{words}", repr(words)), "f")
    (first,), (second,) = pool.run(scrape, [[[FIRST]], [[SECOND]]])
    assert first.status == second.status == Status.OK, (first, second)
    pages, own, later, earlier = first.value
    assert pages > 1000  # it did look
    assert own > 0  # and finds what is there
    assert later == earlier == 0
    assert second.value[2] > 0  # the second batch is there once it was sent


LEAVE = """
import fcntl, os
for fd in range(3):
    try:
        fcntl.fcntl(fd, fcntl.F_SETFL, 0o6000)
    except OSError:
        pass
    try:
        os.set_blocking(fd, False)
    except OSError:
        pass
import builtins, collections, gc, json, os, random, sys, tempfile
os.umask(0)
try:
    os.chdir("/usr/lib")
except OSError:
    pass
os.environ["LEFT"] = "1"
builtins.left = 1
sys.left = json.left = collections.left = 1
sys.modules["left"] = sys
random.seed(99)
gc.disable()
sys.setrecursionlimit(77)
json.dumps = None
def f():
    return 1
"""
LOOK = """
import builtins, collections, fcntl, gc, json, os, random, sys
def f():
    return [
        os.umask(0), os.getcwd(), dict(os.environ), hasattr(builtins, "left"), hasattr(sys, "left"),
        hasattr(json, "left"), hasattr(collections, "left"), "left" in sys.modules, random.random(),
        gc.isenabled(), sys.getrecursionlimit(), callable(json.dumps), os.getpid() > 1,
        hash("a string"), [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in range(3)],
    ]
"""


def test_a_program_leaves_nothing_for_the_next_one(pool):
    look, leave = Program(LOOK, "f"), Program(LEAVE, "f")
    before = pool.run(look, [[[]]])
    assert before[0][0].status == Status.OK
    assert pool.run(leave, [[[]]])[0][0].value == 1
    assert pool.run(look, [[[]]]) == before


CHANCE = """
import random
class Node:
    pass
def f():
    nodes = [Node() for _ in range(9)]
    places = {node: i for i, node in enumerate(nodes)}
    return [random.random(), *{'a', 'b', 'c'}, [places[node] for node in set(nodes)], id(f)]
"""
"""Also asks where things lie in memory."""


def test_the_same_program_does_the_same_in_every_pool(pool):
    chance = Program(CHANCE, "f")
    other = sandbox.Pool(pool.settings)
    try:
        first = other.run(chance, [[[]]])
        assert first[0][0].status == Status.OK
        assert other.run(chance, [[[]]]) == pool.run(chance, [[[]]]) == first
    finally:
        other.close()
