"""Which problems there are, and what of a task is needed to play it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from turnscope import legal
from turnscope.environments.bfcl import calls, official, small_requests
from turnscope.environments.bfcl.compact import Signature, signature
from turnscope.recent import Recent
from turnscope.types import Task

SOURCES = ("small_requests", "official")
UNDECODABLE = ("wasted", "closes")
READ = 4096
"""Tasks that are kept as they were read."""


@dataclass(frozen=True)
class Options:
    """Options of `tasks`, which says what they mean.

    Raises:
        ValueError: Names the option, its value and what is legal.
    """

    train: int
    test: int
    source: str = "small_requests"
    classes: Sequence[str] = small_requests.CLASSES
    categories: Sequence[str] = official.CATEGORIES
    format: str = "compact"
    undecodable: str = "wasted"

    def __post_init__(self) -> None:
        for name, known in (
            ("source", SOURCES),
            ("format", calls.FORMATS),
            ("undecodable", UNDECODABLE),
        ):
            legal.one_of(name, getattr(self, name), known)
        for name, known in (
            ("classes", small_requests.CLASSES),
            ("categories", official.CATEGORIES),
        ):
            some = getattr(self, name)
            if isinstance(some, str) or not some or not {*some} <= {*known}:
                raise ValueError(f"{name} is {some!r}; legal is a list of {', '.join(known)}")
            if len({*some}) < len(some):
                raise ValueError(f"{name} is {some!r}; legal is each of them once")
        for name in ("train", "test"):
            legal.at_least(name, getattr(self, name), 0)
        if self.source == "official":
            official.check(train=self.train, test=self.test, categories=self.categories)


def tasks(
    seed: int,
    *,
    train: int,
    test: int,
    source: str = Options.source,
    classes: Sequence[str] = Options.classes,
    categories: Sequence[str] = Options.categories,
    format: str = Options.format,
    undecodable: str = Options.undecodable,
) -> list[Task]:
    """Choose problems, so that the splits share none.

    Args:
        seed: Names the set.
        train: Number of train tasks.
        test: Number of test tasks.
        source: `small_requests`, which are made here, or `official`, those of the benchmark.
        classes: Systems of `small_requests`, in turn.
        categories: Categories of `official`; all tasks of one scenario are in one split.
        format: How calls are said, one of `calls.FORMATS`.
        undecodable: What a response does that cannot be read: it is `wasted`, or it `closes` the
            request, as in the benchmark, unless it has calls besides that can.

    Returns:
        Train tasks, then test tasks.

    Raises:
        ValueError: An option is out of range, or there are not that many problems.
    """
    options = Options(train, test, source, classes, categories, format, undecodable)
    if source == "official":
        found = official.tasks(seed, train=train, test=test, categories=categories)
    else:
        found = [
            Task(
                one.name,
                split,
                one.stratum,
                one.name,
                one.payload,
                official.least_turns(one.payload),
            )
            for split, number in (("train", train), ("test", test))
            for one in small_requests.problems(seed, split, number, classes)
        ]
    ways = {name: getattr(options, name) for name in ("source", "format", "undecodable")}
    return [replace(task, payload=task.payload | ways) for task in found]


def downloads(**options: Any) -> dict[str, Callable[[], list[Path]]]:
    """Say what tasks made with these options need from elsewhere, and how to get it.

    Those that are made here need the systems of the benchmark as well, and get them at first use.
    """
    if Options(**options).source != "official":
        return {}
    return {official.REQUIREMENTS[0].split()[0]: lambda: [official.folder()]}


def check(**options: Any) -> None:
    """Refuse options that `tasks` would refuse.

    Raises:
        TypeError: Names an option that is unknown or missing.
        ValueError: Names the option, its value and what is legal.
    """
    Options(**options)


class Heard(NamedTuple):
    """A response, as it was read."""

    calls: list[calls.Call] | None
    """None wastes the turn, an empty list closes the request."""
    fault: str = ""
    """Why it could not be read, one line."""


@dataclass(frozen=True, eq=False)
class Exercise:
    """A task, ready to be played."""

    payload: dict[str, Any]
    agreements: dict[tuple[str, int], float] = field(default_factory=dict)
    """By digest of a state and number of a request."""

    @property
    def form(self) -> str:
        """Return how calls are said."""
        return self.payload["format"]

    @property
    def small(self) -> bool:
        """Return whether the task was made by `small_requests`."""
        return self.payload["source"] == "small_requests"

    @cached_property
    def documents(self) -> list[list[dict[str, Any]]]:
        """Return which functions each request adds; the first has those known from the start."""
        known = _documents(tuple(self.payload["classes"]))
        held = self.payload["held"]
        added = [self.payload["functions"]]
        added += [held.get(str(number), []) for number in range(1, len(self.payload["gold"]))]
        return [[known[name] for name in names] for names in added]

    @cached_property
    def told(self) -> list[list[dict[str, Any]]]:
        """Return how policies are told of the functions that each request adds."""
        as_tools = self.form == "qwen3"
        return [official.tools(some) if as_tools else some for some in self.documents]

    @cached_property
    def signatures(self) -> dict[str, Signature]:
        """Return the functions that may be called.

        Those told later may be called at once, as in the benchmark: one of its solutions does.
        """
        return {one["name"]: signature(one) for added in self.documents for one in added}

    def heard(self, text: str) -> Heard:
        """Read a response as the task wants it read."""
        found = calls.parse(text, self.form, self.signatures)
        if not isinstance(found, calls.Fault):
            return Heard(found)
        closes = self.payload["undecodable"] == "closes"
        return Heard([*found.calls] if closes else None, found.why)

    def said(self, text: str) -> str:
        """Write a response that is in the compact format in the format of the task."""
        found = calls.parse(text, "compact", self.signatures)
        if self.form == "compact" or isinstance(found, calls.Fault):
            return text
        return calls.spell(found, self.form, self.signatures)


@lru_cache(maxsize=64)
def _documents(classes: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    return official.documents(classes)


def exercise(task: Task) -> Exercise:
    """Read the payload of a task."""
    # While an exercise is kept, so is its payload, and no other one can have its identity.
    return _exercises().get(id(task.payload), lambda: Exercise(task.payload))


@lru_cache(maxsize=1)
def _exercises() -> Recent[int, Exercise]:
    return Recent(READ)
