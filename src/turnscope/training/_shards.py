"""Weights of which each process holds a part, as PyTorch's fully_shard divides them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy
from torch.distributed.tensor import DTensor


@contextmanager
def gathered(model: Any) -> Iterator[None]:
    """Let each process hold all weights for a while, to use the model as often as it likes.

    Otherwise every use is one of all processes together, and episodes differ in length. Does
    nothing to a model that is not divided.
    """
    parts = [part for part in model.modules() if isinstance(part, FSDPModule)]
    for part in parts:
        part.unshard()
        part.set_reshard_after_forward(False, recurse=False)
    try:
        yield
    finally:
        for part in parts:
            part.reshard()
            part.set_reshard_after_forward(True, recurse=False)


def norms(model: Any) -> list[Any]:
    """Return the length of the gradient of each weight that has one."""
    found = [one.grad.norm() for one in model.parameters() if one.grad is not None]
    return [one.full_tensor() if isinstance(one, DTensor) else one for one in found]


def precise(accelerator: Any) -> None:
    """Let only what is computed be in bf16, not what comes out or is added up over processes."""
    if accelerator.mixed_precision == "bf16":
        accelerator.state.fsdp_plugin.mixed_precision_policy = MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32, output_dtype=torch.float32
        )
