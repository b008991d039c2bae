"""What must hold of tasks, episodes and turns."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from turnscope.audits._played import Played, load
from turnscope.audits._results import Finding, Record, Results
from turnscope.types import StopReason

KEY = ("env", "model", "policy", "task_id", "sample", "success")
"""What each turn repeats of its episode."""
RARE = 20.7
"""-log of the probability, one in 10^9, below which too many successes are no chance any more."""
CLOSE = 1e-9
TINY = 1e-6
pc: Any = compute  # its functions are made when it is imported


def tasks(results: Results, record: Record, path: str) -> Iterator[Finding]:
    """Yield a wrong number of tasks, and bounds that no probability can have."""
    frame = results.table(path, "tasks")
    asked = record.spec.get("tasks", {})
    for split, rows in frame.groupby("split"):
        if split in asked and len(rows) != asked[split]:
            yield Finding("count", path, f"{len(rows)} {split} tasks, asked were {asked[split]}")
    for task_id, least, bound in zip(
        frame["task_id"], frame["min_turns"], frame["bound"], strict=True
    ):
        if bound is None:
            continue
        known = np.asarray(bound, float)
        if not ((known >= 0) & (known <= 1)).all() or (np.diff(known) < -CLOSE).any():
            yield Finding("bound", path, f"task {task_id}: its bound is no growing probability")
        elif not pd.isna(least) and (known[: int(least) - 1] > 0).any():
            yield Finding("bound", path, f"task {task_id}: its bound is above 0 before min_turns")


def episodes(results: Results, record: Record, path: str) -> Iterator[Finding]:
    """Yield episodes that contradict their turns, their end, or what any policy can do."""
    if not record.output("turns"):
        return
    played = load(results, record)
    heads = played.heads
    yield from _ends(heads, path)
    yield from _heat(results, played)
    lengths = heads["turns"].to_numpy(np.int64)
    if len(played.turns) != lengths.sum():
        detail = f"{lengths.sum()} turns by its episodes, {len(played.turns)} in table turns"
        yield Finding("turns", path, detail)
        return
    yield from _sums(played, lengths)
    yield from _tokens(played.turns, str(record.output("turns")))
    yield from _bounded(results, played)


def _ends(heads: pd.DataFrame, path: str) -> Iterator[Finding]:
    stop, success = heads["stop"], heads["success"]
    failed = stop == StopReason.ERROR
    checks = {
        "an end that there is not": ~stop.isin([*map(str, StopReason)]),
        "success is not what its end says": (success.fillna(False) != (stop == StopReason.SUCCESS))
        | (success.isna() != failed),
        "an error without a failure, or the reverse": heads["error"].notna() != failed,
        # A context may have no room for the first turn.
        "no turn, and no failure": (heads["turns"] < 1) & ~failed & (stop != StopReason.TOKENS),
    }
    for what, wrong in checks.items():
        if wrong.any():
            yield Finding("end", path, f"{what}: {_named(heads, wrong)}")


def _heat(results: Results, played: Played) -> Iterator[Finding]:
    asked = played.spec["temperature"]
    if asked is None and (heat := played.record.input("heat")):
        asked = float(results.table(heat, "heat")["temperature"].iloc[0])
    if asked is not None and (wrong := played.heads["temperature"] != asked).any():
        detail = f"temperature is not {asked}: {_named(played.heads, wrong)}"
        yield Finding("temperature", played.path, detail)


def _sums(played: Played, lengths: npt.NDArray[np.int64]) -> Iterator[Finding]:
    """Compare each episode with its turns, which must lie in its place."""
    names = [*KEY, "turn", "reward", "tokens", "valid"]
    turns, heads = played.turns.select(names).to_pandas(), played.heads
    owner = np.repeat(np.arange(len(heads)), lengths)
    for name in KEY:
        mine, theirs = turns[name].astype(object), heads[name].astype(object).iloc[owner]
        other = mine.to_numpy() != theirs.to_numpy()
        other &= ~(mine.isna().to_numpy() & theirs.isna().to_numpy())
        if other.any():
            detail = f"{name} of its turns is another: {_named(heads.iloc[owner], other)}"
            yield Finding("turns", played.path, detail)
    number = np.arange(len(turns)) - np.repeat(lengths.cumsum() - lengths, lengths)
    if (other := turns["turn"].to_numpy() != number).any():
        detail = f"turns are out of order: {_named(heads.iloc[owner], other)}"
        yield Finding("turns", played.path, detail)
    for name, amount in (
        ("reward", turns["reward"]),
        ("tokens", turns["tokens"]),
        ("invalid", ~turns["valid"]),
    ):
        total = np.bincount(owner, amount.to_numpy(float), minlength=len(heads))
        if (other := np.abs(total - heads[name].to_numpy(float)) > CLOSE).any():
            detail = f"{name} is not the sum over its turns: {_named(heads, other)}"
            yield Finding("sum", played.path, detail)


def _tokens(turns: pa.Table, path: str) -> Iterator[Finding]:
    """Yield tokens without a log-probability, log-probabilities that are none, odd qualities."""
    said = pc.fill_null(pc.list_value_length(turns["action_ids"]), 0)
    scored = pc.fill_null(pc.list_value_length(turns["logprobs"]), 0)
    tokens = turns["tokens"]
    logprobs = np.asarray(pc.list_flatten(turns["logprobs"]).to_numpy(), float)
    quality, best = (turns[name].to_numpy().astype(float) for name in ("quality", "best"))
    checks = {
        "another number of tokens than it says": not pc.all(pc.equal(said, tokens)).as_py(),
        "not as many log-probabilities as tokens": not pc.all(pc.equal(scored, said)).as_py(),
        "a log-probability above 0, or not finite": not (
            np.isfinite(logprobs) & (logprobs <= 0)
        ).all(),
        "a quality outside of 0 to 1": bool(((quality < 0) | (quality > 1)).any()),
        "a quality above the best": bool((quality > best + CLOSE).any()),
        "a quality without a best one": bool((np.isnan(quality) != np.isnan(best)).any()),
    }
    if len(turns):
        for what, wrong in checks.items():
            if wrong:
                yield Finding("turn", path, f"a turn has {what}")


def _bounded(results: Results, played: Played) -> Iterator[Finding]:
    """Yield successes that no policy can have: too early, or too many."""
    known = pd.DataFrame(
        [(task.task_id, task.min_turns) for task in played.tasks.values()],
        columns=["task_id", "least"],
    )
    heads = played.heads.merge(known, on="task_id", how="left", validate="many_to_one")
    solved = heads["success"].fillna(False).to_numpy(bool)
    if (early := solved & (heads["turns"] < heads["least"]).fillna(False).to_numpy(bool)).any():
        detail = f"solved in fewer turns than can be: {_named(heads, early)}"
        yield Finding("bound", played.path, detail)
    bounds = _bounds(results, played)
    for budget, rows in heads[heads["success"].notna()].groupby("budget"):
        top = np.array([bounds.get(name, np.ones(1))[:budget][-1] for name in rows["task_id"]])
        wins = rows["success"].to_numpy(float)
        if (wins > 0)[top == 0].any():
            yield Finding("bound", played.path, f"solved what cannot be, budget {budget}")
        excess, variance = wins.sum() - top.sum(), (top * (1 - top)).sum()
        # Bernstein's bound on a sum of independent episodes.
        if excess > TINY and excess**2 > 2 * RARE * (variance + excess / 3):
            detail = (
                f"budget {budget}: {wins.sum():.0f} solved; any policy, {top.sum():.1f} at most"
            )
            yield Finding("bound", played.path, detail)


def _bounds(results: Results, played: Played) -> dict[str, npt.NDArray[np.float64]]:
    """Read the bounds of tasks that have one."""
    for record, path in results.tables("tasks"):
        if record.spec.get("env") == played.spec["env"]:
            frame = results.table(path, "tasks", ["task_id", "bound"]).dropna()
            pairs = zip(frame["task_id"], frame["bound"], strict=True)
            return {name: np.asarray(bound, float) for name, bound in pairs if len(bound)}
    return {}


def _named(heads: pd.DataFrame, wrong: npt.ArrayLike) -> str:
    """Count wrong episodes and name the first."""
    some = np.asarray(wrong, bool)
    row = heads.iloc[int(some.argmax())]
    return f"{int(some.sum())} times, first at task {row['task_id']}, sample {row['sample']}"
