"""What jobs with a loaded model need of a GPU's memory, by arithmetic; nobody has measured it.

Bytes of a parameter: 2 in bfloat16. Trained whole, it is kept in 32 bits with its gradient and two
moments of Adam, 16 bytes, besides 2 of a copy to compute with. An adapter has 16 for each of its
own parameters, and the weights beside it 2. `fsdp` divides all of that by the number of GPUs, but
not a critic, and while a policy plays its weights are whole.

A pass keeps the input of each block, 4 bytes a number where the weights are in 32 bits and else 2,
and the inside of one block at a time with its gradients: gradient checkpointing. Logits are never
held whole. An engine takes its share of the GPU, whatever it needs: weights, and what is left for
keys and values, of which it must be able to hold one longest sequence.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from turnscope.plan.sizes import Device, Shape

PLAYING, TRAINING = 0.45, 0.3
"""Shares of a GPU that vLLM gets for one policy: where episodes are played, and where it shares the
GPU with a training. Those of `turnscope.policies.vllm` and of TRL."""
OTHER = 4e9
"""Bytes for what is the same for all models: CUDA, kernels, communication, blocks of logits."""
SHOWN = 500
"""Tokens that an environment shows in a turn, at most as the plan assumes."""


class Need(NamedTuple):
    """Bytes on each GPU."""

    weights: float
    """Of all policies, with what is needed to train them but for the rest of this."""
    gradients: float
    optimiser: float
    activations: float
    engine: float
    """The share of vLLM, its weights, keys and values."""
    room: float
    """In it, for keys and values."""
    least: float
    """Of keys and values that it must be able to hold."""

    @property
    def total(self) -> float:
        """Return what must fit, with what any job needs."""
        held = self.weights + self.gradients + self.optimiser + self.activations + self.engine
        return held + OTHER

    def fits(self, device: Device) -> bool:
        """Tell whether it fits."""
        return self.total <= device.memory and self.room >= self.least


def longest(shape: Shape, budget: Mapping[str, Any]) -> int:
    """Return the tokens of the longest episode that the plan reckons with."""
    return min(shape.context, budget["turns"] * (budget["turn_tokens"] + SHOWN))


def cached(shape: Shape, policies: int, tokens: int) -> Need:
    """Say what playing with transformers needs, which keeps keys and values of a whole batch.

    Args:
        shape: The model.
        policies: Held at once.
        tokens: Of the episodes that are played side by side, each as long as the longest.
    """
    return Need(policies * 2 * shape.parameters, 0, 0, shape.kept * tokens, 0, 0, 0)


def played(shape: Shape, device: Device, policies: int) -> Need:
    """Say what playing with vLLM needs.

    Args:
        shape: The model.
        device: The GPU.
        policies: Held at once: 1, or 2 where they are compared.
    """
    share = PLAYING * device.memory
    room = share - 2 * shape.parameters - OTHER
    return Need(0, 0, 0, 0, policies * share, room, shape.kept * shape.context)


def scored(shape: Shape, tokens: int) -> Need:
    """Say what scoring needs, with base and the trained policy in 32 bits.

    Args:
        shape: The model.
        tokens: Of a forward pass.
    """
    inside = 4 * tokens * _inside(shape)
    return Need(2 * 4 * shape.parameters, 0, 0, inside, 0, 0, 0)


def trained(
    shape: Shape,
    device: Device,
    tuning: Mapping[str, Any],
    tokens: int,
    *,
    side: int = 0,
    reference: bool = True,
    critic: bool = False,
) -> Need:
    """Say what training needs on each of its GPUs.

    Args:
        shape: The model.
        device: The GPU.
        tuning: `method`, `rank`, `sampler`, `server`, `processes` and `sharding` of
            `models.NAME.tuning`; a server has GPUs of its own.
        tokens: Of a pass with gradients: episodes in it times the longest.
        side: Of the episodes that one process plays side by side; it counts without vLLM.
        reference: Whether base is kept beside the policy; with an adapter it needs nothing.
        critic: Whether there is one, as large as the policy and trained alike.
    """
    whole = tuning.get("method", "full") == "full"
    number, sharded = tuning.get("processes", 1), tuning.get("sharding", "none") != "none"
    parts = number if sharded else 1
    learning = shape.parameters if whole else shape.adapter(tuning.get("rank", 32))
    held = (4 + 2) * shape.parameters if whole else 2 * shape.parameters + 4 * learning
    beside = 4 * shape.parameters if whole and reference else 0
    # Sharded, one block at a time is whole, and the next one on its way.
    gathered = 2 * 2 * sum(a * b for a, b in shape.linear) if sharded else 0
    colocated = tuning.get("sampler") == "vllm" and not tuning.get("server")
    engine = TRAINING * device.memory if colocated else 0.0
    inside = tokens * ((4 if whole else 2) * shape.layers * shape.hidden + 2 * 2 * _inside(shape))
    # Played and learned from one after the other; what is divided is whole while it plays.
    playing = shape.kept * side + (2 * shape.parameters if sharded else 0)
    if tuning.get("sampler") == "vllm":
        playing = 0
    critics = 1 if critic else 0  # each GPU has all of it
    return Need(
        (held + beside) / parts + gathered + critics * held,
        4 * learning * (1 / parts + critics),
        8 * learning * (1 / parts + critics),
        max(inside, playing),
        engine,
        engine - 2 * shape.parameters - OTHER if engine else 0.0,
        shape.kept * shape.context if engine else 0.0,
    )


def _inside(shape: Shape) -> int:
    """Count the numbers of one token inside a block: norms, attention, and the gated layers."""
    attention = 2 * (shape.heads + shape.kv_heads) * shape.head_dim
    return 4 * shape.hidden + attention + 4 * shape.intermediate
