"""The simulated systems of BFCL, as the host sees them: states that are texts, and calls of them.

The systems themselves run in `worker`, inside the sandbox. The host never opens a state. So a state
can be kept, copied and continued by anybody, two episodes never share one, and a worker that is
killed takes nothing with it. All is deterministic, so what was asked before is not asked again.
"""

import functools
import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from turnscope import sandbox
from turnscope.environments.bfcl import official, worker
from turnscope.sandbox import Limits, Program, Result, Settings, Status

log = logging.getLogger(__name__)

LIMIT = worker.LIMIT
"""What a call answers that exceeds a limit; it leaves the state as it was. The checker must not see
it: it knows no limits."""
TERMINATED = "multi_turn:force_terminated"
"""The official name for a trajectory that has not as many requests as the gold."""
UNCHECKED = "turnscope:not_checked"
"""The checker did not come to an end."""
SETTINGS = Settings(Limits(cpu=1.0, wall=60.0, memory=1024, output=64 << 20))
"""Limits of one message. A call takes about a millisecond."""
TOLERATED = 2
"""Calls of a response that may exceed a limit; no call behind them is made."""
TOGETHER = 32
"""Requests in one message."""
REMEMBERED = 128 << 20
"""Characters of states and outputs that are remembered."""
SMALL = 256
"""Characters that anything else counts for."""


class State(NamedTuple):
    """Systems between two calls."""

    blob: str
    """They themselves, of use only to the worker."""
    digest: str
    """Equal for systems on which every call does the same."""


class Acted(NamedTuple):
    """What calls did."""

    outputs: tuple[str, ...]
    """Of each call."""
    state: State


