"""Refuse a study that cannot be run, before any job starts, in one line.

The JSON schema says what keys there are and of what kind; this module says what a schema cannot:
that names exist, that options fit what they are given to, and that numbers fit one another.
Nothing heavy is imported, because every Snakemake process of the study does this.
"""

import ast
import difflib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from turnscope import registry

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
    complete = _filled(config, schema, schema)
    errors = sorted(
        Draft202012Validator(schema).iter_errors(complete),
        key=lambda error: (error.validator != "additionalProperties", error.json_path),
    )
    if errors:
        raise ValueError(_line(errors[0]))
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
        name: A plug-in that is a single file.
        constant: Assigned once, on the top level of the file, from a literal.

    Raises:
        ValueError: The plug-in has no such constant.
    """
    path = Path(registry.__file__).parent / kind / f"{name}.py"
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.Assign) and [ast.unparse(at) for at in node.targets] == [constant]:
            return ast.literal_eval(node.value)
    raise ValueError(f"{kind}/{name}.py does not declare {constant}")


def _filled(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Copy a value and add the defaults of its schema."""
    while "$ref" in schema:
        target: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        schema = target
    if isinstance(value, Mapping):
        known = schema.get("properties", {})
        others = schema.get("additionalProperties", {})
        defaults = {key: part["default"] for key, part in known.items() if "default" in part}
        return {
            key: _filled(entry, known.get(key, others if isinstance(others, dict) else {}), root)
            for key, entry in {**defaults, **value}.items()
        }
    if isinstance(value, list):
        return [_filled(entry, schema.get("items", {}), root) for entry in value]
    return value


def _line(error: Any) -> str:
    """Say what is wrong, in one line that starts with the key."""
    path = ".".join(str(step) for step in error.absolute_path)
    value, rule = error.instance, error.validator_value
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        key = next(key for key in value if key not in known)
        return _unknown(f"{path}.{key}".lstrip("."), "key", key, known)
    if error.validator == "required":
        missing = next(key for key in rule if key not in value)
        return f"{f'{path}.{missing}'.lstrip('.')}: this key is missing"
    if error.validator == "oneOf":
        return (
            f"{path}: needs exactly one of {', '.join(rule[0]['required'] + rule[1]['required'])}"
        )
    legal = {
        "type": lambda: " or ".join([rule] if isinstance(rule, str) else rule),
        "minimum": lambda: f"at least {rule}",
        "exclusiveMinimum": lambda: f"above {rule}",
        "maximum": lambda: f"at most {rule}",
        "exclusiveMaximum": lambda: f"below {rule}",
        "enum": lambda: ", ".join(map(str, rule)),
        "minItems": lambda: f"a list of at least {rule}",
        "maxItems": lambda: f"a list of at most {rule}",
        "uniqueItems": lambda: "a list without repeats",
        "minProperties": lambda: f"at least {rule} entries",
        "pattern": lambda: error.schema["description"],
        "not": lambda: f"anything but {', '.join(rule['enum'])}",
    }.get(error.validator, lambda: error.message)()
    return f"{path}: {value!r} is not legal; legal is {legal}"


def _unknown(path: str, what: str, name: str, known: Iterable[str]) -> str:
    """Say that a name does not exist, and which do."""
    names = list(known)
    near = difflib.get_close_matches(name, names, 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return f"{path}: unknown {what} {name!r}{hint}; known: {', '.join(names) or 'none'}"


def _problems(config: Config) -> Iterator[str]:
    """Yield what is wrong; the first problem is reported."""
    yield from _names(config)
    yield from _environments(config)
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
                yield _unknown(path, what, name, known)
    for name, backend in backends.items():
        if backend not in registry.names("policies"):
            known = registry.names("policies")
            yield _unknown(f"models.{name}.backend", "backend", backend, known)
    for figure in config["figures"]:
        for source in declared("figures", figure, "SOURCES"):
            if source not in [*study["metrics"], "training"]:
                yield f"study.metrics: {source!r} is missing; figure {figure!r} draws it"
    for arm in config["arms"]:
        if algorithm_of(config, arm) not in registry.names("algorithms"):
            name, known = algorithm_of(config, arm), registry.names("algorithms")
            yield _unknown(f"arms.{arm}", "algorithm", name, known)


def _environments(config: Config) -> Iterator[str]:
    """Yield options that an environment does not take, and budgets that no task fits."""
    for name, settings in config["environments"].items():
        path, module = f"environments.{name}", registry.load("environments", name)
        yield from _unfit(f"{path}.tasks", module.tasks, settings["tasks"], 0)
        yield from _unfit(f"{path}.options", module.Environment, settings["options"])
        try:
            least = module.least_turns(**settings["tasks"])
        except ValueError as error:
            yield f"{path}.tasks: {error}"
            continue
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
        yield from _unfit(f"arms.{arm}.options", module.make, settings["options"])


def _unfit(
    path: str, function: Callable[..., Any], options: Mapping[str, Any], *arguments: Any
) -> Iterator[str]:
    """Yield a misfit of options and the function that will be called with them."""
    signature = inspect.signature(function)
    try:
        signature.bind(*arguments, **options)
    except TypeError as error:
        kinds = [parameter.kind for parameter in signature.parameters.values()]
        known = [
            name
            for name, kind in zip(signature.parameters, kinds, strict=True)
            if kind is inspect.Parameter.KEYWORD_ONLY
        ]
        for name in options:
            if name not in known:
                yield _unknown(f"{path}.{name}", "option", name, known)
                return
        yield f"{path}: {error}; known: {', '.join(known)}"


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
    for name, model in config["models"].items():
        if {"batch", "episodes"} <= set(model.get("build", {})):
            build, path = model["build"], f"models.{name}.build"
            yield f"{path}.batch", build["batch"], build["episodes"], f"{path}.episodes"
    for arm in config["study"]["arms"]:
        own = config["arms"][arm]["training"]
        path = f"arms.{arm}.training.tasks" if "tasks" in own else "training.tasks"
        tasks = own.get("tasks", config["training"]["tasks"])
        for name in config["study"]["environments"]:
            train = config["environments"][name]["tasks"]["train"]
            yield path, tasks, train, f"environments.{name}.tasks.train"
