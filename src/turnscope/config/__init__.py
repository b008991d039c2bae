"""Refuse a study that cannot be run, before any job starts, in one line.

The JSON schema says what keys there are and of what kind; this module says what a schema cannot:
that names exist, that options fit what they are given to, and that numbers fit one another.
Nothing heavy is imported, because every Snakemake process of the study does this.
"""

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from turnscope import registry
from turnscope.config import _local, _matched, _models, _numbers, _options, _schema
from turnscope.config._local import Config, arms_in, played_again, within

__all__ = ["TABLES", "algorithm_of", "check", "declared", "played_again", "told", "within"]

TABLES = ("training", "claims", "robustness", "calibration", "setup")
"""What a figure or a summary may show besides metrics."""


def check(config: Mapping[str, Any], schema: Mapping[str, Any]) -> Config:
    """Check a study.

    Args:
        config: As read from the YAML files, merged.
        schema: JSON schema of it, draft 2020-12.

    Returns:
        A copy in which every key that was left out has its default, and every arm of the study a
        section.

    Raises:
        ValueError: The study cannot be run; one line naming the key, the value and what is legal.
    """
    complete = _schema.filled(config, schema, schema)
    for fault in _schema.faults(complete, schema):
        raise ValueError(fault)
    for arm in complete["study"]["arms"]:
        if arm in registry.names("algorithms"):
            complete["arms"].setdefault(arm, {"options": {}, "training": {}})
    for problem in _problems(complete):
        raise ValueError(problem)
    return complete


def algorithm_of(config: Mapping[str, Any], arm: str) -> str:
    """Return the algorithm of an arm: what it names, or else the one of the same name."""
    return config["arms"][arm].get("algorithm") or arm


def told(config: Config, arm: str) -> bool:
    """Tell arms that are trained seeing the turns left.

    Args:
        config: A result of `check`.
        arm: One of its arms.
    """
    return _algorithm(config, arm).told


def declared(kind: str, name: str, constant: str, default: Any = None) -> Any:
    """Read a constant of a plug-in without importing it, for that may take seconds.

    Args:
        kind: One of `turnscope.registry.KINDS`.
        name: A plug-in.
        constant: Assigned once, on the top level of the file, from a literal.
        default: What it is where it is not assigned; None if it must be.

    Raises:
        ValueError: The plug-in has no such constant, and there is no default.
    """
    path = registry.source(kind, name)
    if (assigned := _constants(path.read_bytes()).get(constant)) is not None:
        return ast.literal_eval(assigned)
    if default is not None:
        return default
    raise ValueError(f"{kind}/{path.name} does not declare {constant}")


@functools.lru_cache(maxsize=1 << 8)
def _constants(source: bytes) -> dict[str, ast.expr]:
    """Return what is assigned to single names on the top level of a file."""
    return {
        node.targets[0].id: node.value
        for node in reversed(ast.parse(source).body)
        if isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
    }


def _algorithm(config: Config, arm: str) -> Any:
    """Make the algorithm of an arm."""
    module = registry.load("algorithms", algorithm_of(config, arm))
    return module.make(**config["arms"][arm]["options"])


def _problems(config: Config) -> Iterator[str]:
    """Yield what is wrong; the first problem is reported."""
    yield from _names(config)
    made_from = _made_from(config)
    yield from _sources(config, made_from)
    yield from _environments(config)
    yield from _local.problems(config)
    yield from _models.problems(config)
    yield from _arms(config)
    yield from _comparisons(config)
    yield from _matched.problems(config, made_from, _told(config))
    yield from _numbers.problems(config, made_from)


