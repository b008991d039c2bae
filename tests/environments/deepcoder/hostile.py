"""Programs that do what none should: fail in every way, or tell all they see."""

HOSTILE: dict[str, tuple[str, str, str]] = {
    "syntax": ("def f(x:", "syntax", "SyntaxError: '(' was never closed"),
    "null bytes": (
        "def f(x): return '\0'",
        "syntax",
        "SyntaxError: source code string cannot contain null bytes",
    ),
    "half characters": ("def f(x): return '\ud800'", "syntax", "UnicodeEncodeError: "),
    "no function": ("x = 1", "missing", "there is no function f"),
    "a name that is no function": ("f = 3", "missing", "f is not defined"),
    "loop": (
        "def f(x):\n    while True: pass",
        "timeout",
        "took more than 0.3 s of processor time",
    ),
    "loop at once": (
        "f = 0\nwhile True: pass",
        "timeout",
        "took more than 0.3 s of processor time",
    ),
    "swallow": (
        "def f(x):\n while True:\n  try: f(x)\n  except BaseException: pass",
        "timeout",
        "took more than 0.3 s of processor time",
    ),
    "leave": ("import os\ndef f(x): os._exit(3)", "killed", "left with exit code 3"),
    "leave at once": ("import sys\nf = 0\nsys.exit('bye')", "error", "SystemExit: bye"),
    "kill itself": ("import os\ndef f(x): os.kill(os.getpid(), 9)", "killed", "died by SIGKILL"),
    "too much": ("def f(x): return 'x' * 10 ** 7", "output", "output"),
    "print": ("def f(x):\n    for _ in range(10 ** 4): print('x' * 10 ** 4)", "ok", "null"),
    "lines": ("def f(x): raise ValueError('a\\nb\\r\\n\\tc')", "error", "ValueError: a b c"),
    "odd text": ("def f(x): raise ValueError('é→\\ud800\\0𝔘')", "error", "ValueError: é→? 𝔘"),
    "odd error": (
        "class E(Exception):\n    def __str__(self): return 1 / 0\ndef f(x): raise E",
        "error",
        "E",
    ),
    "odd value": ("def f(x): return '\\ud800\\0'", "ok", '{"repr": "\'\\\\ud800\\\\x00\'"}'),
    "address": (
        "def f(x): return (y for y in x)",
        "error",
        "TypeError: 'int' object is not iterable",
    ),
    "generator": (
        "def f(x): return (y for y in [x])",
        "ok",
        '{"repr": "<generator object f.<locals>.<genexpr> at 0x...>"}',
    ),
    "recursion": (
        "def f(x): return f(x)",
        "error",
        "RecursionError: maximum recursion depth exceeded",
    ),
    "itself": ("def f(x):\n    a = []\n    a.append(a)\n    return a", "ok", ""),
    "memory": ("def f(x): return len(bytearray(1 << 44))", "memory", "MemoryError"),
    "forge": (
        "import os\ndef f(x):\n for i in range(3, 64):\n  try: os.write(i, b'[\"ok\", 7]\\n' * 99)"
        "\n  except OSError: pass\n return None",
        "ok",
        "7",
    ),
    "nothing": ("def f(x): pass", "ok", "null"),
    "infinite": ("def f(x): return 1e308 * 10", "ok", '{"repr": "inf"}'),
}
"""By name: a program, the status of both public tests, and how what it says begins."""
SPIES = (
    "def f(x): return x",
    "def f(x): return [x] * 3",
    "def f(x): raise ValueError(x)",
    "def f(x): raise SystemExit(x)",
    "SEEN = []\ndef f(x):\n    SEEN.append(x)\n    return SEEN",
    "SEEN = []\ndef f(x):\n    SEEN.append(x)\n    if len(SEEN) > 2: raise ValueError(SEEN)\n",
    "import sys\ndef f(x):\n    print(x)\n    print(x, file=sys.stderr)\n    return x",
    "import os\ndef f(x):\n    for i in range(16):\n        try: os.write(i, str(x).encode())\n"
    "        except OSError: pass\n    return 1",
    "import gc\ndef f(x): return [o for o in gc.get_objects() if type(o) is list and o == [x]]",
    "import warnings\ndef f(x):\n    warnings.warn(str(x))\n    return 2 * x",
    "import sys\ndef f(x): return str(sys._getframe(1).f_locals)",
    "import time\ndef f(x):\n    time.sleep(0.01)\n    return str(sorted(globals()))",
    "exec('def f(x): return {1: 2, 2: 4}.get(x, x)')",
)
"""Programs that tell what they are given, or look for more."""
