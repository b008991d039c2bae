"""Write programs that pass their tests, over several turns (DeepCoder-MT).

Source:
    The problems of DeepCoder-Preview, HumanEval, any file of `docs/problems.md`, or functions that
    are made here, `turnscope.environments.deepcoder.list_programs`. The protocol is that of RLEF,
    Gehring et al. 2024, arXiv:2410.02089: feedback comes from public tests, hidden ones decide.
    `ends: all` with `failures: 8` is that of uCode, Jain et al. 2025, arXiv:2502.20380, which goes
    on until hidden tests pass as well; `ends: submit` with `failures: 2` is that of rLLM's coding
    agent, which is asked to check again when public tests pass.
    Differs: RLEF pays -1 for a failure; with advantages that are centred this is the same.

Observation:
    First the problem and its public tests, then the public tests that the last program failed. View
    `terse` has blanks between symbols and no instructions, for small models; `full` is for large
    ones.

Action:
    A program, in the last block of three backticks or as all of the text; or `submit`, which
    submits the program of the turn before.

Reward:
    1 at the turn of success, minus `penalty` at a turn without a program that runs.

Termination:
    `ends: public`: when the public tests pass, with success if the hidden ones pass, too. `ends:
    all`: when all tests pass. In both cases, and with `ends: submit` only, at `submit`.

Randomness:
    None, but for what programs read from clocks; an episode that such a program keeps from being
    replayed counts as one whose environment failed.

Graded:
    At the turn that ends the episode.

Options:
    See `tasks` and `Environment`.
"""

from collections.abc import Sequence
from typing import Any

from turnscope import draws, legal, sandbox
from turnscope.environments.deepcoder import grading, list_programs, sources, views
from turnscope.environments.deepcoder.grading import (
    ERRORS,
    IMMEDIATE,
    errors,
    mistakes,
    step_quality,
)
from turnscope.environments.deepcoder.judge import Verdict, exercise, shared
from turnscope.environments.deepcoder.sources import downloads, tasks
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

FETCHED = ("preview",)
"""Sources of tasks for which `downloads` may name something."""

EXAMPLE: dict[str, Any] = {"train": 30, "test": 90}
ENDS = ("public", "all", "submit")
LUCK = 0.35
"""How often the expert's first program is right, times its skill."""


