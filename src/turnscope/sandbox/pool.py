"""Warm interpreters that run programs, some at a time."""

import atexit
import errno
import functools
import logging
import os
import queue
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from turnscope.sandbox import rungs, runs
from turnscope.sandbox.limits import Limits, Program, Result, Settings, Status
from turnscope.sandbox.sessions import BACK_OFF, TRIES, Session
from turnscope.sandbox.worker import Worker

log = logging.getLogger(__name__)

TRANSIENT = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
ROUNDS = 2
TRIAL = Program("def trial(numbers):\n    return sorted(numbers)", "trial")
Batches = Sequence[Sequence[Any]]

_started: list["Pool"] = []
_chosen_before: dict[Settings, rungs.Launch] = {}


class Pool:
    """Zygotes that are started at first use; safe to use from several threads, not after a fork."""

    def __init__(self, settings: Settings) -> None:
        _check(settings)
        self.settings = settings
        self.launch: rungs.Launch | None = None
        self.filtered = False
        self._process = os.getpid()
        self._sessions: list[Session] = []
        self._idle: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        for _ in range(settings.workers):
            self._idle.put(None)

    def run(self, program: Program, batches: Batches) -> list[list[Result]]:
        """Run one program.

        Args:
            program: Untrusted.
            batches: Inputs: lists of arguments if the program has an entry, else texts of standard
                input. Batch i + 1 is sent only when the results of batch i are in.

        Returns:
            A result for each input.

        Raises:
            RuntimeError: The isolation does not start any more.
            ValueError: There is none that the settings allow.
        """
        if self._process != os.getpid():
            raise RuntimeError("a sandbox pool cannot be used in a fork of its process")
        worker, deaths = self._idle.get(), 0
        try:
            for attempt in range(TRIES):
                _wait(attempt)
                worker = worker or self._start()
                found = None
                try:
                    found = runs.run(worker, program, batches)
                except ConnectionError as error:  # says nothing of the program
                    log.warning("a sandbox did not run a program: %s", error)
                deaths += not worker.alive
                if not worker.alive:
                    worker = worker.close()
                # A zygote may die for reasons of its own; twice in a row it was the program.
                if found is not None and (worker or deaths > 1):
                    return found
            raise RuntimeError(f"the sandbox did not run a program, tried {TRIES} times")
        except BaseException:
            worker = worker and worker.close()  # it may be in the middle of something
            raise
        finally:
            self._idle.put(worker)

    def map(self, jobs: Iterable[tuple[Program, Batches]]) -> list[list[list[Result]]]:
        """Run programs, as many at a time as there are workers; results are in order."""
        if self.settings.workers == 1:
            return [self.run(program, batches) for program, batches in jobs]
        with ThreadPoolExecutor(self.settings.workers) as threads:
            return list(threads.map(lambda job: self.run(*job), jobs))

    def session(self, program: Program) -> Session:
        """Begin to call the function of a program that is trusted not to keep anything.

        A session has a zygote of its own, besides those of `workers`. The limits hold for each
        call.

        Args:
            program: Has an entry.
        """
        self._sessions.append(Session(self._start, program))
        return self._sessions[-1]

    def close(self) -> None:
        """End all zygotes that are idle; the pool starts others when it is used again."""
        if self._process != os.getpid():
            return
        for session in self._sessions:
            session.close()
        for _ in range(self.settings.workers):
            worker = self._idle.get()
            if worker is not None:
                worker.close()
        for _ in range(self.settings.workers):
            self._idle.put(None)

    def _start(self) -> Worker:
        """Start a zygote on the best rung there is.

        Raises:
            RuntimeError: It worked before.
        """
        self.launch, reason = _chosen(self.settings), ""
        for attempt in range(TRIES):
            _wait(attempt)
            try:
                worker = _warm(self.launch, self.settings.limits)[0]
            except OSError as error:
                reason = str(error)
            else:
                self.filtered = worker.filtered
                if self not in _started:
                    _started.append(self)
                return worker
        raise RuntimeError(f"rung {self.launch.rung} fails: {reason}")


