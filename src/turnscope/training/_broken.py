"""What is left of a step that broke the training."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from turnscope import atomic
from turnscope.types import Episode


def dump(
    folder: Path, tensors: dict[str, Any], episodes: Sequence[Episode], rank: int | None
) -> None:
    """Write down the batch of a step.

    Args:
        folder: Where to.
        tensors: What the loss was computed from.
        episodes: What was played.
        rank: Which of several processes this is; None is the only one.
    """
    name = "" if rank is None else f"-{rank}"
    with atomic.replacing(folder / f"batch{name}.pt") as draft:
        torch.save(dict(tensors), draft)
    played = json.dumps([asdict(one) for one in episodes])
    atomic.write_text(played, folder / f"episodes{name}.json")
