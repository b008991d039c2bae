"""Make the base policy from which all arms of an environment start.

spec: `env`, `model`, `seed`, `options` (of the environment), `budget`, `settings` (of the model).
inputs: `tasks`, `model` (record of a model that is not built, or nothing). outputs: an ordinary
Hugging Face folder beside `provenance`.
"""

from pathlib import Path
from typing import Any

from turnscope import base, tables
from turnscope.stages import _job


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write the folder of the policy."""
    model = inputs.get("model")
    tasks = tables.tasks(inputs["tasks"], "train")
    base.make(spec, tasks, _job.folder(outputs), model and model.parent)


if __name__ == "__main__":
    _job.main(run)
