"""Whether jobs with a loaded model fit into the memory of a GPU, as a table for a terminal."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from turnscope.plan import memory
from turnscope.plan.jobs import Job, Study
from turnscope.plan.memory import Need
from turnscope.plan.show import aligned
from turnscope.plan.sizes import DEVICES, SHAPES, Device, Shape

PARTS = ("weights", "gradients", "optimiser", "activations")
KINDS = {"probes": "play", "sample": "play", "shard": "play", "heated": "play"}
"""Rules that need the same."""


class Row(NamedTuple):
    """Jobs of one kind with one model."""

    model: str
    kind: str
    gpus: int
    needs: tuple[Need, ...]
    """On each of `DEVICES`."""


def rows(jobs: Sequence[Job], study: Study) -> list[Row]:
    """Say what the jobs of each kind need, at most over environments and arms.

    Args:
        jobs: All jobs of a study.
        study: The study.
    """
    found: dict[tuple[str, str], Row] = {}
    for job in jobs:
        model = job.spec.get("model", "")
        settings = study.models.get((job.env, model), {})
        shape = SHAPES.get(settings.get("path", ""))
        if shape is None or job.stage not in ("probes", "sample", "matched", "likelihood", "train"):
            continue
        tokens = memory.longest(shape, study.budgets[job.env])
        needs = tuple(_need(job, shape, device, tokens) for device in DEVICES.values())
        row = Row(model, _kind(job), max(1, job.gpus), needs)
        known = found.get(row[:2])
        if known is None or needs[0].total > known.needs[0].total:
            found[row[:2]] = row
    return sorted(found.values())


def text(found: Sequence[Row]) -> list[str]:
    """Print what is needed and whether it fits, GB on each GPU; empty if no model is loaded."""
    if not found:
        return []
    head = ["model", "rule", "GPUs", *PARTS, *(f"{name} of {_size(one)}" for name, one in _kinds())]
    lines = [
        [
            *(row.model, row.kind, str(row.gpus)),
            *(f"{getattr(row.needs[0], part) / 1e9:.1f}" for part in PARTS),
            *(_verdict(need, one) for need, (_, one) in zip(row.needs, _kinds(), strict=True)),
        ]
        for row in found
    ]
    return aligned([head, *lines])


def _kinds() -> list[tuple[str, Device]]:
    return list(DEVICES.items())


def _size(device: Device) -> str:
    return f"{device.memory / 1e9:.0f}"


def _verdict(need: Need, device: Device) -> str:
    return f"{need.total / 1e9:.0f} {'fits' if need.fits(device) else 'NO'}"


def _kind(job: Job) -> str:
    if job.stage == "train" and job.spec["algorithm"] == "ppo":
        return "train with a critic"
    return KINDS.get(job.rule, job.stage)


def _need(job: Job, shape: Shape, device: Device, tokens: int) -> Need:
    """Say what one job needs."""
    spec: Any = job.spec
    if job.stage == "train":
        tuning, training = spec.get("tuning") or {}, spec["training"]
        episodes = training["tasks"] * training["group"] // tuning.get("processes", 1)
        return memory.trained(
            shape,
            device,
            tuning,
            min(episodes, training.get("micro") or episodes) * tokens,
            side=episodes * tokens,
            reference=training.get("reference", True),
            critic=spec["algorithm"] == "ppo",
        )
    if job.stage == "likelihood":
        return memory.scored(shape, max(spec["batch"], tokens))
    policies = 2 if job.stage == "matched" else 1
    if spec["backend"] == "transformers":
        return memory.cached(shape, policies, spec.get("batch", 64) * tokens)
    return memory.played(shape, device, policies)
