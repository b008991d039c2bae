"""Whether the models of a study can be built or taken."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from turnscope import folders, hub, registry, templates
from turnscope.config import _schema
from turnscope.config._local import trained, within

LOADED = ("revision", "template", "thinking", "dtype")
"""Keys of a model that is not built."""


def problems(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with models; where one comes from matters only if the study uses it."""
    loading = [name for name in registry.names("policies") if _takes_a_model(name)]
    for name, model in config["models"].items():
        path = f"models.{name}"
        if model["backend"] not in loading:
            yield (
                f"{path}.backend: {model['backend']!r} plays without a model; "
                f"legal is {', '.join(loading)}"
            )
        if "build" in model:
            keys = {size: f"{path}.build.{size}" for size in model["build"]}
            yield from _build(model["build"], keys)
            yield from _rebuilt(config, model["build"], keys)
            yield from _unused(model, path)
            yield from _whole(f"{path}.tuning", model.get("tuning"))
        elif name in config["study"]["models"]:
            yield from _source(model, path)
            yield from _template(model, path)
        if name in config["study"]["models"]:
            yield from _tuning(config, f"{path}.tuning", model.get("tuning"))


def _takes_a_model(backend: str) -> bool:
    """Tell policies that speak through a model: it is the first thing that they are given.

    Read from the source, for importing one may take seconds.
    """
    tree = ast.parse(registry.source("policies", backend).read_bytes())
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == "Policy":
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and part.name == "__init__":
                    return [argument.arg for argument in part.args.args[1:2]] == ["model"]
    return False


def _rebuilt(
    config: Mapping[str, Any], build: Mapping[str, Any], keys: Mapping[str, str]
) -> Iterator[str]:
    """Yield what is wrong with a model where environments change how it is built."""
    for env, settings in config["environments"].items():
        own = settings["build"]
        changed = {size: f"environments.{env}.build.{size}" for size in own}
        yield from _build({**build, **own}, {**keys, **changed})


def _build(build: Mapping[str, Any], keys: Mapping[str, str]) -> Iterator[str]:
    """Yield sizes that make no network, and ranges upside down.

    Args:
        build: The sizes.
        keys: Where each stands.
    """
    heads, kv_heads = build["heads"], build["kv_heads"]
    if heads % kv_heads:
        legal = [number for number in range(1, heads + 1) if heads % number == 0]
        yield (
            f"{keys['kv_heads']}: {kv_heads} does not divide {keys['heads']} = {heads}; "
            f"legal is {', '.join(map(str, legal))}"
        )
    if build["head_dim"] % 2:
        yield f"{keys['head_dim']}: {build['head_dim']} is odd; legal is an even number"
    low, high = build["skill"]
    if low > high:
        yield f"{keys['skill']}: {[low, high]} falls; legal is the lower number first"
    if build["batch"] > build["episodes"]:
        most = build["episodes"]
        yield (
            f"{keys['batch']}: {build['batch']} is above {keys['episodes']} = {most}; "
            f"legal is at most {most}"
        )


def _unused(model: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield keys that say how a model is taken, where it is built."""
    for key in LOADED:
        if key in model:
            yield f"{path}.{key}: the model is built; legal is this key with `path`"


def _tuning(
    config: Mapping[str, Any], path: str, tuning: Mapping[str, Any] | None
) -> Iterator[str]:
    """Yield what a model cannot be trained with.

    Args:
        config: The study.
        path: The key.
        tuning: Its value; None is all defaults.
    """
    if not tuning:
        return
    processes, sharded = tuning["processes"], tuning["sharding"] != "none"
    if tuning["server"] and tuning["sampler"] != "vllm":
        yield (
            f"{path}.server: there is none of sampler {tuning['sampler']!r}; legal is false, or "
            "sampler vllm"
        )
    if sharded and processes == 1:
        yield f"{path}.sharding: {tuning['sharding']!r} needs processes above 1; legal is none"
    if sharded and tuning["method"] != "full":
        yield (
            f"{path}.sharding: {tuning['sharding']!r} is for method full, which has much to "
            f"divide; with {tuning['method']} legal is none"
        )
    for env in config["study"]["environments"]:
        common = within(config, env)["training"]["tasks"]
        for arm in trained(config, env):
            tasks = config["arms"][arm]["training"].get("tasks", common)
            if tasks % processes:
                yield (
                    f"{path}.processes: {processes} do not divide the {tasks} tasks of a step of "
                    f"arm {arm!r} in {env}; legal is a divisor, for a group stays in one process"
                )


def _whole(path: str, tuning: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield why a model that is built is not tuned so: it is trained whole by one process."""
    for name, legal in (("method", "full"), ("processes", 1)):
        if tuning and tuning[name] != legal:
            yield f"{path}.{name}: {tuning[name]!r} is for models that are loaded; legal is {legal}"


def _source(model: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield a folder that holds no model, and a name of the hub without a commit.

    What is on the hub need not be here yet: a rule fetches it.
    """
    name, revision = model["path"], model.get("revision")
    if Path(name).is_dir():
        if why := folders.damage(Path(name)):
            yield f"{path}.path: {name!r} holds no model: {why}; legal is {folders.LEGAL}"
        if revision is not None:
            yield f"{path}.revision: {revision!r} is not legal with a folder; legal is null"
    elif not hub.NAME.fullmatch(name):
        yield (
            f"{path}.path: {name!r} is no folder here; legal is {folders.LEGAL}, or owner/name of "
            "a model on the hub, with `revision`"
        )
    elif not hub.COMMIT.fullmatch(revision or ""):
        given = "null" if revision is None else repr(revision)
        yield (
            f"{path}.revision: {given} is not legal with {name!r}, which is no folder here and so "
            "a name on the hub; legal is a commit hash of 40 hex digits, for branches move"
        )


def _template(model: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield a template that does not exist, and a choice that only a template of ours heeds."""
    template = model.get("template")
    if template is not None and template not in templates.names():
        yield _schema.unknown(f"{path}.template", "template", template, templates.names())
    if template is None and "thinking" in model:
        yield (
            f"{path}.thinking: it is decided in a template of ours, and {path}.template is null; "
            f"legal is one of {', '.join(templates.names())} there, or to leave this key out"
        )
