"""Which tasks did training gain and lose? Sets of solved tasks against the base model."""

from collections.abc import Mapping

import pandas as pd

from turnscope.arms import arm_of, is_seed, played_blind, trained
from turnscope.types import Arm

SOURCES = ("boundary",)
TITLE = "Solved sets"
CAPTION = (
    "Tasks that a policy solves in at least one of its episodes of at most T turns, at a quarter, "
    "half, three quarters and all of T_max; {samples} episodes of each of {tasks} test tasks. "
    "Gained: solved after training only; lost: solved by the base model only; numbers of tasks, "
    "mean over training seeds. By chance: how many tasks two policies that are alike swap each "
    "way, as both sets are those of finitely many episodes; likewise for SRR and NDR. p: that "
    "gains and losses are equally likely, from sign flips of tasks; by seed: gained : lost and the "
    "exact McNemar p. SRR: share of the base model's set that is kept. NDR: share of the trained "
    "policy's set that is new. SDS: their harmonic mean. NSCR: gained less lost, as a share of "
    "what either solves. Brackets: 95% intervals over tasks."
)
MEASURES = {
    "gained": "gained",
    "lost": "lost",
    "gained_null": "by_chance",
    "srr": "SRR",
    "srr_null": "SRR_by_chance",
    "ndr": "NDR",
    "ndr_null": "NDR_by_chance",
    "sds": "SDS",
    "nscr": "NSCR",
}
"""Metrics of `boundary` against base, and the columns of the table."""
KEYS = ["env", "model", "policy", "t"]
COLUMNS = [
    "env",
    "model",
    "policy",
    "trained",
    "t",
    "solved",
    "solved_low",
    "solved_high",
    "gained",
    "gained_low",
    "gained_high",
    "lost",
    "lost_low",
    "lost_high",
    "by_chance",
    "p",
    "by_seed",
    "SRR",
    "SRR_low",
    "SRR_high",
    "SRR_by_chance",
    "NDR",
    "NDR_low",
    "NDR_high",
    "NDR_by_chance",
    "SDS",
    "SDS_low",
    "SDS_high",
    "NSCR",
    "NSCR_low",
    "NSCR_high",
    "tasks",
    "samples",
]


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Gather what the set of solved tasks of each arm gained and lost.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Not used; all episodes count.
        arms: The arms of the study by name, in order.

    Returns:
        One row for each environment, model, policy and budget, columns `COLUMNS`; null for base
        but the share of tasks solved.

    Raises:
        ValueError: There is no solved set to tell of.
    """
    names = ["base", *arms]
    shares = estimates.loc[(estimates["metric"] == "solved_set") & estimates["policy"].isin(names)]
    if shares.empty:
        raise ValueError("solved_sets: no estimate of solved sets to show")
    level = {"value": "solved", "low": "solved_low", "high": "solved_high"}
    table = shares[[*KEYS, *level, "tasks", "samples"]].rename(columns=level)
    against = estimates.loc[estimates["against"] == "base"]
    for metric, name in MEASURES.items():
        columns = {"value": name, "low": f"{name}_low", "high": f"{name}_high"}
        part = against.loc[against["metric"] == metric, [*KEYS, *columns]].rename(columns=columns)
        table = table.merge(part, on=KEYS, how="left", validate="one_to_one")
    tested = against.loc[against["metric"] == "swap", [*KEYS, "p_value"]]
    tested = tested.rename(columns={"p_value": "p"})
    table = table.merge(tested, on=KEYS, how="left", validate="one_to_one")
    table = table.merge(_by_seed(against), on=KEYS, how="left", validate="one_to_one")
    table["trained"] = trained(table["policy"], arms)
    table["place"] = table["policy"].map(names.index)
    return table.sort_values(["env", "model", "place", "t"], ignore_index=True)[COLUMNS]


def _by_seed(against: pd.DataFrame) -> pd.DataFrame:
    """Write the swaps of every training seed, and their p-value, beside its arm."""
    seeds = against.loc[is_seed(against["policy"])]
    parts = {name: seeds.loc[seeds["metric"] == name] for name in ("gained", "lost", "swap")}
    table = parts["swap"][[*KEYS, "p_value"]]
    for name in ("gained", "lost"):
        counts = parts[name][[*KEYS, "value"]].rename(columns={"value": name})
        table = table.merge(counts, on=KEYS, validate="one_to_one")
    table["by_seed"] = [
        f"{row['gained']:.0f}:{row['lost']:.0f} (p {row['p_value']:.2g})"
        for row in table.to_dict("records")
    ]
    table = table.sort_values("policy").assign(policy=table["policy"].map(arm_of))
    return table.groupby(KEYS, as_index=False).agg(by_seed=("by_seed", "; ".join))


def caption(frame: pd.DataFrame) -> str:
    """Describe the table to a reader who sees nothing else of the study.

    Args:
        frame: Result of `data`.
    """
    sizes = {name: _span(frame[name]) for name in ("tasks", "samples")}
    told = frame.loc[frame["trained"] == "told", "policy"].drop_duplicates()
    return CAPTION.format(**sizes) + played_blind(told)


def _span(counts: pd.Series) -> str:
    least, most = int(counts.min()), int(counts.max())
    return str(most) if least == most else f"{least} to {most}"
