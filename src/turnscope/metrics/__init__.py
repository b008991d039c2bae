"""Estimates with intervals, one file each: `estimate(tasks, rows, settings)` gives their rows.

All metrics share one contract. `tasks` is a frame of that table, and `rows` is one of the table
that the metric names by a literal `SOURCE` on the top level of its file, a key of `COLUMNS`;
without it, `episodes`. Both are of one environment and one model: all policies, and any conditions.
Table `turns` is that of blind episodes under the largest budget, of base and of the policies that
are compared with it step by step. The result has the columns of table `estimates`. The estimand is
the mean over test tasks; differences are paired by task.

The frames hold columns `TASKS` and `COLUMNS` of the source only: what was said in an episode is
most of its table, and no metric reads it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from turnscope import schemas

TASKS = ["env", "task_id", "split", "stratum", "cluster", "bound"]
EPISODES = [
    "env",
    "model",
    "policy",
    "task_id",
    "sample",
    "budget",
    "told",
    "temperature",
    "turns",
    "tokens",
    "invalid",
    "success",
    "stop",
]
PROGRESS = [
    "env",
    "model",
    "policy",
    "step",
    "source",
    "task_id",
    "place",
    "state_key",
    "turn",
    "left",
    "quality",
    "success",
]
TRAINING = ["env", "model", "policy", "step", "name", "value"]
TURNS = [
    "env",
    "model",
    "policy",
    "task_id",
    "sample",
    "turn",
    "quality",
    "best",
    "success",
    "tokens",
]
COLUMNS = {
    "episodes": EPISODES,
    "progress": PROGRESS,
    "training": TRAINING,
    "turns": TURNS,
    "heated": EPISODES,
    **{name: schemas.TABLES[name].names for name in ("actions", "continuations", "likelihood")},
}
"""What is read of each table that may be a source."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the metrics need to know beyond the tables."""

    ks: Sequence[int]
    """Values of K in Pass@(K,T), each >= 1."""
    k: int
    """The K at which depth is studied, >= 1."""
    shares: Sequence[float]
    """Turn budgets as parts of the largest one, each in (0, 1]."""
    draws: int
    """Bootstrap samples and random sign flips, >= 1."""
    seed: int
    """Study seed, from which the draws are derived."""
    margin: float = 0.05
    """Largest difference in success probability that does not matter, > 0."""
    reference: str = "grpo"
    """Arm that the other arms are compared with."""
    tie: float = 0.01
    """Largest difference in mean quality that is a tie, from 0 to 1."""

    def __post_init__(self) -> None:
        if min(self.k, *self.ks) < 1:
            raise ValueError(f"ks = {list(self.ks)}, k = {self.k}: each must be at least 1")
        if self.draws < 1:
            raise ValueError(f"draws = {self.draws}: must be at least 1")
        if not self.margin > 0:
            raise ValueError(f"margin = {self.margin}: must be above 0")
        if not 0 <= self.tie <= 1:
            raise ValueError(f"tie = {self.tie}: must be from 0 to 1")

    @property
    def all_ks(self) -> list[int]:
        """`ks` with `k` and 1, increasing."""
        return sorted({1, self.k, *self.ks})
