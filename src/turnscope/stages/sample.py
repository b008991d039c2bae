"""Play episodes of one policy for measurement.

spec: `env`, `model`, `policy`, `seed`, `backend`, `options` (of the environment), `budget`,
`tasks` (how many of the test tasks; null is all), `episodes` (of each), `batch`, `temperature`.
inputs: `tasks`, `policy`. outputs: `episodes`, `turns`.
"""

from functools import partial
from pathlib import Path
from typing import Any

from turnscope import registry, sampling, tables
from turnscope.stages import _job
from turnscope.types import Budget


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write tables `episodes` and `turns`."""
    environment = registry.load("environments", spec["env"]).Environment
    backend = registry.load("policies", spec["backend"])
    plan = sampling.Plan(
        environment=partial(environment, **spec["options"]),
        tasks=sampling.subset(tables.tasks(inputs["tasks"], "test"), spec["tasks"]),
        budget=Budget(**spec["budget"]),
        episodes=spec["episodes"],
        batch=spec["batch"],
        seed=spec["seed"],
        who={name: spec[name] for name in ("env", "model", "policy")},
    )
    policy = backend.Policy(inputs["policy"].parent, temperature=spec["temperature"])
    sampling.write(plan, policy, outputs["episodes"], outputs["turns"])


if __name__ == "__main__":
    _job.main(run)
