"""Calls of what nobody has checked: they end in time, and raise nothing that would end the job."""

import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

LIMIT = 600
"""Seconds that one answer of an environment may take. Far above what its own limits let a program
or a query take, so that in ordinary runs it decides nothing."""
GRACE = 30
"""Seconds that what hung may take to clean up, before it is interrupted once more."""
TICK = 1.0
"""Seconds between two looks at the clock."""
LONGEST = 500
"""Characters of a line about a failure."""
Value = TypeVar("Value")


class Failure(Exception):
    """Something was raised that is no `Exception`, such as `SystemExit`; says what."""


class Hang(BaseException):
    """An answer did not come. No `Exception`, which what hangs may catch and go on."""


class Call(Protocol):
    """Calls a function with its arguments, see `watching`."""

    def __call__(self, function: Callable[..., Value], *arguments: Any, answers: int = 1) -> Value:
        """Return what the function does."""
        ...


@contextmanager
def watching() -> Iterator[Call]:
    """Yield what calls a function, and gives up when that takes too long.

    Time is counted in ticks while this process may run: that a machine sleeps, a job is suspended
    or a clock is set counts for nothing. What waits in C code that does not return cannot be
    interrupted, and neither can what another thread calls than the main one; there the job's own
    limit of time is the end.

    It is given a function, its arguments, and how many `answers` it is asked for, each of which may
    take `LIMIT`. It raises what the function raises if that is an `Exception` or a person's
    `KeyboardInterrupt`, and `Failure` if it is anything else or takes too long.
    """
    watch = _Watch()
    if threading.current_thread() is not threading.main_thread():
        yield watch.call
        return
    usual = signal.signal(signal.SIGALRM, watch.tick)
    others = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        watch.runs = True
        yield watch.call
    finally:
        signal.signal(signal.SIGALRM, usual or signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, *others)


class _Watch:
    """Counts ticks while something is called."""

    def __init__(self) -> None:
        self.runs = False
        self.left = 0.0

    def tick(self, *_: Any) -> None:
        self.left -= TICK
        if self.left <= 0:
            self.left = GRACE  # for what is cleaned up on the way out
            raise Hang(f"no answer for {LIMIT} s")

    def call(self, function: Callable[..., Value], *arguments: Any, answers: int = 1) -> Value:
        try:
            if not self.runs:
                return function(*arguments)
            self.left = LIMIT * answers
            signal.setitimer(signal.ITIMER_REAL, TICK, TICK)
            try:
                return function(*arguments)
            finally:
                self.left = math.inf  # a tick that comes with the answer is none
                signal.setitimer(signal.ITIMER_REAL, 0)
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as failure:
            if self.runs:  # a tick may have come before the clock was stopped above
                signal.setitimer(signal.ITIMER_REAL, 0)
            raise Failure(described(failure)) from failure


def described(failure: BaseException) -> str:
    """Say in one line what was raised, in text that can be stored, whatever it is."""
    try:
        said = str(failure)
    except Exception:  # noqa: BLE001 - nobody has checked it
        said = "?"
    kind = "" if isinstance(failure, Failure) else f"{type(failure).__name__}: "
    line = " ".join(f"{kind}{said[: 4 * LONGEST]}".split())[:LONGEST]
    return line.encode(errors="replace").decode()
