"""Where a policy's episodes came by: one visit for each of its turns."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope import tables
from turnscope.matched.pair import Pair
from turnscope.types import Budget, Turn

KEY = ["task_id", "state_key", "turn"]
"""What visits to one state share; all are played under one budget, so turns left agree."""
SAID = ["observation", "state_key", "action", "reward", "valid"]
"""A turn without its tokens, in the order of `Turn`."""


class Visits(NamedTuple):
    """All visits of one policy; turns of an episode lie together, in order."""

    source: str
    """Whose they are: `base` or `trained`."""
    columns: dict[str, npt.NDArray[Any]]
    """Scalar columns of table `turns`, with `seed`, `left`, and `file_row`: place in the file."""
    tokens: pd.DataFrame
    """`context_ids` and `action_ids` of each row of the file."""

    def at(self, row: int) -> dict[str, Any]:
        """Return one visit, in Python's own numbers; None where `best` is unknown."""
        known = {name: column[row : row + 1].tolist()[0] for name, column in self.columns.items()}
        return known | {"best": None if np.isnan(known["best"]) else known["best"]}

    def prefix(self, row: int) -> dict[str, list[Any]]:
        """Return the turns before a visit as columns of table `pool`."""
        rows = slice(row - int(self.columns["turn"][row]), row)
        tokens = self.tokens.iloc[self.columns["file_row"][rows]]
        return {
            "state_keys": self.columns["state_key"][rows].tolist(),
            "actions": self.columns["action"][rows].tolist(),
            "context_ids": tokens["context_ids"].tolist(),
            "action_ids": tokens["action_ids"].tolist(),
        }


def read(source: str, episodes: Path, turns: Path, budget: Budget) -> Visits:
    """Read the visits of a policy, without episodes whose environment failed.

    Args:
        source: Whose they are.
        episodes: Table `episodes`.
        turns: Table `turns` of the same episodes.
        budget: Under which they must have been played.

    Raises:
        ValueError: They were played under another budget.
    """
    heads = tables.read(episodes, "episodes", ["task_id", "sample", "seed", "budget", "told"])
    for turns_given, told in set(zip(heads["budget"], heads["told"], strict=True)):
        if (turns_given, told) != (budget.turns, budget.told):
            raise ValueError(
                f"{episodes}: played under {turns_given} turns, told {told}; "
                f"legal is what states are matched under, {budget.turns} and {budget.told}"
            )
    names = ["task_id", "sample", "turn", *SAID, "best", "success"]
    rows = tables.read(turns, "turns", names)
    rows["file_row"] = np.arange(len(rows))
    rows = rows[rows["success"].notna()].astype({"success": bool})
    rows = rows.merge(
        heads[["task_id", "sample", "seed"]], on=["task_id", "sample"], validate="many_to_one"
    )
    rows = rows.sort_values(["task_id", "sample", "turn"], kind="stable")
    rows["left"] = budget.turns - rows["turn"]
    columns = {str(name): _column(rows[name]) for name in rows}
    return Visits(source, columns, tables.read(turns, "turns", ["context_ids", "action_ids"]))


def _column(values: pd.Series) -> npt.NDArray[Any]:
    return values.to_numpy(object) if values.dtype == "str" else values.to_numpy()


def errors(pair: Pair, visits: Visits, rows: Sequence[int]) -> list[str]:
    """Name the definitions of an error that the action before each of some visits meets.

    Args:
        pair: Whose environment defines errors; if it does not, there are none.
        visits: All of one policy.
        rows: Which; at turn 0 there is no action before.

    Returns:
        For each, names separated by blanks.
    """
    judge: Any = getattr(pair.world, "errors", None)
    if judge is None:
        return [""] * len(rows)
    now_N = np.asarray(rows, dtype=np.int64)
    columns = visits.columns
    said = zip(*(columns[name][np.maximum(now_N - 1, 0)] for name in SAID), strict=True)
    places = zip(*(columns[name][now_N].tolist() for name in (*KEY, "left")), strict=True)
    return [
        " ".join(judge(pair.tasks[task_id], Turn(*action), key, left)) if turn else ""
        for (task_id, key, turn, left), action in zip(places, said, strict=True)
    ]