def _wait(attempt: int) -> None:
    """Give a machine that failed some time."""
    if attempt:
        time.sleep(attempt * BACK_OFF)


def _check(settings: Settings) -> None:
    """Refuse settings that mean nothing.

    Raises:
        ValueError: Which, and what is legal.
    """
    if settings.rung not in (None, *rungs.NAMES):
        raise ValueError(f"unknown rung {settings.rung!r}; known: {', '.join(rungs.NAMES)}")
    if settings.workers < 1:
        raise ValueError(f"workers is {settings.workers}; it must be 1 or more")
    for path in settings.readable:
        if not (os.path.isabs(path) and os.path.isdir(path)):
            raise ValueError(f"readable is {path!r}; legal is the absolute path of a folder")
    for name, value in settings.limits._asdict().items():
        if not value > 0:
            raise ValueError(f"limit {name} is {value}; it must be above 0")


def _warm(launch: rungs.Launch, limits: Limits) -> tuple[Worker, bool, str]:
    """Start a zygote and let it run something of both kinds, until all runs are like the first.

    Returns:
        It, whether the results were right, which depends on the limits too, and what was wrong.

    Raises:
        OSError: It does not start, or does not run anything.
    """
    worker, found = Worker(launch, limits), []
    try:
        for _ in range(ROUNDS):
            found += runs.run(worker, TRIAL, [[[[2, 1]]]])
            found += runs.run(worker, Program("print(input())", None), [["1"]])
        if not worker.alive:
            raise ConnectionResetError("the zygote died in a trial")
    except BaseException:
        worker.close()
        raise
    right = [[Result(Status.OK, [1, 2])], [Result(Status.OK, "1\n")]] * ROUNDS
    wrong = [
        one for batch, other in zip(found, right, strict=True) for one in batch if batch != other
    ]
    return worker, not wrong, wrong[0].error or str(wrong[0].status) if wrong else ""


def _choice(settings: Settings) -> tuple[rungs.Launch | None, str]:
    """Try one way after the other; return the first that works, or why none does."""
    reasons = []
    for launch in rungs.launches(settings):
        reason = ""
        for attempt in range(TRIES):
            _wait(attempt)
            try:
                worker, works, reason = _warm(launch, Limits())
                worker.close()
            except OSError as error:
                reason = str(error)
                if error.errno not in TRANSIENT and not isinstance(error, ConnectionError):
                    break
            else:
                if works:
                    return launch, ""
                break
        log.info("no sandbox by %s: %s", launch.facts, reason)
        reasons.append(f"{launch.rung}: {reason}")
    return None, "; ".join(reasons) or "no rung is offered here"


def _chosen(settings: Settings) -> rungs.Launch:
    """Return the best way; one that worked is kept, that none did may change.

    Raises:
        ValueError: There is none.
    """
    asked = settings._replace(limits=Limits(), workers=1)
    if asked in _chosen_before:
        return _chosen_before[asked]
    launch, why = _choice(asked)
    if launch is None:
        raise ValueError(
            f"no sandbox for programs ({why}); allow_unsandboxed runs them without isolation"
        )
    return _chosen_before.setdefault(asked, launch)


@functools.cache
def pool(settings: Settings) -> Pool:
    """Return the pool of this process with these settings; it is closed at exit."""
    return Pool(settings)


def rung(settings: Settings) -> str:
    """Return the isolation that will be in force.

    Raises:
        ValueError: There is none that the settings allow.
    """
    _check(settings)
    return _chosen(settings).rung


def in_force() -> list[str]:
    """Return a line for each pool that was started in this process: its isolation and limits."""
    lines = []
    for one in _started:
        launch, limits = one.launch, one.settings.limits
        if launch is not None:
            lines.append(
                f"{launch.rung} ({launch.facts}; {'' if one.filtered else 'no '}seccomp;"
                f" {rungs.kernel()}); a run has {limits.cpu:g} s of"
                f" processor time, {limits.wall:g} s, {limits.memory} MiB, {limits.output} bytes of"
                f" output; {one.settings.workers} at a time"
            )
    return lines


@atexit.register
def _close() -> None:
    for one in _started:
        one.close()
