"""Fetch a model that exists already, once for all environments.

spec: `model`, `settings` (of the model), `template` (digest of the chat template that is put in, or
null). inputs: `source` (files of a model in a folder, that a change of them is seen, or nothing).
outputs: an ordinary Hugging Face folder beside `provenance`.
"""

from pathlib import Path
from typing import Any

from turnscope import models
from turnscope.stages import _job


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write the folder of the model."""
    folder = _job.folder(outputs)
    models.make(spec["model"], spec["settings"], folder, _job.scratch(outputs))


if __name__ == "__main__":
    _job.main(run)
