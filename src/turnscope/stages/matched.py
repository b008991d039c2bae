"""Compare a trained policy with base in the same states: their actions, and how they go on.

spec: `env`, `model`, `policy` (the trained one), `seed`, `backend`, `options` (of the environment),
`budget`, `temperature`, `batch`; `states` and `per_task` (at most, of which half from each source),
`actions` (of each policy in each state), `injected` (states with an error put in, at most),
`continuations` (of each policy from each error state).
inputs: `tasks`; `base` and `trained` (policies); `base_episodes`, `base_turns`, `trained_episodes`,
`trained_turns` (their blind episodes under that budget). outputs: `pool`, `actions`,
`continuations`; empty if the environment can say neither how good an action is nor what an error
is.
"""

from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from turnscope import registry, tables
from turnscope.matched import injected, play, pool, visits
from turnscope.matched.pair import SOURCES, Pair
from turnscope.stages import _job
from turnscope.types import Budget


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write tables `pool`, `actions` and `continuations`."""
    world = registry.load("environments", spec["env"])
    told = hasattr(world, "step_quality") or hasattr(world, "ERRORS")
    rows = _compared(spec, inputs, world) if told else {}
    for name in ("pool", "actions", "continuations"):
        tables.write(tables.conform(rows.get(name, []), name), outputs[name], name)


def _compared(
    spec: dict[str, Any], inputs: dict[str, Path], world: ModuleType
) -> dict[str, list[dict[str, Any]]]:
    pair = _pair(spec, inputs, world)
    sources = [
        visits.read(name, inputs[f"{name}_episodes"], inputs[f"{name}_turns"], pair.budget)
        for name in SOURCES
    ]
    states = pool.placed(
        [
            *pool.choose(pair, sources, spec["states"], spec["per_task"]),
            *injected.inject(pair, sources, spec["injected"]),
        ]
    )
    return {
        "pool": states,
        "actions": play.actions(pair, states, spec["actions"]),
        "continuations": play.continuations(pair, states, spec["continuations"]),
    }


def _pair(spec: dict[str, Any], inputs: dict[str, Path], world: ModuleType) -> Pair:
    backend = registry.load("policies", spec["backend"])
    return Pair(
        world=world,
        environment=partial(world.Environment, **spec["options"]),
        tasks={task.task_id: task for task in tables.tasks(inputs["tasks"], "test")},
        policies={
            name: backend.Policy(inputs[name].parent, temperature=spec["temperature"])
            for name in SOURCES
        },
        budget=Budget(**spec["budget"]),
        seed=spec["seed"],
        batch=spec["batch"],
        who={name: spec[name] for name in ("env", "model", "policy")},
    )


if __name__ == "__main__":
    _job.main(run)
