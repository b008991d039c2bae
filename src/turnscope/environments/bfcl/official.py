"""The tasks of BFCL's multi-turn categories, from the data of its package.

The package is no dependency, it would bring 150 others: it is installed alone, in a place of its
own, when tasks are first asked for. `python -c "from turnscope.environments.bfcl import official;
official.folder()"` does that ahead of time, where there is a network.

Source:
    bfcl-eval 2026.3.23, Apache-2.0: data in `bfcl_eval/data`, loaders in `bfcl_eval/utils.py`.
    As there, `excluded_function` of a task is ignored.
    Differs: documentation is without the remark about Python's syntax that the loader adds.
"""

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from turnscope import draws, legal, wheels
from turnscope.environments.bfcl import worker
from turnscope.types import Task

REQUIREMENTS = (
    "bfcl-eval==2026.3.23"
    " --hash=sha256:3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a",
    "mpmath==1.3.0 --hash=sha256:a0b2b9fe80bbcd81a6647ff13108738cfb482d481d826cc0e02f5b35e5c88d2c",
)
"""The package, and the only one of others that its systems import."""
CATEGORIES = ("base", "miss_func", "miss_param", "long_context")
SUBJECTS = ("files", "vehicle", "trading", "travel")
"""What the scenarios are about, 50 of each in this order; each exists in all categories."""
SCENARIOS = 200
CLUSTERED = 30
"""Scenarios of test tasks from which on they count as clusters."""
DOCUMENTS = worker.SYSTEMS
"""Class -> file of the documentation of its functions, which bears the name of its module."""
KINDS = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
"""Types of the documentation that JSON schema calls otherwise."""


def folder() -> Path:
    """Return where the package lies; it is installed at first use.

    Raises:
        RuntimeError: It could not be installed; says what to run by hand.
    """
    return wheels.folder(REQUIREMENTS)


def tasks(
    seed: int, *, train: int, test: int, categories: Sequence[str] = CATEGORIES
) -> list[Task]:
    """Split the benchmark.

    The categories pose the same scenarios: one is either in train or in test, with all of them.
    Subjects take turns, so that each has its share on both sides. Train tasks do not depend on
    the number of test tasks, nor the other way round.

    Args:
        seed: Names the order of the scenarios.
        train: Number of train tasks.
        test: Number of test tasks.
        categories: Some of `CATEGORIES`.

    Returns:
        Train tasks, then test tasks. The payload has `category`, `requests` (texts, empty where
        there are only new functions), `classes`, `config`, `functions` (names that may be called
        from the start), `held` (number of a request -> names that are added there) and `gold`
        (request -> calls).

    Raises:
        ValueError: An option is out of range.
    """
    check(train=train, test=test, categories=categories)
    order = _order(seed)
    sides = (("train", order, train), ("test", order[::-1], test))
    found = []
    for split, scenarios, number in sides:
        most = -(-number // len(categories))
        clustered = split == "train" or most >= CLUSTERED
        chosen = [(scenario, kind) for scenario in scenarios[:most] for kind in categories]
        found += [_task(kind, scenario, split, clustered) for scenario, kind in chosen[:number]]
    return found


def check(*, train: int, test: int, categories: Sequence[str] = CATEGORIES) -> None:
    """Refuse options that `tasks` refuses.

    Raises:
        ValueError: Which, and what is legal.
    """
    if not categories or not {*categories} <= {*CATEGORIES} or len({*categories}) < len(categories):
        known = ", ".join(CATEGORIES)
        raise ValueError(f"categories is {list(categories)}; legal are some of {known}, each once")
    for name, value in (("train", train), ("test", test)):
        legal.at_least(name, value, 0)
    needed = sum(-(-number // len(categories)) for number in (train, test))
    if needed > SCENARIOS:
        raise ValueError(
            f"train {train} and test {test} in {len(categories)} categories need {needed} scenarios"
            f" of their own; there are {SCENARIOS}"
        )


def documents(classes: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what the benchmark says about the functions of classes.

    Returns:
        Function -> its documentation, with `name`, `description`, `parameters` and `response`. The
        order is the official one.
    """
    return {
        one["name"]: one for name in classes for one in _lines(f"multi_turn_func_doc/{_of(name)}")
    }


def tools(documents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Write documentation as JSON schema, in the form that chat templates take.

    Args:
        documents: Of functions; what they return is left out.
    """
    kept = ("name", "description", "parameters")
    return [
        {"type": "function", "function": _schema({name: one[name] for name in kept})}
        for one in documents
    ]


def least_turns(payload: Mapping[str, Any]) -> int:
    """Return the fewest responses in which a task can be solved.

    A request needs one response that closes it, and one before with calls if the gold has calls.
    """
    return sum(2 if calls else 1 for calls in payload["gold"])


def _order(seed: int) -> list[int]:
    """Shuffle the scenarios of each subject, and let subjects take turns."""
    size = SCENARIOS // len(SUBJECTS)
    shuffled = [
        sorted(
            range(place * size, (place + 1) * size),
            key=lambda scenario: draws.uniform(draws.seed("bfcl", seed), scenario),
        )
        for place in range(len(SUBJECTS))
    ]
    return [scenario for row in zip(*shuffled, strict=True) for scenario in row]


def _task(category: str, scenario: int, split: str, clustered: bool) -> Task:
    payload = _payloads(category)[scenario]
    name = f"multi_turn_{category}_{scenario}"
    subject = SUBJECTS[scenario * len(SUBJECTS) // SCENARIOS]
    cluster = f"scenario_{scenario}" if clustered else name
    return Task(name, split, subject, cluster, payload, least_turns(payload))


@functools.cache
def _payloads(category: str) -> list[dict[str, Any]]:
    """Read a category; item i is scenario i."""
    name = f"BFCL_v4_multi_turn_{category}"
    golds = {one["id"]: one["ground_truth"] for one in _lines(f"possible_answer/{name}")}
    found = {}
    for one in _lines(name):
        held = one.get("missed_function", {})
        later = {function for names in held.values() for function in names}
        found[int(one["id"].rpartition("_")[2])] = {
            "category": category,
            "requests": [
                "\n\n".join(said["content"] for said in asked) for asked in one["question"]
            ],
            "classes": one["involved_classes"],
            "config": one["initial_config"],
            "functions": [name for name in documents(one["involved_classes"]) if name not in later],
            "held": held,
            "gold": golds[one["id"]],
        }
    return [found[scenario] for scenario in range(SCENARIOS)]


def _of(name: str) -> str:
    """Find the documentation of a class.

    Raises:
        ValueError: There is none.
    """
    if name not in DOCUMENTS:
        raise ValueError(f"unknown class {name!r}; known: {', '.join(DOCUMENTS)}")
    return DOCUMENTS[name]


def _lines(name: str) -> Iterator[dict[str, Any]]:
    """Read JSON lines of the package's data."""
    path = folder() / "bfcl_eval" / "data" / f"{name}.json"
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _schema(value: Any) -> Any:
    """Rename types, wherever they are."""
    if isinstance(value, Mapping):
        return {
            key: KINDS.get(item, item) if key == "type" and isinstance(item, str) else _schema(item)
            for key, item in value.items()
        }
    return [_schema(item) for item in value] if isinstance(value, list) else value
