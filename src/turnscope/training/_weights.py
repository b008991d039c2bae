"""Weights: how they are loaded to be trained, and what is stored in the end."""

import logging
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig

from turnscope import atomic
from turnscope.policies.transformers import load as whole
from turnscope.tuning import Tuning

log = logging.getLogger(__name__)


def load(folder: Path, tuning: Tuning) -> Any:
    """Load a policy to be trained.

    What Adam changes is kept in fp32: near 0.02 neighbours in bf16 are 1e-4 apart, a hundred times
    a step of an ordinary learning rate, which would be rounded away. What stays as it is, below an
    adapter, keeps the format that it is stored in.

    Args:
        folder: Where the policy lies.
        tuning: Which of its weights are trained.
    """
    dtype = "auto" if tuning.method == "lora" else torch.float32
    return whole(folder, dtype=dtype)


def resumed(base: Path, checkpoint: Path, tuning: Tuning) -> Any:
    """Load the policy of a checkpoint, which holds either all weights or an adapter alone."""
    if tuning.method == "full":
        return load(checkpoint, tuning)
    from peft import PeftModel

    return PeftModel.from_pretrained(load(base, tuning), str(checkpoint))


def save(model: Any, words: Any, base: Path, folder: Path, tuning: Tuning) -> None:
    """Write a trained policy in the number format of the base policy, with the adapter in it.

    Args:
        model: The policy; it cannot be trained further.
        words: Its tokenizer.
        base: Folder of the base policy.
        folder: Where it goes.
        tuning: How it was trained.
    """
    if tuning.method == "lora":
        lost = _lost(model)
        log.info("merging the adapter, rounding takes %.1f%% of what it changes", 100 * lost)
        model = model.merge_and_unload()
    stored = AutoConfig.from_pretrained(base).dtype or torch.float32
    with atomic.filling(folder) as draft:
        words.save_pretrained(draft)
        model.to(stored).save_pretrained(draft)


@torch.no_grad()
def _lost(model: Any) -> float:
    """Return how much of the change by an adapter is lost when weights are rounded, 0 to about 1.

    That is the norm of what rounding changes over the norm of what the adapter changes.
    """
    moved = lost = 0.0
    for layer in model.modules():
        if hasattr(layer, "get_delta_weight"):
            change = layer.get_delta_weight("default").float()
            wanted = layer.get_base_layer().weight.float() + change
            rounded = wanted.to(layer.get_base_layer().weight.dtype).float()
            moved += float(change.square().sum())
            lost += float((rounded - wanted).square().sum())
    return (lost / moved) ** 0.5 if moved else 0.0
