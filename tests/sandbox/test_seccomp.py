import errno
import os
import struct

import pytest

from turnscope.sandbox import seccomp

ALLOW, KILL = seccomp.ALLOW, seccomp.KILL
CHILD = 4321
MACHINES = list(seccomp.ARCHES)


def _decide(code: bytes, number: int, arguments=(), arch: int = 0) -> int:
    """Interpret the few instructions that the filters are made of."""
    data = struct.pack("=IIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
    steps = list(struct.iter_unpack("=HBBI", code))
    place, accumulator = 0, 0
    while True:
        kind, true, false, value = steps[place]
        place += 1
        if kind == seccomp.RETURN:
            return value
        if kind == seccomp.LOAD:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif kind == seccomp.AND:
            accumulator &= value
        else:
            met = {
                seccomp.EQUAL: accumulator == value,
                seccomp.AT_LEAST: accumulator >= value,
            }[kind]
            place += true if met else false


def _both(machine: str, name: str, *arguments: int) -> int:
    """Return what a child may do: the stricter of the two filters."""
    number = seccomp.NUMBERS[name][MACHINES.index(machine)]
    return _number(machine, number, *arguments)


def _number(machine: str, number: int, *arguments: int) -> int:
    filters = seccomp.filters(machine)
    assert filters is not None
    own, child = filters
    child = child.replace(struct.pack("=I", seccomp.PLACEHOLDER), struct.pack("=I", CHILD))
    return min(_decide(code, number, arguments, seccomp.ARCHES[machine]) for code in (own, child))


def _refused(code: int) -> int:
    return seccomp.ERRNO | code


@pytest.mark.parametrize("machine", MACHINES)
def test_a_child_may_work_and_touch_nothing_but_itself(machine):
    for name in ("read", "write", "mmap", "openat", "exit_group", "futex", "getrandom"):
        assert _both(machine, name) == ALLOW
    for name in ("kill", "tgkill", "tkill"):
        assert _both(machine, name, CHILD, 9) == ALLOW
        for other in (0, 1, CHILD + 1, 2**32 - 1, 2**64 - 1, 2**64 - CHILD):
            assert _both(machine, name, other, 9) == _refused(errno.EPERM)
    assert _both(machine, "prlimit64", 0, 7) == _both(machine, "prlimit64", CHILD, 7) == ALLOW
    assert _both(machine, "prlimit64", 1, 7) == _refused(errno.EPERM)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_child_makes_threads_but_no_processes(machine):
    assert _both(machine, "clone", 0x3D0F00) == ALLOW  # what pthread_create asks for
    for shared in (0x100, 0x200, 0x400, 0x800, 0x10000):
        assert _both(machine, "clone", 0x3D0F00 & ~shared) == _refused(errno.EPERM)
    for more in (0x20000, 0x02000000, 0x10000000, 0x40000000, 0x1000, 0x2000):
        assert _both(machine, "clone", 0x3D0F00 | more) == _refused(errno.EPERM)
    for flags in (17, 0x01200011, 0x10000000 | 17, 0x4111):
        assert _both(machine, "clone", flags) == _refused(errno.EPERM)
    assert _both(machine, "clone3") == _refused(errno.ENOSYS)
    for name in ("recvmsg", "sendto", "pidfd_open", "seccomp"):
        assert _both(machine, name) == _refused(errno.EPERM)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_file_is_emptied_only_by_who_may_write_it(machine):
    write, both, truncate, create = os.O_WRONLY, os.O_RDWR, os.O_TRUNC, os.O_CREAT
    assert truncate == 0x200  # on both machines
    for name, before in (("openat", [7, 8]), ("open", [7])):
        if name == "open" and machine == "aarch64":
            continue
        for flags in (0, write, both, 3, create, write | truncate, both | truncate | create):
            assert _both(machine, name, *before, flags) == ALLOW
        for flags in (truncate, truncate | create, truncate | 3, truncate | os.O_CLOEXEC):
            assert _both(machine, name, *before, flags) == _refused(errno.EPERM)
    assert _number(machine, 437) == _refused(errno.EPERM)  # openat2, whose flags are out of reach


@pytest.mark.parametrize("name", ["sysinfo", "mincore", "truncate", "ftruncate", "creat"])
def test_what_no_program_needs_is_not_listed(name):
    assert name not in seccomp.NUMBERS


@pytest.mark.parametrize("machine", MACHINES)
def test_commands_of_a_call_are_told_apart(machine):
    assert _both(machine, "fcntl", 1, 3) == ALLOW
    assert _both(machine, "fcntl", 1, 8) == _refused(errno.EPERM)  # F_SETOWN
    assert _both(machine, "fcntl", 1, 4) == _refused(errno.EPERM)  # F_SETFL
    assert _both(machine, "ioctl", 1, 0x5421) == _refused(errno.ENOTTY)  # FIONBIO
    assert _both(machine, "ioctl", 1, 0x5401) == ALLOW
    assert _both(machine, "ioctl", 1, 0x5412) == _refused(errno.ENOTTY)  # TIOCSTI
    assert _both(machine, "prctl", 15) == ALLOW
    assert _both(machine, "prctl", 22) == _refused(errno.EPERM)


def test_the_wrong_table_of_calls_is_deadly_or_unknown():
    own, _ = seccomp.filters("x86_64") or (b"", b"")
    assert _decide(own, 39, arch=0x40000003) == KILL  # i386
    assert _number("x86_64", seccomp.X32 + 39) == _refused(errno.ENOSYS)
    assert _number("x86_64", 59) == _refused(errno.EPERM)  # execve
    assert _number("aarch64", 221) == _refused(errno.EPERM)  # execve
    assert _number("x86_64", seccomp.NEWEST + 1) == _refused(errno.ENOSYS)


def test_numbers_are_unique_on_each_machine():
    for column in range(2):
        known = [both[column] for both in seccomp.NUMBERS.values() if both[column] >= 0]
        assert len(known) == len(set(known))


def test_other_machines_have_no_filter():
    assert seccomp.filters("riscv64") is None