class Simulator:
    """A warm worker, started at first use and again after a call that killed it."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        """Prepare a worker.

        Args:
            folder: Where the package lies.
            settings: Of the sandbox.
        """
        text = f"{Path(worker.__file__).read_text()}\nbegin({str(folder)!r})\n"
        pool = sandbox.pool(settings._replace(readable=(str(folder),)))
        self._session = pool.session(Program(text, "serve"))
        self._known: OrderedDict[tuple[Any, ...], tuple[Any, int]] = OrderedDict()
        self._size = 0
        self._lock = threading.RLock()

    def start(self, payload: Mapping[str, Any]) -> State:
        """Return the systems of a task as they are before its first request.

        Args:
            payload: Has `category`, `classes` and `config`.

        Raises:
            RuntimeError: They do not start; says why.
        """
        config, classes = payload["config"], list(payload["classes"])
        long = payload["category"] == "long_context"
        key = "start", json.dumps([config, classes, long])

        def ask() -> State:
            (result,) = self._ask([["start", config, classes, long]])
            if result.status != Status.OK:
                raise RuntimeError(f"systems {classes} do not start: {result.error}")
            return State(*result.value)

        return self._once(key, ask)

    def act(self, state: State, calls: Sequence[str]) -> Acted:
        """Make calls one after the other.

        Args:
            state: Left as it is.
            calls: Source text of calls with literal arguments.
        """
        return self.act_all([(state, calls)])[0]

    def act_all(self, jobs: Sequence[tuple[State, Sequence[str]]]) -> list[Acted]:
        """Do what `act` does for many states, with few messages.

        Args:
            jobs: A state and the calls to make from there, each.
        """
        keys = [("act", state.digest, *calls) for state, calls in jobs]
        with self._lock:
            found = {key: self._recall(key) for key in keys if key in self._known}
            new = {
                key: job for key, job in zip(keys, jobs, strict=True) if job[1] and key not in found
            }
            asked = [["act", *state, list(calls)] for state, calls in new.values()]
            for (key, job), result in zip(new.items(), self._ask(asked), strict=True):
                acted = found[key] = self._read(*job, result)
                self._remember(key, acted, len(acted.state.blob) + sum(map(len, acted.outputs)))
        return [found.get(key) or Acted((), job[0]) for key, job in zip(keys, jobs, strict=True)]

    def agreement(self, payload: Mapping[str, Any], state: State, request: int) -> float:
        """Return how much of the systems is as the gold leaves it at the end of a request.

        Args:
            payload: The task.
            state: Of its systems.
            request: Number of the request, from 0.

        Returns:
            Share of the public attributes of all systems of the task.
        """
        gold = self.gold(payload, request)

        def ask() -> float:
            (result,) = self._ask([["agreement", state.blob, gold.blob]])
            return result.value if result.status == Status.OK else 0.0

        return self._once(("agreement", state.digest, gold.digest), ask)

    def gold(self, payload: Mapping[str, Any], request: int) -> State:
        """Return the systems as the gold leaves them at the end of a request, -1 for the start."""
        state = self.start(payload)
        for calls in payload["gold"][: request + 1]:
            state = self.act(state, calls).state
        return state

    def verdict(
        self, payload: Mapping[str, Any], decoded: Sequence[Sequence[Sequence[str]]]
    ) -> str:
        """Ask the official checker about a trajectory.

        Args:
            payload: The task.
            decoded: Request -> response -> its calls, without those that answered `LIMIT`.

        Returns:
            Empty if it is valid, else the official name for what is wrong.
        """
        if len(decoded) != len(payload["gold"]):
            return TERMINATED
        calls = [[list(response) for response in request if response] for request in decoded]
        task = {name: payload[name] for name in ("category", "config", "classes", "gold")}
        (result,) = self._ask([["check", task, calls]])
        return result.value if result.status == Status.OK else UNCHECKED

    def _ask(self, requests: list[list[Any]]) -> list[Result]:
        """Send requests, some at a time; one that ends the worker takes no other with it."""
        found = []
        for first in range(0, len(requests), TOGETHER):
            some = requests[first : first + TOGETHER]
            result = self._session.call([some])
            if result.status == Status.OK:
                found += [Result(Status.OK, value) for value in result.value]
            elif len(some) == 1:
                level = logging.WARNING if result.status == Status.ERROR else logging.INFO
                log.log(level, "%s ended as %s: %s", some[0][0], result.status, result.error)
                found.append(result)
            else:
                found += [self._ask([one])[0] for one in some]
        return found

    def _read(self, state: State, calls: Sequence[str], result: Result) -> Acted:
        """Make sense of a reply; of calls that ended the worker, find the one that did."""
        if result.status == Status.OK:
            outputs, blob, digest = result.value
            after = state if digest == state.digest else State(blob, digest)
            return Acted(tuple(outputs), after)
        if len(calls) == 1:
            return Acted((LIMIT,), state)
        outputs: list[str] = []
        for call in calls:
            if outputs.count(LIMIT) == TOLERATED:  # each of them may take seconds
                outputs.append(LIMIT)
                continue
            (output,), state = self.act(state, [call])
            outputs.append(output)
        return Acted(tuple(outputs), state)

    def _once(self, key: tuple[Any, ...], ask: Callable[[], Any]) -> Any:
        """Ask what is not known."""
        with self._lock:
            if key not in self._known:
                value = ask()
                self._remember(key, value, len(value.blob) if isinstance(value, State) else 0)
                return value
            return self._recall(key)

    def _recall(self, key: tuple[Any, ...]) -> Any:
        self._known.move_to_end(key)
        return self._known[key][0]

    def _remember(self, key: tuple[Any, ...], value: Any, size: int) -> None:
        """Keep an answer, and forget what was not asked for longest."""
        size += SMALL + sum(map(len, key))
        self._size -= self._known.pop(key, (None, 0))[1]
        self._known[key] = value, size
        self._size += size
        while self._size > REMEMBERED:
            self._size -= self._known.popitem(last=False)[1][1]


@functools.cache
def simulator(settings: Settings = SETTINGS) -> Simulator:
    """Return the simulator of this process with these settings."""
    return Simulator(official.folder(), settings)
