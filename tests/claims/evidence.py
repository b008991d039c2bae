"""Estimates written out by hand, for judging claims."""

import numpy as np
import pandas as pd

from turnscope import intervals
from turnscope.types import Arm

ARMS = {
    one.name: one
    for one in (
        Arm("grpo", "grpo", False),
        Arm("gigpo", "gigpo", False),
        Arm("gigpo_left", "gigpo", False),
        Arm("oracle_process", "oracle_process", False),
        Arm("ppo", "ppo", False),
        Arm("budget_mix", "budget_mix", False),
        Arm("budget_mix_fine", "budget_mix", False),
        Arm("budget_mix_told", "budget_mix", True),
    )
}
"""A study in which two algorithms are trained in several ways, one of them told its budget."""
BASIC = {"env": "lake", "model": "nano", "policy": "grpo", "against": "base"}
COLUMNS = {name: float("nan") for name in ("value", "low", "high", "p_value")}


BAND_T, BAND_K = 1.25, 1.5
"""Widths of the bands against that of the interval."""


def gap(k: int, t: int, value: float, half: float = 0.02, metric: str = "pass_at_k") -> dict:
    """Write a difference whose interval is the value plus and minus `half`, and its wider bands.

    As in the study, only `pass_at_k` has bands.
    """
    none = float("nan")
    widths = {"": half, "band_t_": BAND_T * half, "band_k_": BAND_K * half}
    ends = {
        f"{name}{end}": value + sign * (width if metric == "pass_at_k" or not name else none)
        for name, width in widths.items()
        for end, sign in (("low", -1), ("high", 1))
    }
    return {"metric": metric, **BASIC, "k": k, "t": t, "value": value, **ends, "seeds": 3}


def holm(metric: str, *rows: dict) -> list[dict]:
    """Adjust the p-values of some rows, as the metrics do."""
    adjusted = intervals.holm(np.array([row["p_value"] for row in rows]))
    return [
        {**row, "metric": metric, "value": p, "p_value": p, "low": None, "high": None}
        for row, p in zip(rows, adjusted, strict=True)
    ]


def headroom(t: int, value: float, half: float = 0.02) -> dict:
    """Write the distance between the bound and an arm at k = 8."""
    return {**gap(8, t, value, half, "headroom"), "against": None}


def crossover(turn: float | None, share: float) -> list[dict]:
    """Write T* at k = 8 and the share of draws in which the curves cross."""
    rows = {"crossover": turn, "crossover_reversal": share}
    return [{"metric": name, **BASIC, "k": 8, "value": x, "seeds": 3} for name, x in rows.items()]


def table(*rows: dict) -> pd.DataFrame:
    """Make a frame such as `tables.read` gives."""
    named = dict.fromkeys(name for row in rows for name in row)
    columns = dict.fromkeys(["metric", *BASIC, "part", "k", "t", "seeds", *COLUMNS, *named])
    frame = pd.DataFrame(list(rows), columns=list(columns))
    return frame.astype({"k": "Int32", "t": "Int32", "value": float})
