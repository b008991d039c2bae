"""The one engine that scores: forward passes of a causal language model on stored token ids.

Source:
    Entropy at temperature 1/b: H = log sum exp(b z) - b E[z], so dH / d log b = -b^2 Var[z].
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NUCLEUS = 0.95
"""Probability that a policy's likeliest tokens must reach together."""
SAME = 1e-3
"""Largest difference of logits, relative to the largest of them, that may be rounding."""
ROWS = 256
"""Positions whose logits are held at once."""
SPARE = 7
"""Columns of padding that the passes of a second scoring have more; an odd number, so that no tile
of a kernel lies as before."""


class Tokens(NamedTuple):
    """The tokens of E episodes, L in all, one behind the other; A of them were sampled."""

    ids_L: Ints
    sampled_L: Bools
    """Sampled by a policy, not fed by the environment."""
    ends_E: Ints
    """Where each episode ends."""


class Scores(NamedTuple):
    """What one policy says of the sampled tokens."""

    logp_A: Floats
    """Log-probabilities, nats."""
    entropy_A: Floats
    """Entropy of the choice, nats."""
    outside_A: Bools
    """Not among the likeliest tokens that together have probability `NUCLEUS`."""
    heated_G: Floats
    """Mean entropy at each of the temperatures asked for, nats per token."""
    slope_G: Floats
    """Its derivative by the logarithm of the temperature."""


def lay(turns: pd.DataFrame) -> Tokens:
    """Put turns one behind the other.

    Args:
        turns: Columns `turn`, `context_ids` and `action_ids`, ordered by episode and turn.

    Returns:
        The tokens of the episodes.

    Raises:
        ValueError: A turn has no tokens that were fed before it or sampled in it.
    """
    parts = [turns[name].to_list() for name in ("context_ids", "action_ids")]
    sizes_R2 = np.array([[len(ids) for ids in part] for part in parts], np.int64).reshape(2, -1).T
    if not sizes_R2.all():
        raise ValueError(
            "a turn has no tokens: it was played without a model, so nothing scores it"
        )
    blocks = [ids for pair in zip(*parts, strict=True) for ids in pair]
    ids_L = np.concatenate([np.empty(0, np.int64), *blocks]).astype(np.int64)
    sampled_L = np.repeat(np.tile([False, True], len(turns)), sizes_R2.ravel())
    last_R = np.append(turns["turn"].to_numpy()[1:] == 0, True)[: len(turns)]
    return Tokens(ids_L, sampled_L, sizes_R2.sum(axis=1).cumsum()[last_R])


@torch.inference_mode()
def score(
    model: Any,
    tokens: Tokens,
    batch: int,
    temperatures: Sequence[float] = (),
    again: bool = False,
) -> Scores:
    """Score the sampled tokens of all episodes.

    Args:
        model: A causal language model of transformers.
        tokens: Result of `lay`.
        batch: Most tokens of a forward pass, padding included; an episode is never cut.
        temperatures: At which the mean entropy is wanted besides.
        again: Score a second time: the rows of each pass are in reverse order and have `SPARE`
            columns more, so that the kernels see other shapes, whatever the batch.

    Returns:
        Scores in the order of the tokens, whatever the batch up to rounding.

    Raises:
        ValueError: The logits of the model are not those of its head alone, or are not finite.
    """
    sampled = int(tokens.sampled_L.sum())
    logp_A, entropy_A = np.empty(sampled), np.empty(sampled)
    outside_A = np.empty(sampled, bool)
    heated_2G = np.zeros((2, len(temperatures)))
    rank_L = tokens.sampled_L.cumsum() - 1
    device, head = model.device, model.get_output_embeddings()
    for number, (place_BL, real_BL) in enumerate(_batches(tokens.ends_E, batch, again)):
        ids_BL = torch.from_numpy(np.where(real_BL, tokens.ids_L[place_BL], 0)).to(device)
        hidden_BLD = model.base_model(input_ids=ids_BL, use_cache=False).last_hidden_state
        if number == 0:
            _same_logits(model, head, ids_BL[:1], hidden_BLD[:1])
        picked_BL = (tokens.sampled_L[place_BL] & real_BL)[:, 1:]
        picked = torch.from_numpy(picked_BL).to(device)
        rank_A = rank_L[place_BL[:, 1:][picked_BL]]
        behind = hidden_BLD[:, :-1][picked].split(ROWS)
        for at, (hidden_CD, id_C) in enumerate(
            zip(behind, ids_BL[:, 1:][picked].split(ROWS), strict=True)
        ):
            here = rank_A[at * ROWS : at * ROWS + len(id_C)]
            logp_CV = torch.log_softmax(head(hidden_CD).float(), dim=-1)
            logp_A[here], entropy_A[here], outside_A[here] = _read(logp_CV, id_C)
            heated_2G += _heated(logp_CV, temperatures)
    if not np.isfinite(logp_A).all():
        raise ValueError("the model's log-probabilities are not finite: its weights diverged")
    return Scores(logp_A, entropy_A, outside_A, *(heated_2G / max(sampled, 1)))


