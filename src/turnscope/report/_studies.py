"""The tables of main numbers, of the self-test and of endings, by environment and model."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from turnscope.arms import is_seed, played_blind, seeded
from turnscope.report._words import interval, length, number, percent, span
from turnscope.types import Arm

ENDINGS = {
    "share_success": "solved",
    "share_failure": "lost",
    "share_budget": "out of turns",
    "share_tokens": "out of tokens",
    "share_error": "environment failed",
}
"""Metrics of how episodes ended, and what the reader sees."""
LENGTHS = {"turns": "turns", "tokens": "tokens", "invalid": "invalid turns"}
"""Metrics of how long episodes were, and what the reader sees."""


def studies(estimates: pd.DataFrame, k: int, arms: Mapping[str, Arm]) -> list[dict[str, Any]]:
    """Write the tables of every environment and model.

    Args:
        estimates: Rows of `estimates`.
        k: The K at which depth is studied.
        arms: The arms of the study by name, in order.

    Returns:
        What the template needs, model by model.
    """
    panels = estimates.loc[:, ["env", "model"]].drop_duplicates().sort_values(["model", "env"])
    return [
        study
        for env, model in panels.itertuples(index=False)
        if (
            study := _study(
                estimates.loc[(estimates["env"] == env) & (estimates["model"] == model)],
                f"{env} · {model}",
                k,
                arms,
            )
        )
    ]


def _study(rows: pd.DataFrame, name: str, k: int, arms: Mapping[str, Arm]) -> dict[str, Any] | None:
    levels = rows.loc[(rows["metric"] == "pass_at_k") & rows["against"].isna()]
    if levels.empty:
        return None
    t_max = max(levels.loc[:, "t"].astype(int))
    table = {
        (row["metric"], row["policy"], _key(row["against"]), _key(row["k"]), _key(row["t"])): row
        for row in rows.to_dict("records")
    }
    columns = {
        f"Pass@(1, {t_max})": ("pass_at_k", None, 1, t_max),
        f"Pass@({k}, {t_max})": ("pass_at_k", None, k, t_max),
        f"pass^({k}, {t_max})": ("pass_hat_k", None, k, t_max),
        f"budget AUC, k = {k}": ("budget_auc", None, k, None),
        "lead, k = 1": ("pass_at_k", "base", 1, t_max),
        "over seeds, k = 1": ("over_seeds", "base", 1, t_max),
        f"lead, k = {k}": ("pass_at_k", "base", k, t_max),
        f"over seeds, k = {k}": ("over_seeds", "base", k, t_max),
    }
    policies = _ordered(set(levels.loc[~is_seed(levels["policy"]), "policy"]), arms)
    cells = {
        policy: [
            _cell(table.get((metric, policy, *where)), sign=where[0] is not None)
            for metric, *where in columns.values()
        ]
        for policy in policies
    }
    blind = played_blind(name for name, arm in arms.items() if arm.told and name in cells)
    shown = [i for i in range(len(columns)) if any(row[i][0] for row in cells.values())]
    counts = {what: sorted(set(levels[what].astype(int)) - {0}) for what in ("tasks", "samples")}
    return {
        "name": name,
        "heads": [list(columns)[i] for i in shown],
        "rows": [(policy, [row[i] for i in shown]) for policy, row in cells.items()],
        "caption": f"{span(counts['tasks'])} test tasks, {span(counts['samples'])} episodes of "
        f"each by each policy, T_max = {t_max} turns, {max(levels['seeds'])} training seeds."
        + blind,
        "blind": blind.strip(),
        "selftest": _selftest(rows, arms),
        "endings": _endings(rows, arms),
    }


def _selftest(rows: pd.DataFrame, arms: Mapping[str, Arm]) -> list[dict[str, Any]]:
    """Say at which budgets truncated episodes were shown to agree with those played anew."""
    tested = rows.loc[rows["metric"] == "truncation_equivalence"]
    order = _ordered(set(tested["policy"]), arms)
    tested = tested.assign(place=tested["policy"].map(order.index)).sort_values(["place", "k", "t"])
    differs = {
        (row["policy"], row["k"], row["t"]): row["p_value"]
        for row in rows.loc[rows["metric"] == "truncation"].to_dict("records")
    }
    return [
        {
            "policy": row["policy"],
            "k": row["k"],
            "t": row["t"],
            "tasks": row["tasks"],
            "value": number(row["value"], sign=True),
            "interval": interval(row["low"], row["high"], sign=True),
            "p_equal": number(differs[row["policy"], row["k"], row["t"]]),
            "agrees": "yes" if row["p_value"] < 0.05 else "not shown",
        }
        for row in tested.to_dict("records")
    ]


def _endings(rows: pd.DataFrame, arms: Mapping[str, Arm]) -> list[tuple[str, list[str]]]:
    """Write the shares of `ENDINGS` and the lengths of episodes for every policy and seed."""
    found = {
        (row["policy"], row["metric"]): row
        for row in rows.to_dict("records")
        if row["metric"] in {*ENDINGS, *LENGTHS}
    }
    policies = _ordered({policy for policy, _ in found}, arms)
    return [
        (
            policy,
            [percent(found[policy, name]["value"]) for name in ENDINGS]
            + [length(found[policy, name]["value"]) for name in LENGTHS]
            + [str(found[policy, "share_error"]["tasks"] - found[policy, "turns"]["tasks"])],
        )
        for policy in policies
    ]


def _ordered(policies: set[str], arms: Mapping[str, Arm]) -> list[str]:
    """Sort policies: base, the arms of the study each before its seeds, then others."""
    places = {name: place for place, name in enumerate(["base", *arms])}

    def key(policy: str) -> tuple[int, str, int]:
        arm, seed = seeded(policy) or (policy, -1)
        return places.get(arm, len(places)), arm, seed

    return sorted(policies, key=key)


def _key(value: Any) -> Any:
    return None if pd.isna(value) else value


def _cell(row: dict[Any, Any] | None, sign: bool) -> tuple[str, str]:
    if row is None or pd.isna(row["value"]):
        return "", ""
    return number(row["value"], sign), interval(row["low"], row["high"], sign)
