"""File access by a list of what may be read, without namespaces or rights.

Source:
    Linux `include/uapi/linux/landlock.h` and `Documentation/userspace-api/landlock.rst`.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

CREATE, ADD = 444, 445
"""System calls, the same numbers on all machines."""
ASK_VERSION = 1
READ_FILE, READ_DIR, WRITE_FILE = 1 << 2, 1 << 3, 1 << 1
RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""First version of the interface that knows so many rights over files."""
NETWORK, SCOPES = 0b11, 0b11
"""TCP ports to bind and connect, from version 4; abstract sockets and signals, from version 6."""

_libc = ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """Return the version of the kernel's interface, 0 without one."""
    return max(0, _libc.syscall(CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(ASK_VERSION)))


def ruleset(readable: Iterable[Path], devices: Iterable[Path]) -> int:
    """Return a descriptor of rules under which nothing but these paths can be used.

    Args:
        readable: Files, and directories with all that is below them.
        devices: May be read and written.

    Raises:
        OSError: The kernel has no Landlock, or a path does not exist.
    """
    known = version()
    if not known:
        raise OSError("the kernel has no Landlock")
    handled = (1 << max(bits for since, bits in RIGHTS.items() if since <= known)) - 1
    attributes = struct.pack(
        "=QQQ", handled, NETWORK if known >= 4 else 0, SCOPES if known >= 6 else 0
    )
    size = 24 if known >= 6 else 16 if known >= 4 else 8
    rules = _call(CREATE, attributes, ctypes.c_size_t(size), ctypes.c_uint(0))
    for path in readable:
        _allow(rules, path, READ_FILE | READ_DIR if path.is_dir() else READ_FILE)
    for path in devices:
        _allow(rules, path, READ_FILE | WRITE_FILE)
    return rules


def _allow(rules: int, path: Path, rights: int) -> None:
    """Grant rights below a path."""
    file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(file).st_mode):
            rights &= ~READ_DIR
        rule = struct.pack("=Qi", rights, file)
        _call(ADD, ctypes.c_int(rules), ctypes.c_int(1), rule, ctypes.c_uint(0))
    finally:
        os.close(file)


def _call(number: int, *arguments: object) -> int:
    result = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
