"""A program that stays in its child and is called again and again.

A run ends with its last input; a session has no last input. So what the program keeps from one call
could reach the next: a session is for programs of ours that work on what others wrote.
"""

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from turnscope.sandbox import runs, zygote
from turnscope.sandbox.limits import Program, Result, Status
from turnscope.sandbox.worker import Worker

log = logging.getLogger(__name__)

TRIES, BACK_OFF = 4, 0.25
"""How often a run is tried where the machine fails it, and how much longer each wait is, s."""


class Session:
    """A program in a zygote of its own; calls of several threads wait for each other.

    The program is defined at the first call, and anew at the next call after one that ended it.
    The limits hold for each call. That of processor time does not hold for the definition, and a
    program that means to escape it can: the clock is the limit that holds from outside.
    """

    def __init__(self, start: Callable[[], Worker], program: Program) -> None:
        """Prepare a session.

        Args:
            start: Starts a zygote.
            program: Has an entry.
        """
        self.program = program
        self._start = start
        self._worker: Worker | None = None
        self._channel: socket.socket | None = None
        self._process = os.getpid()
        self._lock = threading.Lock()

    @property
    def alive(self) -> bool:
        """Whether the next call finds the program defined."""
        return self._channel is not None

    def call(self, arguments: list[Any]) -> Result:
        """Call the function.

        Args:
            arguments: Values that `marshal` knows.

        Raises:
            RuntimeError: The isolation does not start any more.
        """
        if self._process != os.getpid():
            raise RuntimeError("a session of a sandbox cannot be used in a fork of its process")
        deaths = 0
        with self._lock:
            for attempt in range(TRIES):
                if attempt:
                    time.sleep(attempt * BACK_OFF)
                worker = self._worker = self._worker or self._start()
                try:
                    result = self._exchange(worker, arguments)
                except ConnectionError as error:  # says nothing of the program
                    log.warning("a sandbox did not call a program: %s", error)
                    continue
                except BaseException:  # its answer may still come, and the next call would hear it
                    self._leave()
                    raise
                finally:
                    if not worker.alive:
                        deaths += 1
                        self._leave()
                # A zygote may die for reasons of its own; twice in a row it was the call.
                if worker.alive or deaths > 1:
                    return result
        raise RuntimeError(f"the sandbox did not call a program, tried {TRIES} times")

    def close(self) -> None:
        """End the program; a later call would start it anew."""
        with self._lock:
            self._leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _exchange(self, worker: Worker, arguments: list[Any]) -> Result:
        """Send one call and read its answer; if there is none, hear why.

        Raises:
            ConnectionError: There is no child to do it.
        """
        fresh = self._channel is None
        message = runs.pack([True, [arguments], *(self.program if fresh else ())])
        if self._channel is None:
            self._channel = runs.begin(worker, zygote.SESSION, [])
        limits, found = worker.limits, []
        self._channel.settimeout(limits.wall)
        last = runs.exchange(self._channel, message, 1, found, limits.output)
        if last is None:
            return found[0]
        self._hang_up()
        why, code = runs.finish(worker, last is not runs.GONE)
        if last is not runs.GONE:
            return last
        if why == zygote.STOPPED:
            return Result(Status.TIMEOUT, error=f"took more than {limits.wall:g} s")
        if code == -signal.SIGPROF:
            return runs.death(limits, zygote.CPU, code)
        return runs.death(limits, why, code)

    def _hang_up(self) -> None:
        """Let the child hear nothing any more."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _leave(self) -> None:
        self._hang_up()
        if self._worker is not None:
            self._worker.close()
            self._worker = None
