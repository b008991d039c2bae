"""Lets accelerate divide weights among processes without GPUs, which it refuses by itself.

Takes the place of `turnscope.stages._ranks` as what the processes of a job run.
"""

import sys

import torch
from accelerate.state import PartialState
from accelerate.utils import DistributedType

from turnscope.stages import _ranks


def _backend(*_: object) -> tuple[str, DistributedType]:
    return "gloo", DistributedType.MULTI_GPU


def _device(state: PartialState) -> None:
    state.device = torch.device("cpu")


if __name__ == "__main__":
    if '"fsdp"' in sys.argv[-1]:
        setattr(PartialState, "_prepare_backend", _backend)  # noqa: B010 - it has another type
        setattr(PartialState, "set_device", _device)  # noqa: B010
    sys.exit(_ranks._main(*sys.argv[1:]))
