"""Train one arm with one training seed.

spec: `env`, `model`, `arm`, `policy`, `seed` (of the training), `options` (of the environment),
`budget`, `algorithm`, `algorithm_options`, `training`.
inputs: `tasks`, `policy` (of the base policy). outputs: `training`, and the policy beside it.
"""

from functools import partial
from pathlib import Path
from typing import Any

from turnscope import practice, provenance, registry, tables, training
from turnscope.stages import _job
from turnscope.types import Budget


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write the folder of the policy and table `training`."""
    tasks = tables.to_tasks(tables.read(inputs["tasks"], "tasks"))
    study = practice.Study(
        environment=partial(
            registry.load("environments", spec["env"]).Environment, **spec["options"]
        ),
        tasks=[task for task in tasks if task.split == "train"],
        budget=Budget(**spec["budget"]),
        algorithm=registry.load("algorithms", spec["algorithm"]).make(**spec["algorithm_options"]),
        seed=spec["seed"],
    )
    recipe = practice.Recipe(**spec["training"])
    base, folder = inputs["policy"].parent, _job.folder(outputs)
    plugins = [f"environments.{spec['env']}", f"algorithms.{spec['algorithm']}"]
    key = provenance.key(
        "train",
        spec,
        provenance.digest(["stages.train", *plugins]),
        {name: provenance.file_sha256(path) for name, path in inputs.items()},
    )
    curves = training.train(study, recipe, base, folder, _job.scratch(outputs), key)
    who = {name: spec[name] for name in ("env", "model", "policy")}
    rows = [who | row for row in curves]
    tables.write(tables.conform(rows, "training"), outputs["training"], "training")


if __name__ == "__main__":
    _job.main(run)
