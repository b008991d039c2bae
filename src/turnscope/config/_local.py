"""What is common to all environments, as one of them has it.

The section of an environment may change common settings: it has parts of the same names and keys,
of which those that are given count. An arm's own `training` still counts most.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from turnscope import budgets

Config = dict[str, Any]
CHANGES = {
    "training": ("training",),
    "progress": ("training", "progress"),
    "sampling": ("sampling",),
    "matched": ("matched",),
}
"""Parts of an environment's section that change common ones, and where those stand."""


def within(config: Mapping[str, Any], env: str) -> Config:
    """Return the study as it is in one environment.

    Args:
        config: A study whose defaults are filled in.
        env: One of its environments.

    Returns:
        The same, with the common settings that count there, and of all lists of arms and policies
        only what runs there.
    """
    own, study = config["environments"][env], config["study"]
    arms = arms_in(config, env)
    training = _changed(config["training"], own["training"])
    progress = training["progress"]
    sampling = _changed(config["sampling"], own["sampling"])
    told = sampling["told"]
    policies = [name for name in told["policies"] if name in ("base", *arms)]
    matched = _changed(config["matched"], own["matched"])
    return {
        **config,
        "study": {**study, "environments": [env], "arms": arms},
        "models": {name: _built(model, own["build"]) for name, model in config["models"].items()},
        "training": training | {"progress": progress and _changed(progress, own["progress"])},
        "sampling": sampling | {"told": told | {"policies": policies}},
        "matched": matched | {"arms": [arm for arm in matched["arms"] if arm in arms]},
    }


def arms_in(config: Mapping[str, Any], env: str) -> list[str]:
    """List the arms of the study that run in an environment, in the order of the study."""
    arms = config["study"]["arms"]
    allowed = config["environments"][env].get("arms", arms)
    return [arm for arm in arms if arm in allowed]


def trained(config: Mapping[str, Any], env: str) -> list[str]:
    """List the arms that run in an environment, and those whose tokens they are given."""
    arms = arms_in(config, env)
    given = (config["arms"][arm].get("tokens_of") for arm in arms)
    return list(dict.fromkeys([*arms, *filter(None, given)]))


def played_again(config: Mapping[str, Any], env: str) -> list[int]:
    """List the budgets below T_max under which episodes are played anew, turns.

    Shares that round up to T_max are left out: under it episodes are played anyway.
    """
    most = config["environments"][env]["budget"]["turns"]
    found = budgets.grid(config["metrics"]["truncation"]["shares"], most)
    return [turns for turns in dict.fromkeys(found) if turns < most]


def place(config: Mapping[str, Any], env: str, part: str, *names: str) -> str:
    """Name the key under which the value stands that counts in an environment.

    Args:
        config: The study.
        env: One of its environments.
        part: One of `CHANGES`.
        names: Of the value, from there on.
    """
    found: Any = config["environments"][env][part]
    for name in names:
        if name not in found:
            return ".".join([*CHANGES[part], *names])
        found = found[name]
    return ".".join(["environments", env, part, *names])


def problems(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield arms that run nowhere, environments without any, and changes of what there is not."""
    study = config["study"]
    for env in study["environments"]:
        path, own = f"environments.{env}", config["environments"][env]
        if not arms_in(config, env):
            yield (
                f"{path}.arms: none of {', '.join(own['arms']) or 'none'} is an arm of the study; "
                f"legal is {', '.join(study['arms'])}"
            )
        if own["progress"] and config["training"]["progress"] is None:
            yield f"{path}.progress: training.progress is null, so there is nothing to change"
    run = {arm for env in study["environments"] for arm in arms_in(config, env)}
    for arm in study["arms"]:
        if arm not in run:
            yield (
                f"study.arms: {arm!r} runs in no environment of the study; legal is to name it in "
                f"{' or '.join(f'environments.{env}.arms' for env in study['environments'])}"
            )


def _changed(common: Mapping[str, Any], own: Mapping[str, Any]) -> Config:
    """Put some settings over others, section by section."""
    changes = {
        name: _changed(common[name], value) if isinstance(value, Mapping) else value
        for name, value in own.items()
    }
    return {**common, **changes}


def _built(model: Mapping[str, Any], own: Mapping[str, Any]) -> Config:
    """Change how a model is built; one that is loaded stays as it is."""
    return {**model, "build": {**model["build"], **own}} if "build" in model else {**model}
