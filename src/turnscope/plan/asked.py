"""What a job with a loaded model asks a cluster for, before anybody has measured it."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turnscope.plan import derived, work
from turnscope.plan.jobs import Job, Study
from turnscope.plan.sizes import DEVICES, SHAPES

LEAST, MOST = 60, 24 * 60
"""Minutes: clusters seldom give more. What takes longer goes on in the next attempt, trainings
from their last checkpoint."""
PROCESS = 12_000
"""MB of a process with CUDA, vLLM or TRL, and programs of an environment."""
UNKNOWN = 64_000
"""MB beside that for a model whose size is not known."""
THREADS = 4
"""Processors for each GPU: vLLM has processes of its own, and some environments run programs."""


def megabytes(path: str) -> int:
    """Return the memory of a process that loads a model, of the machine and not of the GPU.

    Weights pass through it, once as they are read and once as they are saved, in 32 bits if all of
    them are trained.

    Args:
        path: Where the model comes from, `models.NAME.path`.
    """
    if shape := SHAPES.get(path):
        return PROCESS + math.ceil(4 * shape.parameters / 1e6)
    files = [file.stat().st_size for file in Path(path).glob("*.safetensors")]
    # They may be in 16 bits.
    return PROCESS + (math.ceil(2 * sum(files) / 1e6) if files else UNKNOWN)


def minutes(stage: str, spec: str, config: Mapping[str, Any]) -> int:
    """Return the time of a job: what it takes by the plan, at most.

    Args:
        stage: Module in `turnscope.stages`.
        spec: Specification of the job, JSON.
        config: The study, as it was checked.
    """
    job = Job(stage, stage, json.loads(spec), 1)
    settings, env = config["models"][job.spec["model"]], job.env
    model = SHAPES.get(settings["path"])
    if model is None:
        return MOST
    own = config["environments"][env]
    study = Study(
        {env: own["tasks"]["test"]}, {env: own["budget"]}, {(env, job.spec["model"]): settings}
    )
    device = DEVICES[config["plan"]["gpu"]]
    taken = derived.taken(job, work.units(job, study), study, model, device)
    return min(MOST, max(LEAST, math.ceil(taken.seconds.high / 60)))
