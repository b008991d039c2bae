"""From turns to the tokens of TRL's tensors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from turnscope import padding
from turnscope.practice import Batch, Recipe, Study, order


def places(study: Study, recipe: Recipe) -> list[dict[str, Any]]:
    """List the task of each place of each step, as TRL takes it."""
    return [
        {"prompt": study.tasks[place].task_id, "place": place} for place in order(study, recipe)
    ]


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


def passes(episodes: int, most: int | None) -> int:
    """Say in how many passes of equal size gradients are added up.

    Args:
        episodes: Of a step and process.
        most: Episodes in a pass; None is all.
    """
    return next(
        number
        for number in range(1, episodes + 1)
        if episodes % number == 0 and episodes // number <= (most or episodes)
    )


def scored(
    score: Callable[[Any, Any, int], tuple[Any, Any]],
    ids_BL: Any,
    mask_BL: Any,
    keep: int,
    most: int,
) -> tuple[Any, Any]:
    """Score episodes of similar length together, without the padding that they do not need.

    Args:
        score: Returns log-probabilities and entropies (or None) of the last tokens of some rows,
            given their tokens, mask, and the number of these last tokens.
        ids_BL: Prompts and completions.
        mask_BL: 1 for each token, 0 for padding.
        keep: Columns of the completions.
        most: Episodes that are scored together.

    Returns:
        What `score` returns, of all rows, shapes (B, keep).
    """
    found, places = [], []
    pad = torch.nn.functional.pad
    for rows, left, right in padding.parts(mask_BL, most):
        shown = right - (ids_BL.size(1) - keep)
        parts = score(ids_BL[rows, left:right], mask_BL[rows, left:right], shown)
        fill = (0, keep - shown)
        found.append([None if part is None else pad(part, fill) for part in parts])
        places.append(rows)
    back = torch.argsort(torch.cat(places))
    scores, entropies = zip(*found, strict=True)
    return torch.cat(scores)[back], (None if entropies[0] is None else torch.cat(entropies)[back])
