"""Make the base policy from which all arms of an environment start.

spec: `env`, `model`, `seed`, `options` (of the environment), `budget`, `settings` (of the model).
inputs: `tasks`. outputs: an ordinary Hugging Face folder beside `provenance`, or a note in it of
where the model comes from.
"""

from pathlib import Path
from typing import Any

from turnscope import base, tables
from turnscope.stages import _job


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write the folder of the policy."""
    base.make(spec, tables.tasks(inputs["tasks"], "train"), _job.folder(outputs))


if __name__ == "__main__":
    _job.main(run)
