"""Nothing that was trained on was tested on, and every episode kept to its budget and its noise.

Tasks are compared by what they pose, not by name. The noise of each episode is computed anew from
its name: noise for measuring is named otherwise than noise for training, so where it is what its
name says, no training met it.
"""

import json
from collections.abc import Iterator
from typing import Any

import pandas as pd

from turnscope.audits._played import Played, artifacts, begun, load
from turnscope.audits._results import Finding, Outcome, Record, Results, Settings, each
from turnscope.types import StopReason

MEASURED = ("episodes", "states", "progress", "pool", "actions", "continuations", "likelihood")
"""Tables of what was done at test tasks."""
SPLITS = ("train", "test")


def check(results: Results, settings: Settings) -> Outcome:
    """Look at all tasks, and at all episodes without playing them."""
    del settings
    posed = list(results.tables("tasks"))
    homes = {record.spec.get("env"): path for record, path in posed}
    measured = [(one, path, name) for name in MEASURED for one, path in results.tables(name)]
    played = list(artifacts(results))
    found = each(posed, lambda one: _splits(results, *one))
    found += each(measured, lambda one: _tested(results, one[0], one[1], one[2], homes))
    found += each(played, lambda one: _kept(load(results, one[0])))
    return Outcome(len(posed) + len(measured) + len(played), "tables", found)


def _splits(results: Results, record: Record, path: str) -> Iterator[Finding]:
    """Yield tasks that are posed twice, within a split or in both."""
    del record
    frame = results.table(path, "tasks", ["task_id", "split", "payload"])
    for task_id in frame.loc[frame["task_id"].duplicated(), "task_id"]:
        yield Finding("duplicate", path, f"two tasks are called {task_id}")
    for split in sorted({*frame["split"]} - {*SPLITS}):
        yield Finding("split", path, f"split {split!r}; legal is train or test")
    first: dict[str, tuple[str, str]] = {}
    for task_id, split, payload in frame.itertuples(index=False, name=None):
        other, home = first.setdefault(_content(task_id, payload), (task_id, split))
        if other != task_id:
            check = "duplicate" if home == split else "leak"
            yield Finding(check, path, f"{split} task {task_id} is {home} task {other}")


def _content(task_id: str, payload: str) -> str:
    """Spell what a task poses, without its name and equal for equal values."""
    content = json.loads(payload)
    if isinstance(content, dict):
        content = {key: value for key, value in content.items() if value != task_id}
    return json.dumps(content, sort_keys=True)


def _tested(
    results: Results, record: Record, path: str, name: str, homes: dict[Any, str]
) -> Iterator[Finding]:
    """Yield tasks of a measurement that are not to be measured at."""
    env = record.spec.get("env")
    if env not in homes:
        yield Finding("unknown", path, f"no tasks of environment {env!r} are there")
        return
    used = {*results.table(path, name, ["task_id"])["task_id"].unique()}
    if other := sorted(used - results.known(homes[env]).keys()):
        yield Finding("leak", path, f"{len(other)} of its tasks are no test tasks: {other[0]}")


def _kept(played: Played) -> Iterator[Finding]:
    """Yield what is amiss with budgets, noise and number of episodes."""
    heads, spec, path = played.heads, played.spec, played.path
    asked = begun(played)
    names = [str(name) for name in asked]
    if len(heads) != len(asked):
        yield Finding("count", path, f"{len(heads)} episodes; its specification asks {len(asked)}")
    else:
        for name in names:
            if (other := heads[name].to_numpy() != asked[name].to_numpy()).any():
                row = heads.iloc[int(other.argmax())]
                named = f"task {row['task_id']}, sample {row['sample']}"
                detail = f"{named}: {name} is {row[name]}, must be {asked[name][other.argmax()]}"
                yield Finding("begin", path, detail)
    limit = spec["budget"]["tokens"]
    checks = {
        "longer than its budget, turns": heads["turns"] > heads["budget"],
        "more tokens than its budget": heads["tokens"] > (limit or float("inf")),
        "shorter than its budget, which ended it": (heads["stop"] == StopReason.BUDGET)
        & (heads["turns"] != heads["budget"]),
    }
    yield from _rows(path, heads, checks)
    tokens = int(played.turns["tokens"].to_numpy().max(initial=0))
    if tokens > spec["budget"]["turn_tokens"]:
        yield Finding("budget", path, f"a turn of {tokens} tokens; legal is {spec['budget']}")


def _rows(path: str, heads: pd.DataFrame, checks: dict[str, pd.Series]) -> Iterator[Finding]:
    for what, wrong in checks.items():
        if wrong.any():
            row = heads[wrong].iloc[0]
            named = f"task {row['task_id']}, sample {row['sample']}"
            yield Finding("budget", path, f"{int(wrong.sum())} episodes: {what}; first {named}")
