"""Estimates written out by hand, for judging claims."""

import pandas as pd

BASIC = {"env": "lake", "model": "nano", "policy": "grpo", "against": "base"}
COLUMNS = {name: float("nan") for name in ("value", "low", "high", "p_value")}


def gap(k: int, t: int, value: float, half: float = 0.02, metric: str = "pass_at_k") -> dict:
    """Write a difference whose intervals and bands are all the value plus and minus `half`."""
    ends = {
        f"{name}{end}": value + sign * half
        for name in ("", "band_t_", "band_k_")
        for end, sign in (("low", -1), ("high", 1))
    }
    return {"metric": metric, **BASIC, "k": k, "t": t, "value": value, **ends, "seeds": 3}


def headroom(t: int, value: float, half: float = 0.02) -> dict:
    """Write the distance between the bound and an arm at k = 8."""
    return {**gap(8, t, value, half, "headroom"), "against": None}


def crossover(turn: float | None, share: float) -> list[dict]:
    """Write T* at k = 8 and the share of draws in which the curves cross."""
    rows = {"crossover": turn, "crossover_reversal": share}
    return [{"metric": name, **BASIC, "k": 8, "value": x, "seeds": 3} for name, x in rows.items()]


def table(*rows: dict) -> pd.DataFrame:
    """Make a frame such as `tables.read` gives."""
    frame = pd.DataFrame(list(rows), columns=["metric", *BASIC, "k", "t", *rows[0]])
    frame = frame.loc[:, ~frame.columns.duplicated()]
    return frame.astype({"k": "Int32", "t": "Int32", "value": float})
