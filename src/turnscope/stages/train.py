"""Train one arm with one training seed.

spec: `env`, `model`, `arm`, `policy`, `seed` (of the training), `options` (of the environment),
`budget`, `algorithm`, `algorithm_options`, `training`, `progress`: `seed` (of the study), `tasks`
(how many of the test tasks), `episodes` and `actions`; null measures nothing on the way; and of a
model that is loaded `tuning`, see `turnscope.tuning`, by whose processes the work is done.
inputs: `tasks`, `policy` (of the base policy), and where there are any `states` (to probe) and
`match` (table `training` of the policy whose tokens may be used). outputs: `training`, `progress`,
and the policy beside them.
"""

from functools import partial
from pathlib import Path
from typing import Any

from turnscope import practice, progress, provenance, registry, sampling, tables, training
from turnscope.stages import _job, _ranks
from turnscope.tuning import Tuning
from turnscope.types import Budget, Task


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write the folder of the policy, and tables `training` and `progress`."""
    tuning = _tuning(spec)
    processes = tuning.processes if tuning else 1
    if processes == 1:
        work(spec, inputs, outputs)
    else:
        _ranks.run("train", spec, inputs, outputs, processes)


def work(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Do so, or the share of one of several processes of which the first one writes."""
    tasks = tables.to_tasks(tables.read(inputs["tasks"], "tasks"))
    tuning = _tuning(spec)
    plugins = [f"environments.{spec['env']}", f"algorithms.{spec['algorithm']}"]
    plugins.append(f"policies.{(tuning or Tuning()).sampler}")
    key = provenance.key(
        "train",
        spec,
        provenance.digest(["stages.train", *plugins]),
        {name: provenance.file_sha256(path) for name, path in inputs.items()},
    )
    outcome = training.train(
        _study(spec, tasks),
        practice.Recipe(**spec["training"]),
        inputs["policy"].parent,
        _job.folder(outputs),
        _job.scratch(outputs),
        key,
        exam=_exam(spec, tasks, inputs) if spec["progress"] else None,
        tokens=_tokens(inputs["match"]) if "match" in inputs else None,
        tuning=tuning,
    )
    if not training.first():
        return
    who = {name: spec[name] for name in ("env", "model", "policy")}
    for table, records in (("training", outcome.curves), ("progress", outcome.progress)):
        rows = [who | record for record in records]
        tables.write(tables.conform(rows, table), outputs[table], table)


def _tuning(spec: dict[str, Any]) -> Tuning | None:
    """Say how the weights of a model that is loaded are trained."""
    return Tuning(**spec["tuning"]) if "tuning" in spec else None


def _study(spec: dict[str, Any], tasks: list[Task]) -> practice.Study:
    """Say what is trained on.

    Raises:
        ValueError: The arm needs step qualities that the environment does not have.
    """
    environment = registry.load("environments", spec["env"])
    algorithm = registry.load("algorithms", spec["algorithm"]).make(**spec["algorithm_options"])
    quality = getattr(environment, "step_quality", None)
    if algorithm.process and quality is None:
        raise ValueError(
            f"arm {spec['arm']}: it needs a step_quality, and environment {spec['env']!r} has none"
        )
    return practice.Study(
        environment=partial(environment.Environment, **spec["options"]),
        tasks=[task for task in tasks if task.split == "train"],
        budget=Budget(**spec["budget"]),
        algorithm=algorithm,
        seed=spec["seed"],
        quality=quality,
        immediate=getattr(environment, "IMMEDIATE", False),
    )


def _exam(spec: dict[str, Any], tasks: list[Task], inputs: dict[str, Path]) -> progress.Exam:
    """Say what is measured on the way; nothing is probed if no action can be graded."""
    options = spec["progress"]
    graded = hasattr(registry.load("environments", spec["env"]), "step_quality")
    states: Any = tables.read(inputs["states"], "states").to_dict("records") if graded else []
    test = [task for task in tasks if task.split == "test"]
    return progress.Exam(
        tasks=sampling.subset(test, options["tasks"]),
        episodes=options["episodes"],
        actions=options["actions"],
        states=states,
        seed=options["seed"],
    )


def _tokens(match: Path) -> int:
    """Read how many tokens a policy had sampled when its training ended."""
    curves = tables.read(match, "training")
    return int(curves.loc[curves["name"] == "tokens_total", "value"].max())


if __name__ == "__main__":
    _job.main(run)
