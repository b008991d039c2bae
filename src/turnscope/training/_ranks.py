"""The processes that train one policy, and what they tell one another."""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from turnscope import checkpoints
from turnscope.crew import ALONE, Crew

PATIENCE = timedelta(days=7)
"""How long a process waits for the others: one episode may take hours, and a process that has died
ends the job in another way, see `turnscope.stages._ranks`."""


def join(processes: int) -> Crew:
    """Join the other processes, which the environment of this one names as PyTorch's does.

    Args:
        processes: How many there must be.

    Raises:
        ValueError: There are others.
    """
    found = int(os.environ.get("WORLD_SIZE", "1"))
    if found != processes:
        raise ValueError(
            f"{found} processes train one policy; legal is tuning.processes = {processes}"
        )
    if processes == 1:
        return ALONE
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    else:  # accelerate calls this place cpu:0, where torch.load knows of cpu alone
        torch.serialization.register_package(0, _nowhere, _numbered)
    if not dist.is_initialized():
        # the engine of a GPU has one of its own for CPUs, by which sharded weights are gathered
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo", timeout=PATIENCE
        )
    # objects go from CPU to CPU: episodes are long, and the memory of GPUs is full
    side = dist.new_group(backend="gloo", timeout=PATIENCE)

    def gather(rows: list[Any]) -> list[Any]:
        parts: list[Any] = [None] * processes
        dist.all_gather_object(parts, rows, group=side)
        return [row for part in parts for row in part]

    return Crew(dist.get_rank(), processes, gather, dist.all_reduce)


def _nowhere(_: Any) -> None:
    """Give no name to the place of a tensor."""


def _numbered(storage: Any, place: str) -> Any:
    """Leave what is to go to a CPU with a number where it is, on the CPU."""
    return storage if place.startswith("cpu:") else None


def last(crew: Crew, scratch: Path, name: str) -> Path | None:
    """Return the last complete checkpoint; one process looks, for looking removes what is torn."""
    found = [checkpoints.last(scratch, name)] if crew.rank == 0 else []
    return crew.gather(found)[0]


def first() -> bool:
    """Say whether this process is the one that writes, or alone."""
    return not dist.is_initialized() or dist.get_rank() == 0
