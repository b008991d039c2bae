"""What models take on GPUs where nobody has measured it: arithmetic, with wide intervals.

Time is work over peak times the share of the peak that is reached (utilisation). A token that is
generated reads all weights, which a batch shares, and its own context's keys and values; a token
that is read costs two operations a parameter; one that is learned from ten: six, two for the
activations that are computed again, and two for the policy before the step.
"""

from typing import Any, NamedTuple

from turnscope.plan.jobs import Job, Study
from turnscope.plan.sizes import Device, Shape
from turnscope.plan.spans import NOTHING, Span


class Taken(NamedTuple):
    """What a job takes."""

    seconds: Span
    tokens: Span
    """That the policy generates."""
    disk: Span
    """Bytes."""


DECODING = {"vllm": Span(0.5, 0.3, 0.8), "transformers": Span(0.15, 0.05, 0.35)}
"""Utilisation while generating, by backend. An assumption, as all below."""
READING = Span(0.4, 0.2, 0.6)
"""Utilisation while reading or scoring."""
LEARNING = Span(0.3, 0.15, 0.45)
"""Utilisation while updating weights."""
USED = Span(0.7, 0.4, 1.0)
"""Share of the turns of a budget that an episode uses."""
FILLED = Span(0.5, 0.15, 1.0)
"""Share of a turn's tokens that a policy uses."""
SHOWN = Span(150.0, 50.0, 500.0)
"""Tokens that an environment shows in a turn."""
START = Span(60.0, 20.0, 180.0)
"""Seconds until a model is loaded."""
TOKEN_BYTES = Span(10.0, 5.0, 20.0)
"""Of a token in tables of turns, compressed."""
WEIGHT_BYTES = Span(2.0, 2.0, 4.0)
"""Of a parameter in a trained policy."""


def taken(job: Job, work: dict[str, float], study: Study, model: Shape, device: Device) -> Taken:
    """Say what a job with a model takes on a GPU.

    Args:
        job: The job.
        work: Its work, see `turnscope.plan.work.units`.
        study: What it is part of.
        model: The model that it uses.
        device: What it runs on.
    """
    settings = study.models[job.env, job.spec["model"]]
    budget = study.budgets[job.env]
    said = FILLED * budget["turn_tokens"]
    each = said + SHOWN
    turns, trained, scored = (USED * work.get(unit, 0.0) for unit in ("turn", "trained", "scored"))
    played = turns + trained
    context = (USED * budget["turns"] * each).value / 2
    player = settings["backend"]
    if job.stage == "train":
        player = (job.spec.get("tuning") or {}).get("sampler", "transformers")
    generate = DECODING.get(player, DECODING["transformers"]) * tokens_per_second(
        model, device, _batch(job.spec), context
    )
    read = READING * (device.flops / (2 * model.parameters))
    operations = 10 + (_critic(job.spec) if job.spec.get("algorithm") == "ppo" else 0)
    learn = LEARNING * (device.flops / (operations * model.parameters))
    seconds = START * max(1, job.gpus) + played * said / generate + played * SHOWN / read
    seconds += trained * each / learn + scored * each / read
    written = TOKEN_BYTES * each * turns if job.stage == "sample" else NOTHING
    if job.stage == "train":
        written = WEIGHT_BYTES * model.parameters
    return Taken(seconds, played * said, written)


def tokens_per_second(model: Shape, device: Device, batch: int, context: float) -> float:
    """Return how many tokens a device generates at its peak.

    Args:
        model: The model.
        device: The device.
        batch: Episodes side by side.
        context: Tokens before the one that is generated, on average.
    """
    moved = 2 * model.parameters + batch * context * model.kept
    computed = batch * 2 * model.parameters
    return batch / max(moved / device.bandwidth, computed / device.flops)


def _critic(spec: Any) -> int:
    """Return the operations of a critic for a parameter and a token: values, then its updates."""
    return 2 + 8 * spec["algorithm_options"].get("epochs", 2)


def _batch(spec: Any) -> int:
    """Return how many episodes a process plays side by side."""
    if "training" in spec:
        episodes = spec["training"]["tasks"] * spec["training"]["group"]
        return episodes // (spec.get("tuning") or {}).get("processes", 1)
    return spec.get("batch", 64)
