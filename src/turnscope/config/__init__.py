"""Refuse a study that cannot be run, before any job starts, in one line.

The JSON schema says what keys there are and of what kind; this module says what a schema cannot:
that names exist, that options fit what they are given to, and that numbers fit one another.
Nothing heavy is imported, because every Snakemake process of the study does this.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from turnscope import registry
from turnscope.config import _models, _options, _schema

Config = dict[str, Any]


def check(config: Mapping[str, Any], schema: Mapping[str, Any]) -> Config:
    """Check a study.

    Args:
        config: As read from the YAML files, merged.
        schema: JSON schema of it, draft 2020-12.

    Returns:
        A copy in which every key that was left out has its default.

    Raises:
        ValueError: The study cannot be run; one line naming the key, the value and what is legal.
    """
    complete = _schema.filled(config, schema, schema)
    for fault in _schema.faults(complete, schema):
        raise ValueError(fault)
    for problem in _problems(complete):
        raise ValueError(problem)
    return complete


def algorithm_of(config: Mapping[str, Any], arm: str) -> str:
    """Return the algorithm of an arm: what it names, or else the one of the same name."""
    return config["arms"][arm].get("algorithm") or arm


def declared(kind: str, name: str, constant: str) -> Any:
    """Read a constant of a plug-in without importing it, for that may take seconds.

    Args:
        kind: One of `turnscope.registry.KINDS`.
        name: A plug-in.
        constant: Assigned once, on the top level of the file, from a literal.

    Raises:
        ValueError: The plug-in has no such constant.
    """
    path = registry.source(kind, name)
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.Assign) and [ast.unparse(at) for at in node.targets] == [constant]:
            return ast.literal_eval(node.value)
    raise ValueError(f"{kind}/{path.name} does not declare {constant}")


def _problems(config: Config) -> Iterator[str]:
    """Yield what is wrong; the first problem is reported."""
    yield from _names(config)
    yield from _environments(config)
    yield from _models.problems(config)
    yield from _arms(config)
    yield from _numbers(config)


def _names(config: Config) -> Iterator[str]:
    """Yield names that nothing has."""
    study, models = config["study"], config["models"]
    backends = {name: model["backend"] for name, model in models.items()}
    listed: list[tuple[str, str, Iterable[str], Iterable[str]]] = [
        ("environments", "environment", config["environments"], registry.names("environments")),
        ("study.environments", "environment", study["environments"], config["environments"]),
        ("study.models", "model", study["models"], models),
        ("study.arms", "arm", study["arms"], config["arms"]),
        ("study.metrics", "metric", study["metrics"], registry.names("metrics")),
        ("figures", "figure", config["figures"], registry.names("figures")),
    ]
    for path, what, names, known in listed:
        for name in names:
            if name not in known:
                yield _schema.unknown(path, what, name, known)
    for name, backend in backends.items():
        if backend not in registry.names("policies"):
            known = registry.names("policies")
            yield _schema.unknown(f"models.{name}.backend", "backend", backend, known)
    for figure in config["figures"]:
        for source in declared("figures", figure, "SOURCES"):
            if source not in [*study["metrics"], "training"]:
                yield f"study.metrics: {source!r} is missing; figure {figure!r} draws it"
    for arm in config["arms"]:
        if algorithm_of(config, arm) not in registry.names("algorithms"):
            name, known = algorithm_of(config, arm), registry.names("algorithms")
            yield _schema.unknown(f"arms.{arm}", "algorithm", name, known)


def _lacks(path: str, module: ModuleType, names: Iterable[str]) -> Iterator[str]:
    """Yield what a plug-in does not define but must."""
    missing = [name for name in names if not hasattr(module, name)]
    if missing:
        yield f"{path}: {module.__name__} does not define {', '.join(missing)}"


def _environments(config: Config) -> Iterator[str]:
    """Yield options that an environment does not take, and budgets that no task fits."""
    for name, settings in config["environments"].items():
        path, module = f"environments.{name}", registry.load("environments", name)
        yield from _lacks(path, module, ("tasks", "Environment", "gold", "words", "least_turns"))
        yield from _options.misfits(f"{path}.tasks", module.tasks, settings["tasks"], 0)
        yield from _options.misfits(f"{path}.options", module.Environment, settings["options"])
        yield from _options.refusal(f"{path}.options", module.Environment, settings["options"])
        yield from _options.refusal(f"{path}.tasks", module.least_turns, settings["tasks"])
        if name in config["study"]["environments"]:
            for model in config["study"]["models"]:
                if "build" in config["models"][model] and not hasattr(module, "expert"):
                    yield f"models.{model}.build: environment {name!r} has no expert to learn from"
        least = module.least_turns(**settings["tasks"])
        turns = settings["budget"]["turns"]
        if turns < least:
            yield (
                f"{path}.budget.turns: {turns} is below what any task needs; "
                f"legal is at least {least}"
            )
        for smaller in config["metrics"]["truncation"]["turns"]:
            if name in config["study"]["environments"] and smaller >= turns:
                yield (
                    f"metrics.truncation.turns: {smaller} is not below the budget of {name}; "
                    f"legal is at most {turns - 1}"
                )


def _arms(config: Config) -> Iterator[str]:
    """Yield options that an algorithm does not take."""
    for arm, settings in config["arms"].items():
        module = registry.load("algorithms", algorithm_of(config, arm))
        yield from _lacks(f"arms.{arm}", module, ["make"])
        yield from _options.misfits(f"arms.{arm}.options", module.make, settings["options"])
        yield from _options.refusal(f"arms.{arm}.options", module.make, settings["options"])


def _numbers(config: Config) -> Iterator[str]:
    """Yield numbers that do not fit one another."""
    for path, number, most, source in _ceilings(config):
        if number > most:
            yield f"{path}: {number} is above {source} = {most}; legal is at most {most}"
    k, ks = config["metrics"]["k"], config["metrics"]["ks"]
    if k not in ks:
        yield f"metrics.k: {k} is not one of metrics.ks; legal is {', '.join(map(str, ks))}"


def _ceilings(config: Config) -> Iterator[tuple[str, int, int, str]]:
    """Yield a key, its number, the number that it may not exceed, and the key of that."""
    metrics, episodes = config["metrics"], config["sampling"]["episodes"]
    again = metrics["truncation"]["episodes"]
    for k in metrics["ks"]:
        yield "metrics.ks", k, episodes, "sampling.episodes"
    yield "metrics.k", metrics["k"], episodes, "sampling.episodes"
    yield "metrics.k", metrics["k"], again, "metrics.truncation.episodes"
    yield "metrics.truncation.episodes", again, episodes, "sampling.episodes"
    for arm in config["study"]["arms"]:
        own = config["arms"][arm]["training"]
        path = f"arms.{arm}.training.tasks" if "tasks" in own else "training.tasks"
        tasks = own.get("tasks", config["training"]["tasks"])
        for name in config["study"]["environments"]:
            train = config["environments"][name]["tasks"]["train"]
            yield path, tasks, train, f"environments.{name}.tasks.train"
