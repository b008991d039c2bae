"""What is said about programs, in two forms, and where the program is in an answer."""

import re
from collections.abc import Callable
from typing import Any

from turnscope.environments.deepcoder.judge import Outcome, Verdict
from turnscope.environments.deepcoder.problems import Case, Problem, spell
from turnscope.sandbox import Status

VIEWS = ("terse", "full")
SUBMIT = "submit"
FENCE = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
SOLVED = "all tests pass"
HIDDEN = "public tests pass, hidden ones do not"
FAILED = "public tests do not pass"
NOTHING = "there is no program to submit"
NO_PROGRAM = "no program"


def program_in(action: str) -> str | None:
    """Find the program in an answer: its last block of three backticks, or else all of it.

    Reasoning, up to `</think>`, and blocks that are empty do not count.

    Returns:
        The program; None if there is none.
    """
    said = action.rpartition("</think>")[2]
    blocks = FENCE.findall(said)
    texts = [text for text in (blocks or [said]) if text.strip()]
    return texts[-1] if texts else None


def is_submit(action: str) -> bool:
    """Say whether an answer, behind any reasoning, is the word `submit` alone."""
    return action.rpartition("</think>")[2].strip(" \t\r\n`'\".").lower() == SUBMIT


def first(problem: Problem, view: str, cut: int) -> str:
    """Write the first observation: what is to be done, and the public tests."""
    if view == "terse":
        shown = " ; ".join(_terse(case, cut) for case in problem.public)
        return f"{problem.statement} : {shown}"
    kind = (
        f"Write a Python function `{problem.entry}`"
        if problem.entry
        else "Write a Python program that reads standard input and writes standard output"
    )
    parts = [
        f"{kind} that solves the problem below. Answer with the whole program in one block of three"
        " backticks. It is run on the public tests, of which failures are shown to you, and on"
        f" hidden ones. To end with your last program, answer `{SUBMIT}` alone.",
        problem.statement,
        f"Start from:\n```python\n{problem.starter}\n```" if problem.starter else "",
        *(
            f"Public test {number}\nInput: {_given(case, cut)}\nOutput: {_wanted(case, cut)}"
            for number, case in enumerate(problem.public, 1)
        ),
    ]
    return "\n\n".join(part for part in parts if part)


def reply(problem: Problem, verdict: Verdict, view: str, failures: int, cut: int) -> str:
    """Write down which public tests fail; nothing is said of hidden ones.

    Args:
        problem: What was to be solved.
        verdict: What the program made of it.
        view: One of `VIEWS`.
        failures: Most failing tests that are shown.
        cut: Most characters of each value.
    """
    if verdict.shown == len(verdict.public):
        return "public tests pass" + ("; check it again, or submit" if view == "full" else "")
    wrong = [place for place, outcome in enumerate(verdict.public) if not outcome.passed]
    said = verdict.public[wrong[0]]
    if not verdict.valid and said.status in (Status.SYNTAX, Status.MISSING):
        return f"no program runs: {_cut(said.said, cut)}" if view == "full" else str(said.status)
    show: Callable[..., str] = _failure if view == "full" else _terse
    shown = [
        show(problem.public[place], cut, verdict.public[place], place + 1)
        for place in wrong[:failures]
    ]
    if view == "terse":
        return " ; ".join(shown)
    return "\n\n".join([f"{verdict.shown} of {len(verdict.public)} public tests pass.", *shown])


def _terse(case: Case, cut: int, outcome: Outcome | None = None, _: int = 0) -> str:
    text = f"{_cut(_plain(case.input), cut)} = {_cut(_plain(case.output), cut)}"
    if outcome is None:
        return text
    if outcome.status is not Status.OK:
        return f"{text} not {outcome.status}"
    bare = re.sub(r"[\[\],]+", " ", outcome.said).split() or ["none"]
    return f"{text} not {_cut(' '.join(bare), cut)}"


def _plain(value: Any) -> str:
    """Write numbers of lists with blanks between them, for small tokenizers."""
    if isinstance(value, list):
        return " ".join(_plain(one) for one in value) or "none"
    return spell(value)


def _failure(case: Case, cut: int, outcome: Outcome, number: int) -> str:
    got = {Status.OK: "Got"}.get(outcome.status, f"Stopped ({outcome.status})")
    return (
        f"Public test {number} fails\nInput: {_given(case, cut)}\n"
        f"Expected: {_wanted(case, cut)}\n{got}: {_cut(outcome.said, cut)}"
    )


def _given(case: Case, cut: int) -> str:
    if isinstance(case.input, str):
        return _cut(case.input, cut)
    return _cut(", ".join(map(spell, case.input)), cut)


def _wanted(case: Case, cut: int) -> str:
    return _cut(spell(case.output), cut)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."
