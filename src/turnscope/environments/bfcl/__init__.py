"""Call functions of simulated systems until a user's requests are done (BFCL multi-turn).

Source:
    The multi-turn categories of the Berkeley Function Calling Leaderboard, Patil et al., ICML 2025:
    data, systems and checker of bfcl-eval 2026.3.23; or requests that are made here,
    `turnscope.environments.bfcl.small_requests`, to three of its systems.
    Differs: arguments are literals; a call of an unknown function is answered as there, but the
    checker does not see it.

A *request* is what the benchmark calls a turn, and a turn is one response of the model.

Observation:
    A request; then, for each response, what its calls returned. View `compact` has words with
    blanks between them, for small models; `full` is for large ones, to whom the chat template or
    the first observation tells the functions.

Action:
    Calls of functions, or none, which closes the request. How they are said is `format` of `tasks`:
    `compact` (`mkdir docs ; cd docs`, `done`), `qwen3` (blocks of `<tool_call>`) or `python`
    (`[mkdir(dir_name='docs')]`).

Reward:
    1 at the turn of success, minus `penalty` at a turn that cannot be read.

Termination:
    When the last request is closed, with success if the official checker says so: after each
    request the systems equal those of the solution, and all outputs of the solution were got. A
    request that went wrong does not end the episode, as there. More than `steps` responses with
    calls to one request do.

Randomness:
    None.

Graded:
    At the turn that ends the episode.

Options:
    See `tasks` and `Environment`.
"""

from collections.abc import Sequence
from typing import Any

from turnscope import legal, sandbox
from turnscope.environments.bfcl import (
    calls,
    official,
    problems,
    small_requests,
    trajectory,
    views,
)
from turnscope.environments.bfcl.calls import Call
from turnscope.environments.bfcl.grading import (
    ERRORS,
    IMMEDIATE,
    errors,
    mistakes,
    step_quality,
)
from turnscope.environments.bfcl.host import simulator
from turnscope.environments.bfcl.problems import downloads, exercise, tasks
from turnscope.environments.bfcl.small_requests import words
from turnscope.types import Step, Task

__all__ = [
    "ERRORS",
    "EXAMPLE",
    "FETCHED",
    "IMMEDIATE",
    "Environment",
    "bound",
    "downloads",
    "errors",
    "expert",
    "facts",
    "gold",
    "least_turns",
    "mistakes",
    "step_quality",
    "tasks",
    "words",
]

FETCHED = ("official",)
"""Sources of tasks for which `downloads` may name something."""

EXAMPLE: dict[str, Any] = {"train": 80, "test": 60, "classes": ["VehicleControlAPI"]}


