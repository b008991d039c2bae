"""Play episodes of one policy for measurement.

spec: `env`, `model`, `policy`, `seed`, `backend`, `options` (of the environment), `budget` and the
`turns` of it (one set of episodes for each), `tasks` (how many of the test tasks; null is all),
`episodes` (of each), `batch`, `temperature` (null is that of `heat`); `part` of `parts`, if this
job plays no more than that.
inputs: `tasks`, `policy`, `heat` (a table of one row, or nothing). outputs: `episodes`, `turns`.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from turnscope import registry, sampling, shards, tables
from turnscope.stages import _job
from turnscope.types import Budget, Task


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write tables `episodes` and `turns`."""
    backend = registry.load("policies", spec["backend"])
    temperature = spec["temperature"]
    if temperature is None:
        temperature = float(tables.read(inputs["heat"], "heat")["temperature"].item())
    policy = backend.Policy(inputs["policy"].parent, temperature=temperature)
    tasks = sampling.subset(tables.tasks(inputs["tasks"], "test"), spec["tasks"])
    plans = [_plan(spec, tasks, turns, temperature) for turns in spec["turns"]]
    if "part" in spec:
        plans = _cut(plans, spec["part"], spec["parts"])
    sampling.write(plans, policy, outputs["episodes"], outputs["turns"])


def _plan(spec: dict[str, Any], tasks: list[Task], turns: int, temperature: float) -> sampling.Plan:
    world = registry.load("environments", spec["env"])
    return sampling.Plan(
        environment=partial(world.Environment, **spec["options"]),
        tasks=tasks,
        budget=Budget(**{**spec["budget"], "turns": turns}),
        episodes=spec["episodes"],
        batch=spec["batch"],
        seed=spec["seed"],
        temperature=temperature,
        quality=getattr(world, "step_quality", None),
        who={name: spec[name] for name in ("env", "model", "policy")},
    )


def _cut(plans: list[sampling.Plan], part: int, parts: int) -> list[sampling.Plan]:
    """Keep of each plan the tasks that belong to one part of all that is played."""
    everything = [
        (plan, piece)
        for plan in plans
        for piece in shards.pieces(len(plan.tasks), plan.episodes, plan.batch)
    ]
    own = shards.share(everything, part, parts)
    return [
        replace(plan, tasks=[task for one, at in own if one is plan for task in plan.tasks[at]])
        for plan in plans
    ]


if __name__ == "__main__":
    _job.main(run)
