"""Make the tasks of an environment.

spec: `env`, `seed`, `tasks` (options of the environment's `tasks`), `turns` (T_max).
inputs: `data` (checksums of what tasks are made from, or nothing). outputs: `tasks`.
"""

import json
from pathlib import Path
from typing import Any

from turnscope import draws, registry, tables
from turnscope.stages import _job


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write table `tasks`, with the structural bound where the environment knows one."""
    environment = registry.load("environments", spec["env"])
    bound = getattr(environment, "bound", None)
    seed = draws.seed(spec["seed"], "tasks", spec["env"])
    rows = [
        {
            "env": spec["env"],
            "task_id": task.task_id,
            "split": task.split,
            "stratum": task.stratum,
            "cluster": task.cluster,
            "payload": json.dumps(task.payload, sort_keys=True),
            "min_turns": task.min_turns,
            "bound": bound(task, spec["turns"]) if bound else None,
        }
        for task in environment.tasks(seed, **spec["tasks"])
    ]
    tables.write(tables.conform(rows, "tasks"), outputs["tasks"], "tasks")


if __name__ == "__main__":
    _job.main(run)
