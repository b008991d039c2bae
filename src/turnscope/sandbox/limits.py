"""What is run, under which limits, and what comes back."""

from enum import StrEnum
from typing import Any, NamedTuple


class Limits(NamedTuple):
    """What one run may use."""

    cpu: float = 2.0
    """Seconds of processor time: of all calls of a function, of each input of a script."""
    wall: float = 20.0
    """Seconds on the clock: a backstop for programs that sleep."""
    memory: int = 512
    """MiB of address space."""
    output: int = 1 << 20
    """Bytes of the result, or of standard output, of each input."""


class Program(NamedTuple):
    """An untrusted program."""

    text: str
    entry: str | None
    """The function that is called, or the method of a class `Solution`; None is a script that reads
    standard input."""


class Status(StrEnum):
    """How a run ended."""

    OK = "ok"
    ERROR = "error"
    """An exception."""
    SYNTAX = "syntax"
    MISSING = "missing"
    """The entry is not defined."""
    TIMEOUT = "timeout"
    MEMORY = "memory"
    OUTPUT = "output"
    KILLED = "killed"
    """It died by a signal or left the interpreter before it had answered."""


class Result(NamedTuple):
    """What a program made of one input."""

    status: Status
    value: Any = None
    """JSON values that a function returned, or the text a script wrote."""
    error: str = ""
    """One line, such as `ZeroDivisionError: division by zero`."""


class Settings(NamedTuple):
    """A pool of warm interpreters."""

    limits: Limits = Limits()
    workers: int = 1
    """Programs that run side by side."""
    allow_unsandboxed: bool = False
    """Whether programs may run without isolation where there is none."""
    image: str | None = None
    """Container image with Python for the rung `apptainer`."""
    rung: str | None = None
    """Insist on this rung of the ladder."""
    readable: tuple[str, ...] = ()
    """Folders of the host that programs may read, with all that is below them."""
