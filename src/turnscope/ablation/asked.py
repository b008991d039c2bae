"""What a user asks to be made again: a name, and the artifacts that it stands for."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from turnscope import config as studies
from turnscope.claims._ledger import BY_NAME

ALL = "all"
"""The target on which everything hangs."""
KINDS = ("claim", "figure", "summary", "metric", "arm", "policy", "seed")
"""Kinds of names, each of which may precede one with a slash where a name alone means several."""


class Asked(NamedTuple):
    """What is made again."""

    kind: str
    """One of `KINDS`, or `ALL` where nothing is named: what changed, and nothing else."""
    name: str
    target: str
    """What the workflow has to bring up to date."""
    marks: tuple[str, ...]
    """Records of the artifacts that are made again although nothing changed."""
    policies: tuple[str, ...] = ()
    """Policies that are trained again."""


def resolve(text: str, config: Mapping[str, Any]) -> Asked:
    """Find what a name stands for.

    Args:
        text: A claim, figure, summary, metric, arm, policy such as `grpo-s1`, or seed such as `s1`;
            an arm, policy or seed may follow an environment, or an environment and a model:
            `frozen_lake/nano/grpo-s1`. Empty for nothing.
        config: A study whose defaults are filled in.

    Raises:
        ValueError: The study has no such name, or several.
    """
    if not text:
        return Asked(ALL, ALL, ALL, ())
    known = legal(config)
    first, _, rest = text.partition("/")
    if first in KINDS and rest:
        if rest not in known[first]:
            raise ValueError(f"there is no {first} {rest!r}; legal: {', '.join(known[first])}")
        return _asked(first, rest, config, [])
    *place, name = text.split("/")
    kinds = [kind for kind in KINDS if name in known[kind] and (not place or kind in KINDS[-3:])]
    if not kinds or not _placed(place, config):
        raise ValueError(f"there is no {text!r} in this study; legal: {_listed(known, config)}")
    if len(kinds) > 1:
        one = [f"{kind}/{name}" for kind in kinds]
        raise ValueError(f"{name!r} may mean several things; say {' or '.join(one)}")
    return _asked(kinds[0], name, config, place)


def legal(config: Mapping[str, Any]) -> dict[str, list[str]]:
    """List the names of each kind in a study."""
    arms, seeds = config["study"]["arms"], config["training"]["seeds"]
    return {
        "claim": list(BY_NAME),
        "figure": list(config["figures"]),
        "summary": list(config["summaries"]),
        "metric": list(config["study"]["metrics"]),
        "arm": list(arms),
        "policy": [f"{arm}-s{seed}" for arm, seed in product(arms, seeds)],
        "seed": [f"s{seed}" for seed in seeds],
    }


def _listed(known: Mapping[str, Sequence[str]], config: Mapping[str, Any]) -> str:
    """Write all names in one line; environments and models may precede the last three kinds."""
    study = config["study"]
    places = {"environment": study["environments"], "model": study["models"]}
    return "; ".join(f"{kind} {', '.join(names)}" for kind, names in {**known, **places}.items())


def _placed(place: Sequence[str], config: Mapping[str, Any]) -> bool:
    """Tell whether a place is an environment of the study, or one and a model."""
    legal_at = (config["study"]["environments"], config["study"]["models"])
    return len(place) <= 2 and all(one in at for one, at in zip(place, legal_at, strict=False))


def _asked(kind: str, name: str, config: Mapping[str, Any], place: Sequence[str]) -> Asked:
    study = config["study"]
    everywhere = list(product(study["environments"], study["models"]))
    if kind == "claim":
        folder = "results/claims"
        return Asked(kind, name, f"{folder}/claims.parquet", (f"{folder}/provenance.json",))
    if kind in ("figure", "summary"):
        stem = f"results/{'figures' if kind == 'figure' else 'summaries'}/{name}"
        return Asked(kind, name, f"{stem}.csv", (f"{stem}.provenance.json",))
    if kind == "metric":
        marks = (f"results/estimates/{env}/{model}/{name}" for env, model in everywhere)
        return Asked(kind, name, ALL, tuple(f"{mark}.provenance.json" for mark in marks))
    cells = [
        (f"results/policies/{env}/{model}/{policy}/provenance.json", policy)
        for env, model in everywhere
        if list(place) == [env, model][: len(place)]
        for policy in _policies(kind, name, config, env)
    ]
    if not cells:
        raise ValueError(f"{name!r} is not trained in {'/'.join(place)}")
    marks, policies = zip(*cells, strict=True)
    return Asked(kind, "/".join([*place, name]), ALL, marks, tuple(dict.fromkeys(policies)))


def _policies(kind: str, name: str, config: Mapping[str, Any], env: str) -> list[str]:
    """List the policies of an environment that an arm, a policy or a seed stands for."""
    arms = studies.within(config, env)["study"]["arms"]
    return [
        policy
        for arm, seed in product(arms, config["training"]["seeds"])
        if name in {"arm": (arm,), "seed": (f"s{seed}",)}.get(kind, (f"{arm}-s{seed}",))
        for policy in [f"{arm}-s{seed}"]
    ]