def _batches(ends_E: Ints, batch: int, again: bool) -> Iterator[tuple[Ints, Bools]]:
    """Cut the episodes, shortest first, so that little of a pass is padding.

    A second scoring finds the same episodes in each pass; in both, there is room for its columns.

    Yields:
        Where the tokens of each row lie, and which of them are no padding.
    """
    starts_E = np.append(0, ends_E[:-1])
    sizes_E = ends_E - starts_E
    order = np.argsort(sizes_E, kind="stable")
    first = 0
    while first < len(order):
        last = first + 1
        while last < len(order) and (last + 1 - first) * (sizes_E[order[last]] + SPARE) <= batch:
            last += 1
        column_L = np.arange(int(sizes_E[order[last - 1]]) + again * SPARE)
        rows = order[first:last][:: -1 if again else 1]
        real_BL = column_L < sizes_E[rows, None]
        yield np.where(real_BL, starts_E[rows, None] + column_L, starts_E[rows, None]), real_BL
        first = last


def _same_logits(model: Any, head: Any, ids_BL: torch.Tensor, hidden_BLD: torch.Tensor) -> None:
    """Refuse models that scale or cap what their head gives."""
    whole = model(input_ids=ids_BL, use_cache=False).logits.float()
    gap = float((head(hidden_BLD).float() - whole).abs().max())
    if gap > SAME * max(1.0, float(whole.abs().max())):
        raise ValueError(
            f"model of type {model.config.model_type!r} gives other logits than its head, by up to "
            f"{gap:.3g}; legal are models whose logits are those of the head alone"
        )


def _read(logp_CV: torch.Tensor, id_C: torch.Tensor) -> tuple[Any, Any, Any]:
    """Return log-probability, entropy and whether the token lies outside of the nucleus."""
    p_CV = logp_CV.exp()
    own_C1 = logp_CV.gather(1, id_C[:, None])
    likelier_C = (p_CV * (logp_CV > own_C1)).sum(-1)
    entropy_C = -(p_CV * logp_CV).sum(-1)
    parts = own_C1[:, 0], entropy_C, likelier_C >= NUCLEUS
    return tuple(part.cpu().numpy() for part in parts)  # type: ignore[return-value]


def _heated(logp_CV: torch.Tensor, temperatures: Sequence[float]) -> Floats:
    """Sum the entropy over tokens, and its slope, shape (2, G)."""
    sums_2G = np.zeros((2, len(temperatures)))
    for place, temperature in enumerate(temperatures):
        scaled_CV = logp_CV / temperature  # the largest is at least -log(V) / temperature
        terms_CV = scaled_CV.exp()
        total_C = terms_CV.sum(-1)
        mean_C = terms_CV.mul_(scaled_CV).sum(-1) / total_C
        square_C = terms_CV.mul_(scaled_CV).sum(-1) / total_C
        entropy_C, variance_C = total_C.log() - mean_C, square_C - mean_C**2
        sums_2G[:, place] = float(entropy_C.double().sum()), float(variance_C.double().sum())
    return sums_2G
