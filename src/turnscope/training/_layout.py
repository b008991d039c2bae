"""From turns to the tokens of TRL's tensors."""

from typing import Any

import numpy as np
import torch

from turnscope.practice import Batch


def spread(batch: Batch, width: int) -> Any:
    """Give every token of a completion the advantage of its turn, and text of the environment 0.

    Args:
        batch: The episodes and their credit.
        width: Columns of the completions.

    Returns:
        Shape (B, width).
    """
    spread_BC = np.zeros((len(batch.episodes), width))
    pairs = zip(batch.episodes, batch.advantages, strict=True)
    for row, (episode, advantage_T) in enumerate(pairs):
        for (start, stop), advantage in zip(episode.spans(), advantage_T, strict=True):
            spread_BC[row, start:stop] = advantage
    return spread_BC


def complete(batch: Batch, counted: list[int]) -> None:
    """Check that the loss counts all that the policy said, also where the budget ran out.

    Args:
        batch: The episodes.
        counted: Tokens of each that the loss counts.

    Raises:
        RuntimeError: It does not.
    """
    for episode, paid, count in zip(batch.episodes, batch.rewards, counted, strict=True):
        said = episode.tokens if paid is not None else 0
        if count != said:
            raise RuntimeError(
                f"task {episode.task_id}, ended by {episode.stop}: the loss counts {count} of its "
                f"{said} sampled tokens; an episode must stay in the loss whole"
            )


def whole(output: dict[str, Any]) -> tuple[Any, Any]:
    """Join prompts and completions, and their masks."""
    ids, mask = (
        torch.cat([output[f"prompt_{part}"], output[f"completion_{part}"]], dim=1)
        for part in ("ids", "mask")
    )
    return ids, mask
