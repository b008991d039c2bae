"""Refuse comparisons step by step that cannot be made."""

from collections.abc import Iterator, Mapping
from typing import Any

from turnscope.config._local import arms_in, place

PAIRED = ("turns", "actions", "continuations", "likelihood", "heated")
"""What a metric may be made from that exists only for policies that are compared with base."""
SCORED = {"likelihood", "heated"}
"""Of these, what needs likelihoods: heated policies are as random as base by theirs."""


def problems(
    config: Mapping[str, Any], sources: Mapping[str, str], told: Mapping[str, bool]
) -> Iterator[str]:
    """Yield what is wrong.

    Args:
        config: The study.
        sources: What each of its metrics is made from.
        told: Whether an arm is trained seeing the turns left, for each arm of the study.
    """
    matched, path = config["matched"], "matched.arms"
    paired = [metric for metric, source in sources.items() if source in PAIRED]
    if not paired:
        return
    blind = ", ".join(name for name, seen in told.items() if not seen) or "none"
    if not matched["arms"]:
        yield f"{path}: names no arm, and metric {paired[0]!r} compares one; legal is {blind}"
    for arm in matched["arms"]:
        if arm not in told:
            yield (
                f"{path}: {arm!r} is no arm of the study, and metric {paired[0]!r} compares it; "
                f"legal is {blind}"
            )
        elif told[arm]:
            yield (
                f"{path}: {arm!r} is trained seeing the turns left, and states are compared blind; "
                f"legal is {blind}"
            )
    for env in config["study"]["environments"]:
        arms = arms_in(config, env)
        if not {*matched["arms"]} & {*arms}:
            yield (
                f"environments.{env}.arms: holds none of {path} = {', '.join(matched['arms'])}, "
                f"and metric {paired[0]!r} compares one"
            )
    scored = [metric for metric, source in sources.items() if source in SCORED]
    if not scored:
        return
    temperature = config["sampling"]["temperature"]
    if temperature != 1:
        yield (
            f"sampling.temperature: {temperature} is not 1, and metric {scored[0]!r} needs "
            "episodes that were sampled from what is scored; legal is 1"
        )


def ceilings(
    config: Mapping[str, Any], here: Mapping[str, Any], env: str, sources: Mapping[str, str]
) -> Iterator[tuple[str, int, int, str]]:
    """Yield a key, its number, the number that it may not exceed, and the key of that.

    Args:
        config: The study.
        here: The same as it is in one environment.
        env: That environment.
        sources: What each metric of the study is made from.
    """
    matched, episodes = here["matched"], here["sampling"]["episodes"]
    if SCORED & set(sources.values()):
        most = episodes, place(config, env, "sampling", "episodes")
        yield place(config, env, "matched", "scored"), matched["scored"], *most
    if "heated" in sources.values():
        most = matched["heated"], place(config, env, "matched", "heated")
        yield "metrics.k", here["metrics"]["k"], *most
