"""What is an error? Each definition of one, and what was found in the states that it chooses."""

from collections.abc import Mapping

import pandas as pd

from turnscope.types import Arm

SOURCES = ("step_quality", "recovery")
TITLE = "Error states by definition"
CAPTION = (
    "Matched states, from episodes of both policies, by what the action before was: all; error, it "
    "meets any definition; clean, it meets none; each definition alone; and injected, a worse "
    "action was put in. Better, tie, worse: shares of states by the mean quality of the arm's "
    "actions against base's, which tie if they differ by no more than the tie margin; better if "
    "identical, the share of better states after the actions of both policies were dealt out at "
    "random. Gap: mean difference in quality. Win: probability "
    "that an action of the arm is the better one, ties counting half; 0.5 is no difference. Minus "
    "clean: win, minus that in clean states. Continuation: success of the arm minus success of "
    "base when both play on from the same states, after prefixes of base and of the arm, and the "
    "mean of the two (both). Brackets: 95% intervals over tasks."
)
STEPS = {
    "step_states": "states",
    "step_better": "better",
    "step_tie": "tie",
    "step_worse": "worse",
    "step_tie_margin": "tie_margin",
    "step_better_null": "better_if_identical",
    "step_gap": "gap",
    "step_win": "win",
    "step_error_contrast": "minus_clean",
}
"""Metrics of `step_quality` in states of both policies, and the columns of the table."""
PLAYED_ON = {
    ("continuation_gap", "base"): "continuation_from_base",
    ("continuation_gap", "trained"): "continuation_from_arm",
    ("continuation_both", "both"): "continuation_both",
}
"""Metrics of `recovery` and whose prefixes, and the columns of the table."""
BARE = ("states", "tie_margin", "better_if_identical")
"""Columns that are shown without an interval."""
FIRST, LAST = ("all", "clean", "error"), ("injected",)
"""Subsets before and after the single definitions."""
KEYS = ["env", "model", "policy", "definition"]


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Gather what was found in matched states by definition of an error.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Not used.
        arms: The arms of the study by name, in order.

    Returns:
        One row for each environment, model, arm and definition: a column for each of `STEPS` and
        `PLAYED_ON`, with its interval; null where nothing was estimated.

    Raises:
        ValueError: There are no matched states.
    """
    rows = estimates.loc[estimates["policy"].isin([*arms]) & estimates["t"].isna()]
    where = rows["part"].astype(str).str.split("/").str
    rows = rows.assign(source=where[0], definition=where[-1])
    chosen = {
        **{(metric, "mixture"): name for metric, name in STEPS.items()},
        **PLAYED_ON,
    }
    parts = {
        name: rows.loc[(rows["metric"] == metric) & (rows["source"] == source)]
        for (metric, source), name in chosen.items()
    }
    if parts["states"].empty:
        raise ValueError("error_states: no comparison in matched states to show")
    table = pd.concat(parts.values())[KEYS].drop_duplicates()
    for name, part in parts.items():
        columns = {"value": name, "low": f"{name}_low", "high": f"{name}_high"}
        kept = ["value"] if name in BARE else [*columns]
        part = part[[*KEYS, *kept]].rename(columns=columns)
        table = table.merge(part, on=KEYS, how="left", validate="one_to_one")
    return _ordered(table, [*arms]).astype({"states": "Int64"})


def _ordered(table: pd.DataFrame, arms: list[str]) -> pd.DataFrame:
    """Sort by arm as in the study, and definitions between the subsets that are none."""
    names = sorted({*table["definition"]} - {*FIRST, *LAST})
    order = {name: place for place, name in enumerate([*FIRST, *names, *LAST])}
    places = table.assign(arm=table["policy"].map(arms.index), order=table["definition"].map(order))
    places = places.sort_values(["env", "model", "arm", "order"], ignore_index=True)
    return places.drop(columns=["arm", "order"])


def caption(frame: pd.DataFrame) -> str:
    """Describe the table to a reader who sees nothing else of the study.

    Args:
        frame: Result of `data`.
    """
    return CAPTION
