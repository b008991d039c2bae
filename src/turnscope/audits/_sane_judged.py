"""What must hold of estimates, and of what is judged by them."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from turnscope.audits._results import Finding, Record, Results

CLOSE = 1e-9
KEY = ["metric", "env", "model", "policy", "against", "part", "k", "t"]
SHARES = ("pass_at_k", "pass_hat_k", "avg_at_n", "bound")
"""Metrics that are success probabilities, if they are no differences."""
GROWS = {"pass_at_k": 1, "pass_hat_k": -1, "bound": 1}
"""Whether more episodes make more of a metric, or less; more turns make more of all of them."""
VERDICTS = ("reproduced", "holds", "contradicted", "inconclusive", "not run")
BIASED = ("nll_overlap",)
"""Metrics that chance moves to one side, so that few tasks may leave them outside of the draws."""
PAIRS = (("low", "high"), ("band_t_low", "band_t_high"), ("band_k_low", "band_k_high"))


def estimates(results: Results, record: Record, path: str) -> Iterator[Finding]:
    """Yield estimates outside of their intervals or of what they can be, or out of order."""
    del record
    rows = results.table(path, "estimates")
    yield from _intervals(rows, path)
    if (twice := rows.duplicated(KEY)).any():
        yield Finding("row", path, f"two rows of one estimate: {_named(rows, twice)}")
    odd = ~rows["p_value"].dropna().between(0, 1)
    if odd.any():
        yield Finding("value", path, f"a p-value that is none: {_named(rows.loc[odd.index], odd)}")
    levels = rows[rows["against"].isna() & rows["part"].isna()]
    shares = levels[levels["metric"].isin(SHARES) & levels["value"].notna()]
    if (odd := ~shares["value"].between(-CLOSE, 1 + CLOSE)).any():
        yield Finding("value", path, f"a share that is none: {_named(shares, odd)}")
    yield from _ordered(shares, path)
    yield from _differences(rows, path)


def _ordered(shares: pd.DataFrame, path: str) -> Iterator[Finding]:
    """Yield Pass@(K,T) that falls where it cannot, and Pass@1 that is not the mean success."""
    for metric, sign in GROWS.items():
        rows = shares[shares["metric"] == metric]
        for axis, other, way in (("t", "k", 1), ("k", "t", sign)):
            ordered = rows.sort_values([axis])
            step = ordered.groupby(["policy", other], dropna=False)["value"].diff()
            # Nobody is asked for more episodes than every task has: the tasks may differ.
            same = ordered.groupby(["policy", other], dropna=False)["tasks"].diff() == 0
            if (wrong := (way * step < -CLOSE) & same).any():
                detail = f"{metric} is not monotone in {axis}: {_named(ordered, wrong)}"
                yield Finding("order", path, detail)
    index = ["policy", "t"]
    first = shares[(shares["metric"] == "pass_at_k") & (shares["k"] == 1)].set_index(index)["value"]
    mean = shares[shares["metric"] == "avg_at_n"].set_index(index)["value"]
    if (apart := (first - mean).abs().dropna() > CLOSE).any():
        yield Finding("order", path, f"pass_at_1 is not avg_at_n: {apart.idxmax()}")


def _differences(rows: pd.DataFrame, path: str) -> Iterator[Finding]:
    """Yield differences of Pass@k that are not those of the levels in the same table."""
    some = rows[(rows["metric"] == "pass_at_k") & rows["part"].isna()]
    names = ["policy", "k", "t"]
    levels = some[some["against"].isna()].set_index(names)[["value", "tasks"]]
    gaps = some[some["against"].notna()]
    left, right = (
        levels.reindex(pd.MultiIndex.from_frame(gaps[[who, "k", "t"]], names=names))
        for who in ("policy", "against")
    )
    same = (left["tasks"].to_numpy() == gaps["tasks"].to_numpy()) & (
        right["tasks"].to_numpy() == gaps["tasks"].to_numpy()
    )
    gap = left["value"].to_numpy(float) - right["value"].to_numpy(float)
    wrong = same & (np.abs(gap - gaps["value"].to_numpy(float)) > CLOSE)
    if wrong.any():
        yield Finding("value", path, f"no difference of the two levels: {_named(gaps, wrong)}")


def claims(results: Results, record: Record, path: str) -> Iterator[Finding]:
    """Yield verdicts that there are not."""
    del record
    rows = results.table(path, "claims")
    yield from _intervals(rows, path)
    if other := sorted({*rows["verdict"]} - {*VERDICTS}):
        yield Finding("verdict", path, f"verdict {other[0]!r}; legal is {', '.join(VERDICTS)}")


def robustness(results: Results, record: Record, path: str) -> Iterator[Finding]:
    """Yield headlines that are not those of the claims beside them."""
    rows = results.table(path, "robustness")
    yield from _intervals(rows, path)
    beside = record.output("claims")
    if beside is None:
        return
    cell = ["claim", "env", "model", "policy"]
    headline = rows[rows["variant"] == "headline"]
    judged = results.table(beside, "claims", [*cell, "value", "verdict"])
    both = headline.merge(judged, on=cell, how="left", suffixes=(None, "_claims"))
    if (other := both["verdict"] != both["verdict_claims"]).any():
        yield Finding("verdict", path, f"not that of the claims: {_named(both, other)}")
    if (both["value"] - both["value_claims"]).abs().max() > CLOSE:
        yield Finding("value", path, "a headline's value is not that of the claims")


def calibration(results: Results, record: Record, path: str) -> Iterator[Finding]:
    """Yield rates that are not those of the counts beside them."""
    rows = results.table(path, "calibration")
    wrong = (rows["found"] / rows["studies"] - rows["rate"]).abs() > CLOSE
    wrong |= (rows["rate"] < rows["low"] - CLOSE) | (rows["rate"] > rows["high"] + CLOSE)
    if wrong.any():
        yield Finding("value", path, f"no rate of its counts: {rows['family'][wrong.argmax()]}")
    del record


def _intervals(rows: pd.DataFrame, path: str) -> Iterator[Finding]:
    for low, high in PAIRS:
        if low in rows:
            out = (rows["value"] < rows[low] - CLOSE) | (rows["value"] > rows[high] + CLOSE)
            if "metric" in rows:
                out &= ~rows["metric"].isin(BIASED)
            out |= rows[low] > rows[high] + CLOSE
            if out.any():
                yield Finding("interval", path, f"outside of its interval: {_named(rows, out)}")


def _named(rows: pd.DataFrame, wrong: object) -> str:
    """Count wrong rows and name the first."""
    some = np.asarray(wrong, bool)
    row = rows.iloc[int(some.argmax())]
    names = [name for name in ("metric", "claim", "policy", "k", "t") if name in rows]
    return f"{int(some.sum())} times, first {', '.join(f'{name} {row[name]}' for name in names)}"
