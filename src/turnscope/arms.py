"""The arms of a study, for those who compare them: in its order, and how each was trained."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from turnscope.types import Arm

SEEDED = re.compile(r"(?P<arm>.+)-s(?P<seed>\d+)")


class Seeded(NamedTuple):
    """A trained policy: one training seed of an arm."""

    arm: str
    seed: int


def seeded(policy: str) -> Seeded | None:
    """Read the name of a policy, such as `grpo-s0`; None if it names no training seed."""
    match = SEEDED.fullmatch(policy)
    return Seeded(match["arm"], int(match["seed"])) if match else None


def is_seed(policies: pd.Series) -> pd.Series:
    """Say which policies are of a single training seed."""
    return policies.str.fullmatch(SEEDED.pattern)


def arm_of(policy: str) -> str:
    """Return the arm of a training seed; another name stays as it is."""
    one = seeded(policy)
    return one.arm if one else policy


def listed(arms: Sequence[Sequence[Any]]) -> dict[str, Arm]:
    """Read the arms of a specification, which lists them to keep their order.

    Args:
        arms: Name, algorithm and whether it is told the turns left, of each arm.

    Returns:
        By name, in the same order.
    """
    return {name: Arm(name, algorithm, told) for name, algorithm, told in arms}


def trained(policies: pd.Series, arms: Mapping[str, Arm]) -> pd.Series:
    """Say of arms how they were trained.

    Args:
        policies: Names of arms; other names were not trained here.
        arms: The arms of the study.

    Returns:
        `told` or `blind`, whether the turns left were shown; null for others.
    """
    ways = {arm.name: "told" if arm.told else "blind" for arm in arms.values()}
    return policies.map(ways).astype(object)


def played_blind(told: Iterable[str]) -> str:
    """Warn in a sentence that arms are played otherwise than they were trained.

    Args:
        told: Arms that were trained seeing the turns left.

    Returns:
        The sentence after a blank; empty if there are none.
    """
    names = list(told)
    if not names:
        return ""
    are, they = ("is", "it was") if len(names) == 1 else ("are", "they were")
    return (
        f" {', '.join(names)} {are} played blind here, without the turns left {they} trained with."
    )
