"""Choose the states in which the actions of all arms are probed while they are trained.

spec: `env`, `model`, `seed`, `backend`, `options` (of the environment), `budget`, `progress`:
`tasks` (how many of the test tasks) and `states` (how many, at most).
inputs: `tasks`, `policy` (of the base policy). outputs: `states`; empty if the environment cannot
say how good an action is.
"""

from functools import partial
from pathlib import Path
from typing import Any

from turnscope import progress, registry, sampling, tables
from turnscope.stages import _job
from turnscope.types import Budget


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write table `states`."""
    world = registry.load("environments", spec["env"])
    rows = _chosen(spec, inputs) if hasattr(world, "step_quality") else []
    tables.write(tables.conform(rows, "states"), outputs["states"], "states")


def _chosen(spec: dict[str, Any], inputs: dict[str, Path]) -> list[dict[str, Any]]:
    environment = registry.load("environments", spec["env"]).Environment
    backend = registry.load("policies", spec["backend"])
    return progress.choose(
        partial(environment, **spec["options"]),
        sampling.subset(tables.tasks(inputs["tasks"], "test"), spec["progress"]["tasks"]),
        Budget(**spec["budget"]),
        backend.Policy(inputs["policy"].parent, temperature=1.0),
        spec["seed"],
        spec["progress"]["states"],
        {"env": spec["env"], "model": spec["model"], "policy": "base"},
    )


if __name__ == "__main__":
    _job.main(run)
