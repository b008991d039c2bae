"""What does training under mixed budgets gain at each budget? Every arm against the reference."""

from collections.abc import Mapping

import pandas as pd

from turnscope import budgets, intervals
from turnscope.arms import trained
from turnscope.types import Arm

SOURCES = ("pass_at_kt", "between_arms", "awareness", "schooling")
TITLE = "Arms at the quarters of the turn budget"
CAPTION = (
    "Pass@({k}, T) at a quarter, half, three quarters and all of T_max{compared}. Brackets: 95% "
    "intervals over tasks. Told: played for that budget with the turns left shown; trained says "
    "whether they were shown in training. Tokens trained: sampled in training, mean over seeds."
    "{taught}"
)
COMPARED = (
    ", and the difference to {reference} on the same tasks; p is from sign flips of tasks. Over "
    "seeds: the same difference, with the 95% t interval and p over {seeds}. Holm: p corrected for "
    "the budgets of an arm. Not inferior: lower end of the one-sided 95% interval over seeds, "
    "above −{margin} for an arm that is not inferior. No row that is told is compared, nor a blind "
    "one of an arm that was trained told"
)
TAUGHT = " Trained told: {}, in blind rows without the turns left that it was trained with."
TOLD = "told"
PARTS = {
    "between_arms": {
        "value": "difference",
        "low": "difference_low",
        "high": "difference_high",
        "p_value": "p",
    },
    "between_arms_seeds": {
        "value": "over_seeds",
        "low": "over_seeds_low",
        "high": "over_seeds_high",
        "p_value": "p_seeds",
        "seeds": "seeds",
    },
    "between_arms_lower": {"low": "not_inferior"},
    "between_arms_holm": {"value": "p_holm"},
    "between_arms_seeds_holm": {"value": "p_seeds_holm"},
}
"""Metrics beside the level, and what their columns are called in the table."""
WHO = ["env", "model", "policy"]
KEYS = [*WHO, "t"]
COLUMNS = [
    "env",
    "model",
    "policy",
    "trained",
    "played",
    "share",
    "t",
    "pass",
    "pass_low",
    "pass_high",
    "difference",
    "difference_low",
    "difference_high",
    "p",
    "p_holm",
    "over_seeds",
    "over_seeds_low",
    "over_seeds_high",
    "p_seeds",
    "p_seeds_holm",
    "not_inferior",
    "seeds",
    "tokens_trained",
    "reference",
    "k",
]


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Gather levels and differences to the reference arm at the quarters of T_max.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Episodes per task, the K of Pass@(K,T).
        arms: The arms of the study by name, in order.

    Returns:
        One row for each environment, model, policy, way of playing and budget, columns
        `COLUMNS`; null where nothing was estimated.

    Raises:
        ValueError: There is no estimate with this k.
    """
    names = ["base", *arms]
    rows = estimates.loc[(estimates["k"] == k) & estimates["policy"].isin(names)]
    table = _levels(rows)
    if table.empty:
        raise ValueError(f"budget_mix: no estimate of Pass@(k,T) with k={k} to show")
    told_arms = [arm.name for arm in arms.values() if arm.told]
    fair = rows.loc[~rows["policy"].isin(told_arms) & ~rows["against"].isin(told_arms)]
    for metric, columns in PARTS.items():
        part = fair.loc[fair["metric"] == metric, [*KEYS, *columns]].rename(columns=columns)
        table = table.merge(part.assign(played="blind"), on=[*KEYS, "played"], how="left")
    tokens = estimates.loc[estimates["metric"] == "tokens_trained", [*WHO, "value"]]
    tokens = tokens.rename(columns={"value": "tokens_trained"})
    table = table.merge(tokens, on=WHO, how="left", validate="many_to_one")
    compared = fair.loc[fair["metric"] == "between_arms", ["env", "model", "against"]]
    compared = compared.drop_duplicates().rename(columns={"against": "reference"})
    table = table.merge(compared, on=["env", "model"], how="left", validate="many_to_one")
    table["seeds"] = table["seeds"].astype("Int64")
    table["trained"] = trained(table["policy"], arms)
    table["place"] = table["policy"].map(names.index)
    order = table.sort_values(["env", "model", "place", "played", "t"], ignore_index=True)
    return order[COLUMNS]


def _levels(rows: pd.DataFrame) -> pd.DataFrame:
    """Lay out Pass@(k,T) at the quarters, blind and told."""
    blind = rows.loc[(rows["metric"] == "pass_at_k") & rows["against"].isna()]
    if blind.empty:
        return blind
    blind = pd.concat(_at_quarters(part) for _, part in blind.groupby(["env", "model"]))
    told = rows.loc[(rows["metric"] == TOLD) & rows["value"].notna()]
    told = told.merge(blind.loc[:, ["env", "model", "t", "share"]].drop_duplicates())
    table = pd.concat([blind.assign(played="blind"), told.assign(played=TOLD)])
    levels = {"value": "pass", "low": "pass_low", "high": "pass_high"}
    return table.loc[:, [*KEYS, "k", "share", "played", *levels]].rename(columns=levels)


def _at_quarters(levels: pd.DataFrame) -> pd.DataFrame:
    turns = budgets.grid(budgets.QUARTERS, int(levels["t"].max()))
    # of two shares that are the same number of turns, the larger one names it
    shares = dict(zip(turns, budgets.QUARTERS, strict=True))
    chosen = levels.loc[levels["t"].isin(turns)]
    return chosen.assign(share=chosen["t"].map(shares).astype(float))


def caption(frame: pd.DataFrame) -> str:
    """Describe the table to a reader who sees nothing else of the study.

    Args:
        frame: Result of `data`.
    """
    references, seeds = frame["reference"].dropna(), frame["seeds"].dropna()
    told = frame.loc[frame["trained"] == "told", "policy"].drop_duplicates()
    known = {"k": frame["k"].iloc[0], "taught": TAUGHT.format(", ".join(told)) if len(told) else ""}
    if references.empty:
        return CAPTION.format(compared="", **known)
    most = int(seeds.max()) if len(seeds) else 0
    compared = COMPARED.format(
        reference=references.iloc[0],
        seeds=f"{most} training seed{'s' if most != 1 else ''}",
        margin=intervals.NONINFERIORITY,
    )
    return CAPTION.format(compared=compared, **known)
