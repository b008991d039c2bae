"""Which system calls a program may make, as filters that the kernel applies.

What is not listed is refused: there is no way to make a process, a socket or a file, or to reach
another process. There are two filters. The zygote enters the first for good. It also lets through
the few calls by which the zygote serves. A child adds the second, which takes these away. It is
short, because every child pays for it, and it knows the child's own number: signals to itself stay
legal.

Source:
    Linux `include/uapi/linux/{seccomp,filter,audit}.h`; numbers of calls from `asm/unistd_64.h`
    (x86_64) and `asm-generic/unistd.h` (aarch64).
"""

import errno
import platform
import struct
from collections.abc import Iterable

ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""`AUDIT_ARCH_*` of the machines whose numbers are known."""
X32 = 0x40000000

NUMBERS: dict[str, tuple[int, int]] = {}
"""Name of a call -> its number on x86_64 and on aarch64; -1 where it does not exist."""
PLACEHOLDER = 0x7FFFFFFE
"""Stands in the second filter for the child's number; larger than any process number."""

KILL, ALLOW, ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
NUMBER, ARCH, ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`; both machines are little endian."""
LOAD, EQUAL, AT_LEAST, AND, RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
THREAD, CLONED = 0x00010F00, 0x7E033F00
"""Flags of `clone` that a thread has, and which are looked at: it shares memory, files, places and
signals with its process, is in no other namespace, and has no descriptor."""
TRUNCATE, EMPTIES = 0x203, (0x200, 0x203)
"""Flags of `open` that are looked at, and those that empty a file without a right to write it:
O_TRUNC with O_RDONLY and with the access mode 3. Landlock before version 3 does not see it."""

_TABLE = """
read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68, preadv 295 69,
pwritev 296 70, lseek 8 62, open 2 -1, openat 257 56, close 3 57, close_range 436 436, dup 32 23,
dup2 33 -1, dup3 292 24, fstat 5 80, stat 4 -1, lstat 6 -1, newfstatat 262 79, statx 332 291,
access 21 -1, faccessat 269 48, faccessat2 439 439, readlink 89 -1, readlinkat 267 78,
getdents 78 -1, getdents64 217 61, getcwd 79 17, chdir 80 49, fchdir 81 50, umask 95 166,
fcntl 72 25, ioctl 16 29, poll 7 -1, ppoll 271 73, select 23 -1, pselect6 270 72,
epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -1, epoll_pwait 281 22, pipe 22 -1,
pipe2 293 59, eventfd2 290 19, mmap 9 222, mprotect 10 226, munmap 11 215, brk 12 214,
mremap 25 216, madvise 28 233, membarrier 324 283, fadvise64 221 223, statfs 137 43,
fstatfs 138 44, clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115,
nanosleep 35 101, gettimeofday 96 169, time 201 -1, times 100 153, getrusage 98 165,
setitimer 38 103, getitimer 36 102, alarm 37 -1, getpid 39 172, gettid 186 178, getppid 110 173,
getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177, getresuid 118 148,
getresgid 120 150, getgroups 115 158, getpgrp 111 -1, getpgid 121 155, getsid 124 156,
uname 63 160, prctl 157 167, exit 60 93, exit_group 231 94, rt_sigaction 13 134,
rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigpending 127 136, rt_sigsuspend 130 133,
rt_sigtimedwait 128 137, sigaltstack 131 132, pause 34 -1, restart_syscall 219 128, kill 62 129,
tkill 200 130, tgkill 234 131, wait4 61 260, waitid 247 95, prlimit64 302 261, getrlimit 97 163,
setrlimit 160 164, sched_yield 24 124, sched_getaffinity 204 123, getcpu 309 168, futex 202 98,
set_robust_list 273 99, set_tid_address 218 96, rseq 334 293, getrandom 318 278, clone 56 220,
clone3 435 435, fork 57 -1, vfork 58 -1, recvmsg 47 212, sendto 44 206, pidfd_open 434 434,
seccomp 317 277
"""
for _line in _TABLE.split(","):
    _name, _x86, _arm = _line.split()
    NUMBERS[_name] = (int(_x86), int(_arm))

SERVING = ("fork", "vfork", "recvmsg", "sendto", "pidfd_open", "seccomp")
"""What the zygote needs and a program must not have; more of it depends on arguments, below."""
FCNTL = (0, 1, 2, 3, 1030)
"""Duplicate a descriptor, its flags, read its status; no owners, signals, locks, seals, hints. Nor
is the status set, here or by `ioctl`: the standard descriptors share theirs with the next child."""
IOCTL = (0x5401, 0x5450, 0x5451, 0x541B)
"""Is it a terminal (TCGETS), inherit or not, bytes waiting."""
PRCTL = (15, 16)
"""Set and get the name of a thread."""
NEWEST = 462
"""Calls after this one did not exist when the list was made."""


def filters(machine: str | None = None) -> tuple[bytes, bytes] | None:
    """Build the filter of the zygote and the one that a child adds.

    Args:
        machine: As `platform.machine` names it; the default is this one.

    Returns:
        Arrays of `struct sock_filter`; in the second, `PLACEHOLDER` stands for the number of the
        child. None where the numbers of the calls are not known.
    """
    machine = machine or platform.machine()
    if machine not in ARCHES:
        return None
    column = list(ARCHES).index(machine)
    numbers = {name: both[column] for name, both in NUMBERS.items() if both[column] >= 0}
    return _zygote(numbers, ARCHES[machine]), _child(numbers)


def _zygote(numbers: dict[str, int], arch: int) -> bytes:
    """Allow what is listed, refuse everything else."""
    code = [
        _step(LOAD, ARCH),
        _step(EQUAL, arch, 1, 0),
        _step(RETURN, KILL),
        _step(LOAD, NUMBER),
        _step(AT_LEAST, NEWEST + 1, 0, 1),  # x32 too
        _step(RETURN, ERRNO | errno.ENOSYS),
        *_refuse(numbers, ["clone3"], errno.ENOSYS),  # its flags are out of reach; libc falls back
        *_only(numbers, "fcntl", 1, FCNTL, errno.EPERM),
        *_only(numbers, "ioctl", 1, IOCTL, errno.ENOTTY),
        *_no_emptying(numbers, "open", 1),
        *_no_emptying(numbers, "openat", 2),
    ]
    for name in sorted(numbers):
        if name not in ("clone3", "fcntl", "ioctl", "open", "openat"):
            code += [_step(EQUAL, numbers[name], 0, 1), _step(RETURN, ALLOW)]
    code.append(_step(RETURN, ERRNO | errno.EPERM))
    return b"".join(code)


def _child(numbers: dict[str, int]) -> bytes:
    """Refuse what the first filter lets through for the zygote alone."""
    code = [
        _step(LOAD, NUMBER),
        *_refuse(numbers, SERVING, errno.EPERM),
        *_only(numbers, "prctl", 0, PRCTL, errno.EPERM),
        *_only(numbers, "prlimit64", 0, (0, PLACEHOLDER), errno.EPERM),
    ]
    for name in ("kill", "tgkill", "tkill"):
        code += _only(numbers, name, 0, (PLACEHOLDER,), errno.EPERM)
    code += [
        _step(EQUAL, numbers["clone"], 0, 5),
        _step(LOAD, ARGUMENTS),
        _step(AND, CLONED),
        _step(EQUAL, THREAD, 0, 1),
        _step(RETURN, ALLOW),
        _step(RETURN, ERRNO | errno.EPERM),
        _step(RETURN, ALLOW),
    ]
    return b"".join(code)


def _refuse(numbers: dict[str, int], names: Iterable[str], error: int) -> list[bytes]:
    code = []
    for name in names:
        if name in numbers:
            code += [_step(EQUAL, numbers[name], 0, 1), _step(RETURN, ERRNO | error)]
    return code


def _only(
    numbers: dict[str, int], name: str, argument: int, legal: tuple[int, ...], error: int
) -> list[bytes]:
    """Allow a call only if the lower half of one argument is legal; the kernel reads no more of it.

    The number of the call is in the accumulator before and, for other calls, after it.
    """
    code = [_step(LOAD, ARGUMENTS + 8 * argument)]
    for value in legal:
        code += [_step(EQUAL, value, 0, 1), _step(RETURN, ALLOW)]
    code.append(_step(RETURN, ERRNO | error))
    return [_step(EQUAL, numbers[name], 0, len(code)), *code]


def _no_emptying(numbers: dict[str, int], name: str, argument: int) -> list[bytes]:
    """Allow a file to be emptied only where it is opened for writing."""
    if name not in numbers:
        return []
    code = [_step(LOAD, ARGUMENTS + 8 * argument), _step(AND, TRUNCATE)]
    for value in EMPTIES:
        code += [_step(EQUAL, value, 0, 1), _step(RETURN, ERRNO | errno.EPERM)]
    code.append(_step(RETURN, ALLOW))
    return [_step(EQUAL, numbers[name], 0, len(code)), *code]


def _step(code: int, value: int, true: int = 0, false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, true, false, value)
