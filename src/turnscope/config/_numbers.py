"""Refuse numbers that do not fit one another."""

from collections.abc import Iterator, Mapping
from typing import Any

from turnscope import shards
from turnscope.config import _matched
from turnscope.config._local import place, played_again, trained, within

Ceiling = tuple[str, int, int, str]
"""A key, its number, the number that it may not exceed, and the key of that."""


def problems(config: Mapping[str, Any], sources: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong.

    Args:
        config: The study.
        sources: What each of its metrics is made from.
    """
    for env in config["study"]["environments"]:
        here = within(config, env)
        found = _ceilings(config, here, env, sources), _train(config, here, env)
        for path, number, most, source in (one for part in found for one in part):
            if number > most:
                yield f"{path}: {number} is above {source} = {most}; legal is at most {most}"
        yield from _shards(config, here, env)
        shares = config["metrics"]["truncation"]["shares"]
        if shares and not played_again(config, env):
            turns = config["environments"][env]["budget"]["turns"]
            yield (
                f"metrics.truncation.shares: none of {', '.join(map(str, shares))} is less than "
                f"the {turns} turns of {env}, rounded up; legal is a smaller share, or none"
            )
    k, ks = config["metrics"]["k"], config["metrics"]["ks"]
    if k not in ks:
        yield f"metrics.k: {k} is not one of metrics.ks; legal is {', '.join(map(str, ks))}"


def _ceilings(
    config: Mapping[str, Any], here: Mapping[str, Any], env: str, sources: Mapping[str, str]
) -> Iterator[Ceiling]:
    """Yield what episodes and test tasks there must be in an environment."""
    metrics, episodes = here["metrics"], here["sampling"]["episodes"]
    again, told = metrics["truncation"]["episodes"], here["sampling"]["told"]["episodes"]
    played = place(config, env, "sampling", "episodes")
    for k in metrics["ks"]:
        yield "metrics.ks", k, episodes, played
    yield "metrics.k", metrics["k"], episodes, played
    yield "metrics.k", metrics["k"], again, "metrics.truncation.episodes"
    yield "metrics.k", metrics["k"], told, place(config, env, "sampling", "told", "episodes")
    yield "metrics.truncation.episodes", again, episodes, played
    yield from _matched.ceilings(config, here, env, sources)
    if progress := here["training"]["progress"]:
        test, most = config["environments"][env]["tasks"]["test"], f"environments.{env}.tasks.test"
        yield place(config, env, "progress", "tasks"), progress["tasks"], test, most


def _shards(config: Mapping[str, Any], here: Mapping[str, Any], env: str) -> Iterator[str]:
    """Yield that the blind episodes of an environment cannot be cut into as many parts."""
    sampling, test = here["sampling"], config["environments"][env]["tasks"]["test"]
    most = len(shards.pieces(test, sampling["episodes"], sampling["batch"]))
    if sampling["shards"] > most:
        path, *sizes = (
            f"{place(config, env, 'sampling', name)}: {sampling[name]}"
            for name in ("shards", "batch", "episodes")
        )
        yield (
            f"{path} is above {most}, the parts of {test} tasks that end with a whole batch "
            f"({', '.join(sizes)}); legal is at most {most}"
        )


def _train(config: Mapping[str, Any], here: Mapping[str, Any], env: str) -> Iterator[Ceiling]:
    """Yield what training tasks there must be in an environment."""
    train = config["environments"][env]["tasks"]["train"]
    for arm in trained(config, env):
        own = config["arms"][arm]["training"]
        path = place(config, env, "training", "tasks")
        path = f"arms.{arm}.training.tasks" if "tasks" in own else path
        tasks = own.get("tasks", here["training"]["tasks"])
        yield path, tasks, train, f"environments.{env}.tasks.train"
