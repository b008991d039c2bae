"""Run a program on the tests of a problem, once for each different pair of the two."""

import hashlib
import json
import os
import re
import unicodedata
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from turnscope import sandbox
from turnscope.environments.deepcoder.problems import (
    Case,
    Problem,
    agrees,
    payload,
    problem_of,
    spell,
)
from turnscope.recent import Recent
from turnscope.sandbox import Limits, Result, Settings, Status
from turnscope.types import Task

SANDBOX = "sandbox"
"""Field of a task's payload that says how its programs are run."""
READ = 512
"""Problems that are kept ready."""
ROOM = 1 << 16
"""Verdicts that are remembered."""
SHOWN = 1000
"""Characters that are kept of what a program returned."""
PASSED, FAILED = "passed", "failed"
ADDRESS = re.compile(r" at 0x[0-9a-f]+(?=>)")
"""Where an object lies, which differs from process to process; a replay must read the same."""


class Outcome(NamedTuple):
    """What a program made of a public test."""

    passed: bool
    status: Status
    said: str
    """What it returned or printed, or one line of why it did not; cut."""


class Verdict(NamedTuple):
    """What a program made of all tests of a problem."""

    kind: str
    """Of the public tests: `passed`, `failed` (a wrong answer), or the first status but `ok`."""
    public: tuple[Outcome, ...]
    private: int
    """Hidden tests passed."""
    hidden: int
    """Hidden tests there are, >= 1."""
    digest: str
    """Names all answers: programs that answer alike share it."""

    @property
    def valid(self) -> bool:
        """Whether there was a program to run."""
        return self.kind not in (Status.SYNTAX, Status.MISSING)

    @property
    def shown(self) -> int:
        """Return how many public tests passed."""
        return sum(outcome.passed for outcome in self.public)

    @property
    def passes(self) -> bool:
        """Whether all public tests passed."""
        return self.shown == len(self.public)

    @property
    def solved(self) -> bool:
        """Whether all tests passed, public and hidden."""
        return self.passes and self.private == self.hidden


class Exercise(NamedTuple):
    """A problem, ready to be judged."""

    problem: Problem
    digest: bytes
    """Names its tests and how programs are run."""
    settings: Settings


def exercise(task: Task) -> Exercise:
    """Read the payload of a task.

    Raises:
        ValueError: It is not of the schema.
    """
    text = json.dumps(task.payload, sort_keys=True)
    # Texts of tests are long, so their digests are the keys.
    key = hashlib.sha256(text.encode()).digest()
    return _exercises().get(key, lambda: _read(task.payload))


@lru_cache(maxsize=1)
def _exercises() -> Recent[bytes, Exercise]:
    return Recent(READ)


def _read(carried: dict[str, Any]) -> Exercise:
    problem = problem_of({name: value for name, value in carried.items() if name != SANDBOX})
    tests = [payload(problem)[part] for part in ("entry", "public", "private")]
    settings = _settings(carried.get(SANDBOX))
    ways = [tests, settings.limits._asdict()]
    name = hashlib.sha256(json.dumps(ways, sort_keys=True).encode()).digest()
    return Exercise(problem, name, settings)


def _settings(ways: Any) -> Settings:
    """Read how programs are run."""
    try:
        return Settings(
            limits=Limits(**ways["limits"]),
            workers=workers(),
            allow_unsandboxed=ways["allow_unsandboxed"],
            image=ways["image"],
        )
    except (KeyError, TypeError):
        raise ValueError(
            f"{SANDBOX} of a task is {ways!r}; legal is what `tasks` writes there"
        ) from None


def workers() -> int:
    """Return how many programs run side by side: as many as this job has threads."""
    given = os.environ.get("OMP_NUM_THREADS", "1")
    return int(given) if given.isdecimal() and int(given) else 1


