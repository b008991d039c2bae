"""Names that a function's program finds without importing them.

Starters of LiveCodeBench use `List` and its like, and its harness puts these imports before every
program. They stand behind the program's own names, among the builtins of its module: so line
numbers stay, what the program defines comes first, and nothing of it costs a child any time.

Source:
    LiveCodeBench, `lcb_runner/evaluation/testing_util.py`, `import_string`.
"""

import _sitebuiltins
import builtins
import types

_STARS = """
string re datetime collections heapq bisect copy math random statistics itertools functools operator
io sys json typing
"""
MODULES = _STARS.split()

offered = types.ModuleType("builtins")
"""Takes the place of `builtins` for a program with an entry."""


def fill() -> None:
    """Import what is offered; also give `exit` and `quit`, which the interpreter left out."""
    for name in ("exit", "quit"):
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D (i.e. EOF)"))
    lines = [f"from {name} import *" for name in MODULES] + [f"import {name}" for name in MODULES]
    names: dict[str, object] = {}
    exec("\n".join(lines), names)
    del names["__builtins__"]
    offered.__dict__.update(names)
    offered.__dict__.update(builtins.__dict__)