def _names(config: Config) -> Iterator[str]:
    """Yield names that nothing has."""
    study, models, arms = config["study"], config["models"], config["arms"]
    algorithms = registry.names("algorithms")
    trainable = dict.fromkeys([*arms, *algorithms])
    backends = {name: model["backend"] for name, model in models.items()}
    listed: list[tuple[str, str, Iterable[str], Iterable[str]]] = [
        ("environments", "environment", config["environments"], registry.names("environments")),
        ("study.environments", "environment", study["environments"], config["environments"]),
        ("study.models", "model", study["models"], models),
        ("study.arms", "arm", study["arms"], trainable),
        ("study.metrics", "metric", study["metrics"], registry.names("metrics")),
        ("figures", "figure", config["figures"], registry.names("figures")),
        ("summaries", "summary", config["summaries"], registry.names("summaries")),
        ("metrics.reference", "arm", [config["metrics"]["reference"]], arms),
        (
            "sampling.told.policies",
            "policy",
            config["sampling"]["told"]["policies"],
            ["base", *study["arms"]],
        ),
        *(
            (f"environments.{name}.arms", "arm", own.get("arms", []), trainable)
            for name, own in config["environments"].items()
        ),
    ]
    for path, what, names, known in listed:
        for name in names:
            if name not in known:
                yield _schema.unknown(path, what, name, known)
    for name, backend in backends.items():
        if backend not in registry.names("policies"):
            known = registry.names("policies")
            yield _schema.unknown(f"models.{name}.backend", "backend", backend, known)
    for arm in arms:
        if algorithm_of(config, arm) not in algorithms:
            name = algorithm_of(config, arm)
            yield _schema.unknown(f"arms.{arm}", "algorithm", name, algorithms)


def _sources(config: Config, made_from: dict[str, str]) -> Iterator[str]:
    """Yield what a figure, a summary or a metric is made from and the study does not make."""
    metrics = config["study"]["metrics"]
    for kind, uses in (("figures", "figure {!r} draws it"), ("summaries", "summary {!r} shows it")):
        for name in config[kind]:
            for source in declared(kind, name, "SOURCES"):
                if source not in [*metrics, *TABLES]:
                    yield f"study.metrics: {source!r} is missing; {uses.format(name)}"
    for metric, source in made_from.items():
        if source == "progress" and config["training"]["progress"] is None:
            yield f"training.progress: this key is missing; metric {metric!r} is made from it"


def _made_from(config: Config) -> dict[str, str]:
    """Say what each metric of the study is made from."""
    metrics = config["study"]["metrics"]
    return {metric: declared("metrics", metric, "SOURCE", "episodes") for metric in metrics}


def _told(config: Config) -> dict[str, bool]:
    """Say which arms of the study are trained seeing the turns left."""
    return {arm: told(config, arm) for arm in config["study"]["arms"]}


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


def _arms(config: Config) -> Iterator[str]:
    """Yield what an algorithm does not take, or does not get."""
    for arm, settings in config["arms"].items():
        module = registry.load("algorithms", algorithm_of(config, arm))
        yield from _lacks(f"arms.{arm}", module, ["make"])
        yield from _options.misfits(f"arms.{arm}.options", module.make, settings["options"])
        yield from _options.refusal(f"arms.{arm}.options", module.make, settings["options"])
        if "tokens_of" in settings:
            yield from _tokens_of(config, arm, settings["tokens_of"])
    for name in config["study"]["environments"]:
        graded = hasattr(registry.load("environments", name), "step_quality")
        for arm in _local.trained(config, name):
            if _algorithm(config, arm).process and not graded:
                yield f"arms.{arm}: it needs a step_quality, and environment {name!r} has none"


def _comparisons(config: Config) -> Iterator[str]:
    """Yield arms that no metric could compare as they should be."""
    study, rival = config["study"], config["metrics"]["reference"]
    if "between_arms" in study["metrics"] and rival not in study["arms"]:
        yield (
            f"metrics.reference: {rival!r} is no arm of the study, and metric 'between_arms' "
            f"compares with it; legal is {', '.join(study['arms'])}"
        )
    for name in study["environments"]:
        arms = arms_in(config, name)
        if "between_arms" in study["metrics"] and rival in study["arms"] and rival not in arms:
            yield (
                f"environments.{name}.arms: {rival!r} is missing; it is metrics.reference, and "
                "metric 'between_arms' compares with it"
            )
    for arm in study["arms"]:
        if told(config, arm) and "awareness" not in study["metrics"]:
            yield (
                f"study.metrics: 'awareness' is missing; arm {arm!r} is trained seeing the turns "
                "left, and is played so for that metric alone"
            )


def _tokens_of(config: Config, arm: str, other: str) -> Iterator[str]:
    """Yield why an arm cannot be matched with another."""
    arms, path = config["arms"], f"arms.{arm}.tokens_of"
    legal = [name for name, settings in arms.items() if "tokens_of" not in settings]
    if other not in arms:
        yield _schema.unknown(path, "arm", other, legal)
    elif other not in legal:
        yield f"{path}: {other!r} has tokens_of itself; legal is {', '.join(legal) or 'none'}"
