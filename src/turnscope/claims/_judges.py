"""Judge all claims: the whole ledger of a study, or what some evaluators say.

An evaluator is a module of this folder with `judge(estimates, arms)`.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pandas as pd

from turnscope import registry
from turnscope.arms import seeded
from turnscope.claims import _ledger as ledger
from turnscope.types import Arm

TEXTS = ("metric", "env", "model", "policy", "against", "part")
MISSING = "Turnscope has no evaluator for this claim yet, or no estimate that it needs"


def assemble(
    estimates: pd.DataFrame,
    arms: Mapping[str, Arm],
    figures: Collection[str] = (),
    summaries: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Judge every claim by every evaluator, and list the claims that none could judge.

    Args:
        estimates: Rows of table `estimates`, all metrics, environments and models.
        arms: The arms of the study, by name.
        figures: Those that the study draws; a claim names no other.
        summaries: Those that the study makes.

    Returns:
        Records of table `claims` in the order of declaration and of the study: one for each
        environment, model and arm that was judged, or a single `not run`.

    Raises:
        ValueError: There are estimates of an arm that is not one of the study.
    """
    trained = {str(policy) for policy in estimates.loc[estimates["seeds"] > 0, "policy"].unique()}
    if unknown := sorted({one for one in trained if not seeded(one)} - set(arms)):
        raise ValueError(f"arm {unknown[0]!r} has estimates; arms of the study: {', '.join(arms)}")
    found = judge(estimates, arms, registry.names("claims"))
    judged = {record["claim"] for record in found}
    others = [name for name in ledger.BY_NAME if name not in judged]
    found += [ledger.row(name, ledger.NOT_RUN, MISSING) for name in others]
    made = {"figure": figures, "summary": summaries}
    return [
        record | {kind: record[kind] if record[kind] in made[kind] else None for kind in made}
        for record in _ordered(found, list(arms))
    ]


def judge(
    estimates: pd.DataFrame, arms: Mapping[str, Arm], evaluators: Iterable[str]
) -> list[dict[str, Any]]:
    """Judge claims by some evaluators.

    Args:
        estimates: Rows of table `estimates`.
        arms: The arms of the study, by name.
        evaluators: Modules in `turnscope.claims`.

    Returns:
        Records of table `claims`, each with the module that judged it.
    """
    # evaluators compare texts again and again; as categories that is several times faster
    lean = estimates.astype(dict.fromkeys(TEXTS, "category"))
    return [
        record | {"code": f"claims.{name}"}
        for name in evaluators
        for record in registry.load("claims", name).judge(lean, arms)
    ]


def _ordered(records: Iterable[dict[str, Any]], arms: list[str]) -> list[dict[str, Any]]:
    """Sort records by claim, environment, model and arm."""
    claims, policies = list(ledger.BY_NAME), [None, *arms]

    def key(record: dict[str, Any]) -> tuple[int, str, str, int]:
        place, where = claims.index(record["claim"]), (str(record["env"]), str(record["model"]))
        return place, *where, policies.index(record["policy"])

    return sorted(records, key=key)
