"""Whether the models of a study can be built or loaded."""

import ast
import difflib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from turnscope import registry


def problems(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with models; weights are looked for only if the study uses them."""
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
        elif name in config["study"]["models"]:
            yield from _weights(f"{path}.path", model["path"], model.get("revision") or "main")


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


def _weights(path: str, name: str, revision: str) -> Iterator[str]:
    """Yield a model that is not on this machine."""
    if Path(name, "config.json").is_file():
        return
    hub = _hub()
    repository = hub / f"models--{name.replace('/', '--')}"
    reference = repository / "refs" / revision
    commit = reference.read_text().strip() if reference.is_file() else revision
    if (repository / "snapshots" / commit / "config.json").is_file():
        return
    cached = [found.name.split("--", 1)[1] for found in sorted(hub.glob("models--*"))]
    names = [found.replace("--", "/") for found in cached]
    near = difflib.get_close_matches(name, names, 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    yield (
        f"{path}: {name!r}, revision {revision}, is not on this machine{hint}; legal is a folder "
        f"with config.json, or a name of the hub that was downloaded to {hub}: jobs do not use "
        f"the network; there now: {', '.join(names) or 'none'}"
    )


def _hub() -> Path:
    """Return where the hub's client keeps models."""
    given = os.environ
    cache = given.get("XDG_CACHE_HOME") or "~/.cache"
    home = given.get("HF_HOME") or f"{cache}/huggingface"
    hub = given.get("HF_HUB_CACHE") or given.get("HUGGINGFACE_HUB_CACHE") or f"{home}/hub"
    return Path(os.path.expandvars(hub)).expanduser()
