"""The whole (k,T) grid from one set of episodes, against playing each of the ten budgets.

For a policy that is not told its budget both estimate the same thing. Played: the base policy of
the study if it is there, else a small one made for this. Compared, at every budget below T_max and
k = 1 and 8: the paired sign-flip test, adjusted for the number of tests, and the equivalence test
with the study's margin, both by `turnscope.metrics.truncation`.
"""

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.rows import Row, clock, main
from turnscope import base, budgets, draws, intervals, sampling, tables
from turnscope.environments import frozen_lake
from turnscope.metrics import Settings, truncation
from turnscope.policies.transformers import Policy
from turnscope.types import Budget, Task

ROOT = Path(__file__).parent.parent
T_MAX, TASKS, EPISODES, BATCH = 20, 200, 32, 512
SHARES = [j / 10 for j in range(1, 11)]
SETTINGS = Settings(ks=[1, 8], k=8, shares=SHARES, draws=10_000, seed=1)
TURN_TOKENS = 4
OPTIONS = {"sizes": [4, 5, 6], "frozen": 0.8, "slip": 0.2, "distance": 2}
BUILD = {"episodes": 3000, "steps": 200, "batch": 64}


def measure() -> list[Row]:
    """Play, estimate and compare."""
    tasks = frozen_lake.tasks(1, train=3000, test=TASKS, **OPTIONS)
    test = [task for task in tasks if task.split == "test"]
    grid = budgets.grid(SHARES, T_MAX)
    with tempfile.TemporaryDirectory() as scratch:
        policy = Policy(_policy(tasks, Path(scratch)))
        frames, seconds = [], {}
        for turns in grid:
            with clock() as time:
                frames.append(_play(policy, test, turns, Path(scratch)))
            seconds[turns] = time.processor
    rows = truncation.estimate(_rows(test), pd.concat(frames, ignore_index=True), SETTINGS)
    tests = rows.loc[rows["metric"] == "truncation"]
    margins = rows.loc[rows["metric"] == "truncation_equivalence"]
    adjusted = float(intervals.holm(tests["p_value"].to_numpy(float)).min())
    margin = float(margins["p_value"].to_numpy(float).max())
    played = {turns: int(frame["turns"].sum()) for turns, frame in zip(grid, frames, strict=True)}
    one, ten = played[T_MAX], sum(played.values())
    gaps = tests["value"].to_numpy(float)
    return [
        Row(
            "Pass@(k,T) of one set of episodes against ten",
            "largest difference",
            float(np.abs(gaps).max()),
            bar="equal",
            met=adjusted > 0.05 and margin < 0.05,
            details={
                "smallest_adjusted_p_of_a_difference": adjusted,
                "largest_p_of_not_being_equivalent": margin,
                "margin": SETTINGS.margin,
                "comparisons": len(tests),
                "tasks": TASKS,
                "episodes_of_a_task": EPISODES,
            },
        ),
        Row(
            "- turns played",
            "turns",
            one,
            ten,
            ten / one,
            sum(seconds.values()) / seconds[T_MAX],
            details={"turns": played, "processor_seconds": seconds, "saved_turns": ten - one},
        ),
    ]


def _policy(tasks: list[Task], scratch: Path) -> Path:
    """Return the folder of the study's base policy, or of one that is made now."""
    folder = ROOT / "results/policies/frozen_lake/nano/base"
    if (folder / "model.safetensors").exists():
        return folder
    spec = {
        "env": "frozen_lake",
        "model": "nano",
        "seed": 1,
        "options": {},
        "budget": {"turns": T_MAX, "turn_tokens": TURN_TOKENS},
        "settings": {"build": BUILD},
    }
    base.make(spec, [task for task in tasks if task.split == "train"], scratch / "base")
    return scratch / "base"


def _play(policy: Policy, tasks: list[Task], turns: int, scratch: Path) -> pd.DataFrame:
    plan = sampling.Plan(
        environment=partial(frozen_lake.Environment, view="position"),
        tasks=tasks,
        budget=Budget(turns, TURN_TOKENS),
        episodes=EPISODES,
        batch=BATCH,
        seed=draws.seed("bench"),
        temperature=1.0,
        who={"env": "frozen_lake", "model": "nano", "policy": "base"},
    )
    heads = scratch / f"{turns}.parquet"
    sampling.write([plan], policy, heads, scratch / "turns.parquet")
    return tables.read(heads, "episodes")


def _rows(tasks: list[Task]) -> pd.DataFrame:
    """Lay tasks out as rows of table `tasks`, as far as the metric reads them."""
    return pd.DataFrame(
        {
            "env": "frozen_lake",
            "task_id": [task.task_id for task in tasks],
            "split": "test",
            "stratum": [task.stratum for task in tasks],
            "cluster": [task.cluster for task in tasks],
            "bound": [frozen_lake.bound(task, T_MAX) for task in tasks],
        }
    )


if __name__ == "__main__":
    main(measure)
