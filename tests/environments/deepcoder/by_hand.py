"""Two problems whose every answer is foreseen, and what plays them."""

from typing import Any

from turnscope.environments.deepcoder import Environment
from turnscope.environments.deepcoder.judge import Exercise, Judge, Verdict, exercise
from turnscope.environments.deepcoder.problems import Case, Problem, payload
from turnscope.sandbox import Limits
from turnscope.types import Step, Task

DOUBLE = Problem(
    name="double",
    statement="Double a number.",
    entry="f",
    starter="",
    public=(Case([1], 2), Case([2], 4)),
    private=(Case([3], 6), Case([-4], -8), Case([0], 0), Case([50], 100)),
    solution="def f(x): return 2 * x",
    stratum="numbers",
)
SCRIPT = Problem(
    name="script",
    statement="Double each number.",
    entry=None,
    starter="",
    public=(Case("1\n2\n", "2\n4\n"),),
    private=(Case("3\n", "6\n"), Case("0\n-1\n", "0\n-2\n")),
    solution="import sys\nfor line in sys.stdin: print(2 * int(line))",
    stratum="scripts",
)
RIGHT = {"double": str(DOUBLE.solution), "script": str(SCRIPT.solution)}
SHOWN = {
    "double": "def f(x): return {1: 2, 2: 4, 3: 6}.get(x)",
    "script": "import sys\nif sys.stdin.readline() == '1\\n': print('2\\n4')",
}
"""Programs that pass all public tests, and but some of the hidden ones."""
WRONG = {"double": "def f(x): return x + 1", "script": "print(input())"}
"""Programs that fail a public test."""


def task(problem: Problem = DOUBLE, **limits: Any) -> Task:
    """Make a task of a problem; a run may take 0.3 s."""
    ways = {
        "limits": Limits(cpu=0.3)._replace(**limits)._asdict(),
        "allow_unsandboxed": False,
        "image": None,
    }
    carried = payload(problem) | {"sandbox": ways}
    return Task(problem.name, "test", problem.stratum, problem.name, carried, 1)


def play(problem: Problem, *actions: str, **options: Any) -> list[tuple[Step, str]]:
    """Say all actions; return each answer and the state after it."""
    environment = Environment(**options)
    environment.reset(task(problem), 0)
    seen = [(environment.step(action), environment.state_key()) for action in actions]
    environment.close()
    return seen


def steps(problem: Problem, *actions: str, **options: Any) -> list[Step]:
    """Say all actions; return each answer."""
    return [step for step, _ in play(problem, *actions, **options)]


ASKED, LINES = exercise(task()), exercise(task(SCRIPT))


def judged(text: str, asked: Exercise = ASKED) -> Verdict:
    """Judge a program without any memory."""
    return Judge().verdict(asked, text)