class Environment:
    """A problem and its judge, see the module.

    Args:
        view: `terse` or `full`.
        ends: `public`, `all` or `submit`.
        failures: Most failing public tests that are shown, >= 1.
        cut: Most characters of each value that is shown, >= 1.
        penalty: Taken off at a turn without a program that runs, >= 0.
    """

    untrusted = True
    """What a program answers may differ when it is played again, see `turnscope.rollout`."""

    def __init__(
        self,
        *,
        view: str = "terse",
        ends: str = "public",
        failures: int = 3,
        cut: int = 300,
        penalty: float = 0.0,
    ):
        for name, value, known in (("view", view, views.VIEWS), ("ends", ends, ENDS)):
            legal.one_of(name, value, known)
        for name, value, least in (
            ("failures", failures, 1),
            ("cut", cut, 1),
            ("penalty", penalty, 0),
        ):
            legal.at_least(name, value, least)
        self._view, self._ends, self._penalty = view, ends, penalty
        self._failures, self._cut = failures, cut
        self._running = False

    def reset(self, task: Task, seed: int) -> str:
        """Pose the problem."""
        self.asked = exercise(task)
        self.tried: list[str] = []
        self._last: Verdict | None = None
        self._key = grading.START
        self._running = True
        return views.first(self.asked.problem, self._view, self._cut)

    def step(self, action: str) -> Step:
        """Run a program on the tests, or submit the last one.

        Raises:
            RuntimeError: No episode is running, or the sandbox does not start any more.
        """
        if not self._running:
            raise RuntimeError("no problem is posed; call reset first")
        if views.is_submit(action):
            return self._submit()
        text = views.program_in(action)
        if text is None:
            self._last, self._key = None, grading.EMPTY
            return Step(views.NO_PROGRAM, 0.0 - self._penalty, False, valid=False)
        found = shared().verdict(self.asked, text)
        self.tried.append(text)
        self._last, self._key = found, grading.key_of(found)
        if {"public": found.passes, "all": found.solved, "submit": False}[self._ends]:
            return self._end(found)
        said = views.reply(self.asked.problem, found, self._view, self._failures, self._cut)
        return Step(said, 0.0 if found.valid else 0.0 - self._penalty, False, valid=found.valid)

    def _submit(self) -> Step:
        if self._last is None:
            return Step(views.NOTHING, 0.0 - self._penalty, False, valid=False)
        return self._end(self._last)

    def _end(self, found: Verdict) -> Step:
        self._running = False
        said = views.SOLVED if found.solved else views.HIDDEN if found.passes else views.FAILED
        return Step(said, float(found.solved), True, found.solved)

    @staticmethod
    def ahead(asked: Sequence[tuple["Environment", str]]) -> None:
        """Judge the programs that are about to be given to `step`, several at a time."""
        found = [
            (one.asked, views.program_in(action))
            for one, action in asked
            if not views.is_submit(action)
        ]
        shared().ahead([(problem, text) for problem, text in found if text is not None])

    def state_key(self) -> str:
        """Name what the last program answered; within a task all else is always the same."""
        return self._key

    def reseed(self, seed: int) -> None:
        """Do nothing: there is no noise."""

    def close(self) -> None:
        """End the episode; the sandbox stays warm for the next."""
        self._running = False


def least_turns(*, train: int, test: int, **options: Any) -> int:
    """Return 1: the first program may be right.

    Raises:
        ValueError: An option of `tasks` is out of range.
    """
    sources.check(train=train, test=test, **options)
    return 1


def words() -> list[str]:
    """List some simple programs."""
    return list(list_programs.words())


def gold(task: Task, seed: int) -> list[str]:
    """Return the solution.

    Raises:
        ValueError: None is known.
    """
    solution = exercise(task).problem.solution
    if solution is None:
        raise ValueError(f"task {task.task_id}: no solution is known")
    return [solution]


def expert(environment: Environment, seed: int, turn: int, skill: float, turns_left: int) -> str:
    """Submit a near miss first, and the solution more and more probably afterwards.

    Misses are not repeated as long as there are others, and after the first turn agree with many of
    the public tests.

    Args:
        environment: A running episode of a problem made by `list_programs`.
        seed: Names the expert's draws, together with `turn`.
        turn: Number of the turn, from 0.
        skill: Probability of the solution after many turns.
        turns_left: Does not matter.

    Raises:
        ValueError: The problem comes from elsewhere.
    """
    problem = environment.asked.problem
    code = list_programs.catalogue().get(problem.solution or "")
    if code is None:
        raise ValueError(f"problem {problem.name} has no expert; those of list_programs have one")
    if draws.uniform(seed, 2 * turn) < skill * (1 - (1 - LUCK) ** (turn + 1)):
        return list_programs.render(code)
    misses = list_programs.near(code) or (list_programs.render(code),)
    left = [text for text in misses if text not in environment.tried] or [*misses]
    if turn:
        left.sort(key=lambda text: list_programs.fails(text, problem.public))
        left = left[: max(3, len(left) // 3)]
    return left[int(draws.uniform(seed, 2 * turn + 1) * len(left))]


def bound(task: Task, turns: int) -> list[float]:
    """Return 1 for each budget: who knows the solution needs one turn."""
    return [1.0] * turns


def facts() -> dict[str, Any]:
    """Say under which isolation programs ran in this process, and how often one was known."""
    found = shared()
    return {"sandbox": sandbox.in_force(), "verdicts": {"runs": found.runs, "hits": found.hits}}