class Judge:
    """Judges programs and remembers verdicts.

    A program is run once for each set of tests, and a verdict that is remembered is the one that
    was found. Another run would find the same, unless it reads a clock or is close to a limit.
    """

    def __init__(self, room: int = ROOM):
        self._known: OrderedDict[bytes, Verdict] = OrderedDict()
        self._room = room
        self._fresh: set[bytes] = set()
        self.hits = self.runs = 0

    def verdict(self, asked: Exercise, text: str) -> Verdict:
        """Return what a program makes of the tests."""
        key = _key(asked, text)
        if key in self._known:
            self.hits += key not in self._fresh
            self._fresh.discard(key)
            self._known.move_to_end(key)
            return self._known[key]
        (found,) = self._run([(asked, text)])
        self._keep(key, found)
        return found

    def ahead(self, asked: Iterable[tuple[Exercise, str]]) -> None:
        """Judge what will be asked for next, as many programs at a time as there are workers."""
        missing = {_key(*one): one for one in asked}
        missing = {key: one for key, one in missing.items() if key not in self._known}
        for key, found in zip(missing, self._run(list(missing.values())), strict=True):
            self._keep(key, found)
            self._fresh.add(key)

    def _keep(self, key: bytes, found: Verdict) -> None:
        self._known[key] = found
        while len(self._known) > self._room:
            self._fresh.discard(self._known.popitem(last=False)[0])

    def _run(self, asked: Sequence[tuple[Exercise, str]]) -> list[Verdict]:
        verdicts: list[Verdict | None] = [None] * len(asked)
        for settings in dict.fromkeys(one.settings for one, _ in asked):
            places = [
                place
                for place, (one, text) in enumerate(asked)
                if one.settings == settings and _names(text, one.problem.entry)
            ]
            jobs = [_job(*asked[place]) for place in places]
            self.runs += len(jobs)
            answers = sandbox.pool(settings).map(jobs)
            for place, answer in zip(places, answers, strict=True):
                verdicts[place] = _judged(asked[place][0].problem, answer)
        return [
            _judged(one.problem, _nothing(one.problem)) if found is None else found
            for (one, _), found in zip(asked, verdicts, strict=True)
        ]


def _key(asked: Exercise, text: str) -> bytes:
    return hashlib.sha256(asked.digest + text.encode("utf-8", "surrogatepass")).digest()


def _names(text: str, entry: str | None) -> bool:
    """Say whether a text has the name of the function at all, as Python reads names."""
    if entry is None:
        return True
    return re.search(rf"\b{re.escape(entry)}\b", unicodedata.normalize("NFKC", text)) is not None


def _nothing(problem: Problem) -> list[list[Result]]:
    """Answer for a text that cannot define the function; nothing is run."""
    result = Result(Status.MISSING, error=f"there is no function {problem.entry}")
    return [[result] * len(part) for part in (problem.public, problem.private)]


def _job(asked: Exercise, text: str) -> tuple[sandbox.Program, list[list[Any]]]:
    problem = asked.problem
    parts = [[case.input for case in part] for part in (problem.public, problem.private)]
    return sandbox.Program(text, problem.entry), parts


def _judged(problem: Problem, answers: Sequence[Sequence[Result]]) -> Verdict:
    """Compare answers with what they should be; the sandbox never sees the latter."""
    script = problem.entry is None
    passed = [
        [_right(case, result, script) for case, result in zip(cases, results, strict=True)]
        for cases, results in zip((problem.public, problem.private), answers, strict=True)
    ]
    # Hidden tests have no part in it: what is said of a turn must not depend on them.
    wrong = next((one.status for one in answers[0] if one.status is not Status.OK), FAILED)
    everything = [[*result] for part in answers for result in part]
    text = _placeless(json.dumps(everything, sort_keys=True, default=str))
    return Verdict(
        PASSED if all(passed[0]) else str(wrong),
        tuple(
            Outcome(fine, result.status, _said(result))
            for fine, result in zip(passed[0], answers[0], strict=True)
        ),
        sum(passed[1]),
        len(passed[1]),
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8],
    )


def _right(case: Case, result: Result, script: bool) -> bool:
    return result.status is Status.OK and agrees(case.output, result.value, script=script)


def _said(result: Result) -> str:
    if result.status is not Status.OK:
        return _placeless(result.error) or str(result.status)
    said = _placeless(spell(result.value))
    return said if len(said) <= SHOWN else f"{said[:SHOWN]}..."


def _placeless(text: str) -> str:
    return ADDRESS.sub(" at 0x...", text)


@lru_cache(maxsize=1)
def shared() -> Judge:
    """Return the judge of this process."""
    return Judge()
