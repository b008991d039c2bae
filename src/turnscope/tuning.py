"""How the weights of a loaded model are trained: all of them or an adapter, by how many processes.

What is built here is trained whole by one process, which is what the defaults say.
"""

from dataclasses import dataclass
from typing import Any

METHODS = ("full", "lora")
SAMPLERS = ("transformers", "vllm")
SHARDINGS = ("none", "fsdp")


@dataclass(frozen=True, slots=True)
class Tuning:
    """Which weights are trained, and on what."""

    method: str = "full"
    """One of `METHODS`: all weights, or an adapter of low rank at every linear layer but the last,
    which is merged into them at the end."""
    rank: int = 32
    """Of the adapter."""
    alpha: int = 64
    """What the adapter adds is multiplied by `alpha / rank`."""
    sampler: str = "transformers"
    """One of `SAMPLERS`: who plays the episodes of training."""
    server: bool = False
    """Whether vLLM is a server of its own, and not in the process of the trainer."""
    processes: int = 1
    """Processes that train one policy together, each on a GPU of its own if there are GPUs."""
    sharding: str = "none"
    """One of `SHARDINGS`: whether each process holds all that is trained, or a part of it."""


def adapter(tuning: Tuning) -> Any:
    """Return what PEFT is told of the adapter, a `LoraConfig`.

    Source:
        Hu et al. 2021, arXiv:2106.09685.
        Differs: at every linear layer, not those of attention alone.
    """
    from peft import LoraConfig

    return LoraConfig(
        r=tuning.rank,
        lora_alpha=tuning.alpha,
        lora_dropout=0.0,  # what is trained is what plays
        target_modules="all-linear",
        bias="none",
    )
