"""Judge claims again in other ways: do their verdicts depend on how the headline was chosen?

A way to judge is a change of the estimates, after which the same rules are used. Rows that stand
for the headline are replaced by those of one training seed, of one source of states, or of one
definition of an error.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from turnscope import schemas
from turnscope.arms import seeded
from turnscope.claims import _judges
from turnscope.claims import _ledger as ledger
from turnscope.types import Arm

HEADLINE = "headline"
ON_STATES = ("C3a", "C3b", "C3c", "C3d")
"""Claims on matched states, which may be drawn from other sources."""
ON_ERRORS = ("C3b", "C3c")
"""Claims on states after an error, of which there are several definitions."""
SOURCES = ("base", "trained")
POOLED = ("mixture", "both")
"""Both sources as one pool, and the mean of the two; the headline of table `estimates`."""
ERROR, INJECTED = "error", "injected"
NOT_DEFINITIONS = ("all", "clean", ERROR, INJECTED)
BOTH = {"continuation_gap": "continuation_both"}
"""Metrics of single sources, and those that are their means over the sources."""


class Variant(NamedTuple):
    """Another way to judge."""

    name: str
    claims: tuple[str, ...]
    change: Callable[[pd.DataFrame], pd.DataFrame]
    """Gives the estimates to judge by."""


def judge(
    headline: Iterable[dict[str, Any]], estimates: pd.DataFrame, arms: Mapping[str, Arm]
) -> list[dict[str, Any]]:
    """Judge every claim in all ways that the estimates allow.

    Args:
        headline: Records of table `claims` by the same estimates.
        estimates: Rows of table `estimates`, all metrics, environments and models.
        arms: The arms of the study, by name.

    Returns:
        Records of table `robustness`, those of one claim and arm together, the headline first. A
        claim that was not run has none, nor has a way in which it cannot be judged. Means over
        environments are judged in one way only, and left out.
    """
    judged = [record for record in _run(headline) if record["env"] != ledger.EVERYWHERE]
    found = {_key(record): [_record(record, HEADLINE)] for record in judged}
    for variant in variants(estimates):
        codes = {record["code"] for record in judged if record["claim"] in variant.claims}
        modules = sorted(code.removeprefix("claims.") for code in codes)
        records = _judges.judge(variant.change(estimates), arms, modules) if modules else []
        for record in _run(records):
            if record["claim"] in variant.claims and _key(record) in found:
                found[_key(record)].append(_record(record, variant.name))
    return [record for records in found.values() for record in records]


def variants(estimates: pd.DataFrame) -> list[Variant]:
    """List the ways to judge beside the headline for which there are estimates."""
    named = (seeded(str(policy)) for policy in estimates["policy"].unique())
    numbers = sorted({one.seed for one in named if one})
    pairs = [str(part).split("/") for part in estimates["part"].dropna().unique()]
    sources = [name for name in SOURCES if name in {pair[0] for pair in pairs}]
    subsets = {pair[-1] for pair in pairs if pair[0] in POOLED}
    errors = sorted(subsets - {*NOT_DEFINITIONS}) + [INJECTED] * (INJECTED in subsets)
    return [
        *(Variant(f"seed {n}", tuple(ledger.BY_NAME), _by_seed(n)) for n in numbers),
        *(Variant(f"{name} states", ON_STATES, _by_source(name)) for name in sources),
        *(Variant(name, ON_ERRORS, _by_error(name)) for name in errors),
    ]


def _by_seed(number: int) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def change(estimates: pd.DataFrame) -> pd.DataFrame:
        named = {str(policy): seeded(str(policy)) for policy in estimates["policy"].unique()}
        arms = {name: one.arm for name, one in named.items() if one and one.seed == number}
        # which arm the others are compared with is no matter of the seed
        kept = (estimates["seeds"] == 0) | (estimates["metric"] == "between_arms")
        rows = estimates.loc[kept | estimates["policy"].isin(arms)]
        return rows.assign(**{name: rows[name].replace(arms) for name in ("policy", "against")})

    return change


def _by_source(source: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def change(estimates: pd.DataFrame) -> pd.DataFrame:
        first = estimates["part"].str.partition("/")[0]
        chosen = estimates.loc[first == source]
        pooled, mean = (
            chosen.assign(part=chosen["part"].str.replace(source, name, n=1)) for name in POOLED
        )
        mean = mean.loc[mean["metric"].isin(BOTH)]
        mean = mean.assign(metric=mean["metric"].replace(BOTH))
        return _joined([estimates.loc[~first.isin(POOLED)], pooled, mean])

    return change


def _by_error(name: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def change(estimates: pd.DataFrame) -> pd.DataFrame:
        subset = estimates["part"].str.partition("/")[2]
        chosen = estimates.loc[subset == name]
        renamed = chosen.assign(part=chosen["part"].str.removesuffix(name) + ERROR)
        return _joined([estimates.loc[subset != ERROR], renamed])

    return change


def _joined(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat([part for part in parts if len(part)], ignore_index=True)


def _run(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for record in records if record["verdict"] != ledger.NOT_RUN]


def _key(record: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(record[name] for name in ("claim", "env", "model", "policy"))


def _record(record: Mapping[str, Any], variant: str) -> dict[str, Any]:
    columns = [name for name in schemas.ROBUSTNESS.names if name != "variant"]
    return {name: record[name] for name in columns} | {"variant": variant}