class Environment:
    """Systems, and requests to them, see the module.

    Args:
        view: `compact` or `full`.
        steps: Most responses with calls to one request, >= 1; None is no limit. The benchmark has
            20. State keys then count them.
        cut: Most characters of each output that is shown, >= 1.
        penalty: Taken off at a turn that cannot be read, >= 0.
    """

    untrusted = True
    """A call near a limit of time or memory may end otherwise when it is made again."""

    def __init__(
        self,
        *,
        view: str = "compact",
        steps: int | None = None,
        cut: int = 4000,
        penalty: float = 0.0,
    ):
        legal.one_of("view", view, views.VIEWS)
        for name, value, least in (("steps", steps, 1), ("cut", cut, 1), ("penalty", penalty, 0)):
            if value is not None:
                legal.at_least(name, value, least)
        self._view, self._steps, self._cut, self._penalty = view, steps, cut, penalty
        self._running = False
        self.tools: list[dict[str, Any]] = []
        """Functions that the chat template has to tell the policy; empty if it need not."""

    def reset(self, task: Task, seed: int) -> str:
        """Set the systems up and pose the first request."""
        self.asked = exercise(task)
        self.said: list[list[tuple[str, ...]]] = [[]]
        """Calls of each response to each request, as the checker sees them."""
        self.tried: list[tuple[str, str]] = []
        """Calls to the present request and their outputs."""
        self.stand = trajectory.begin(self.asked)
        self._running = True
        told = self.asked.told[0]
        self.tools = told if self.asked.form == "qwen3" else []
        return views.first(self._request(), self.asked.form, self._view, told)

    def step(self, action: str) -> Step:
        """Make the calls of a response, or close the request.

        Raises:
            RuntimeError: No episode is running, or the sandbox does not start any more.
        """
        if not self._running:
            raise RuntimeError("no request is posed; call reset first")
        heard, fault = self.asked.heard(action)
        if heard is None:
            return Step(views.fault(fault), 0.0 - self._penalty, False, valid=False)
        step = self._respond(heard) if heard else self._close()
        return step._replace(reward=step.reward - self._penalty * bool(fault), valid=not fault)

    def _request(self) -> str:
        return self.asked.payload["requests"][self.stand.place.request]

    def _respond(self, heard: Sequence[Call]) -> Step:
        found = trajectory.respond(self.asked, self.stand, heard, self._steps is not None)
        self.stand = found.stand
        self.said[-1].append(found.counted)
        self.tried += zip(found.calls, found.outputs, strict=True)
        if self._steps is not None and found.stand.place.used > self._steps:
            return self._end(False, views.FORCED)
        shown = views.outputs(found.calls, found.outputs, self.asked.form, self._view, self._cut)
        return Step(shown, 0.0, False)

    def _close(self) -> Step:
        if len(self.said) == len(self.asked.payload["requests"]):
            solved = not trajectory.verdict(self.asked, tuple(map(tuple, self.said)))
            return self._end(solved, views.SOLVED if solved else views.WRONG)
        self.stand, self.tried = trajectory.close(self.stand), []
        self.said.append([])
        fresh = self.asked.told[self.stand.place.request]
        told = views.following(self._request(), self.asked.form, self._view, fresh)
        return Step(told, 0.0, False)

    def _end(self, solved: bool, told: str) -> Step:
        self._running = False
        over = self.stand.place._replace(over="solved" if solved else "unsolved")
        self.stand = self.stand._replace(place=over)
        return Step(told, float(solved), True, solved)

    @staticmethod
    def ahead(asked: Sequence[tuple["Environment", str]]) -> None:
        """Make the calls that are about to be given to `step`, of all episodes at once."""
        jobs = []
        for one, action in asked:
            texts = trajectory.made(one.asked, one.asked.heard(action).calls or ())
            if texts:
                jobs.append((one.stand.state, texts))
        simulator().act_all(jobs)

    def state_key(self) -> str:
        """Name the calls so far that have a part in what can follow."""
        return self.stand.place.key

    def reseed(self, seed: int) -> None:
        """Do nothing: there is no noise."""

    def close(self) -> None:
        """End the episode; the sandbox stays warm for the next."""
        self._running = False


def least_turns(*, train: int, test: int, **options: Any) -> int:
    """Return 2: calls, and a response that closes the only request.

    Raises:
        ValueError: An option of `tasks` is out of range.
    """
    problems.check(train=train, test=test, **options)
    return 2


def gold(task: Task, seed: int) -> list[str]:
    """Return the solution: all calls of a request in one response, then one that closes it.

    Raises:
        ValueError: The format of the task cannot say it.
    """
    asked, found = exercise(task), []
    for texts in asked.payload["gold"]:
        made = [calls.from_python(text, asked.signatures) for text in texts]
        found += [calls.spell(made, asked.form, asked.signatures)] * bool(made)
        found.append(calls.spell([], asked.form, asked.signatures))
    return found


def expert(environment: Environment, seed: int, turn: int, skill: float, turns_left: int) -> str:
    """Say the next calls of the solution, or a mistake; see `small_requests.expert`.

    Raises:
        ValueError: The problem comes from elsewhere.
    """
    asked, tried = environment.asked, environment.tried
    said = small_requests.expert(
        asked.payload,
        environment.stand.place.request,
        [call for call, _ in tried],
        [output for _, output in tried],
        seed,
        turn,
        skill,
        turns_left,
    )
    return asked.said(said)


def bound(task: Task, turns: int) -> list[float]:
    """Return 1 from the fewest turns on: who knows the solution needs no more."""
    least = official.least_turns(task.payload)
    return [float(turn >= least) for turn in range(1, turns + 1)]


def facts() -> dict[str, Any]:
    """Say under which isolation calls were made in this process."""
    return {"sandbox": sandbox.in_force()}
