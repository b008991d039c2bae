"""How good a program is, and which programs are mistakes.

The quality of a turn is the share of hidden tests that its program passes: of the program as it is,
not of what could still be made of it in the turns left.
"""

from typing import NamedTuple

from turnscope.environments.deepcoder import list_programs
from turnscope.environments.deepcoder.judge import Verdict, exercise, shared
from turnscope.environments.deepcoder.views import is_submit, program_in
from turnscope.sandbox import Status
from turnscope.types import Quality, Task, Turn

ERRORS = {
    "stalled": "it passes some public tests at most, and no more than the program before it",
    "crash": "it did not run to its end: no program, an exception or a limit",
    "drop": "it passes fewer hidden tests than the program before it",
}
"""That a public test failed is no error by itself: it is true of every turn but the last one."""
IMMEDIATE = True
"""A quality is of a program by itself; the best is always 1."""
START, EMPTY = "start", "empty"
"""States before any program, and after an answer without one."""


def key_of(found: Verdict) -> str:
    """Name the state after a program: tests that pass and that there are, and its answers."""
    return (
        f"{found.kind} {found.shown}/{len(found.public)} {found.private}/{found.hidden} "
        f"{found.digest}"
    )


class Place(NamedTuple):
    """What a state key says of the last program."""

    kind: str
    shown: float
    """Share of public tests that it passes."""
    quality: float
    """Share of hidden tests that it passes."""


def parse(state_key: str) -> Place:
    """Read a state."""
    if state_key in (START, EMPTY):
        return Place(state_key, 0.0, 0.0)
    kind, public, private, _ = state_key.split(" ")
    shown, quality = (
        int(passed) / int(of) for passed, of in (part.split("/") for part in (public, private))
    )
    return Place(kind, shown, quality)


def step_quality(task: Task, state_key: str, action: str, turns_left: int) -> Quality:
    """Grade a program by the share of hidden tests it passes, also behind one that fails.

    Args:
        task: The problem.
        state_key: State before it; what `submit` submits is in it.
        action: What the policy said.
        turns_left: Turns of the budget not yet used; does not matter.
    """
    if is_submit(action):
        return Quality(parse(state_key).quality, 1.0)
    text = program_in(action)
    if text is None:
        return Quality(0.0, 1.0)
    found = shared().verdict(exercise(task), text)
    return Quality(found.private / found.hidden, 1.0)


def errors(task: Task, turn: Turn, state_key: str, turns_left: int) -> list[str]:
    """Name the definitions of `ERRORS` that a turn meets.

    Args:
        task: The problem.
        turn: The program and the state before it.
        state_key: State after it.
        turns_left: Does not matter.
    """
    before, after = parse(turn.state_key), parse(state_key)
    met = {
        "stalled": after.shown < 1 and after.shown <= before.shown,
        "crash": after.kind in {*Status, START, EMPTY},
        "drop": after.quality < before.quality,
    }
    return [name for name in ERRORS if met[name]]


def mistakes(task: Task, state_key: str, turns_left: int) -> list[str]:
    """List programs that fail a hidden test: those near the solution, or else simple ones."""
    asked = exercise(task)
    code = list_programs.catalogue().get(asked.problem.solution or "")
    if code is not None and asked.problem.private == list_programs.private(code):
        return list(list_programs.mistakes(code))
    verdicts = {text: shared().verdict(asked, text) for text in _simple(asked.problem.entry)}
    return [text for text, found in verdicts.items() if found.private < found.hidden]


def _simple(entry: str | None) -> list[str]:
    """Write programs that always answer alike."""
    answers = ("0", "1", "''", "[]", "True", "None")
    if entry is None:
        return [f"print({answer})" for answer in answers]
    return [f"def {entry}(*_): return {answer}" for answer in answers]
