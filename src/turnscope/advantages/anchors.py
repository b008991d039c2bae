"""Anchor groups: turns of one task that can be compared, for they start from the same state.

Source:
    Feng et al. 2025, arXiv:2505.10978, equation 6.
    Differs: states are compared by name, not by the text of the observation.
"""

import numpy as np

from turnscope.advantages import Int, TurnBatch

ANCHORS = ("state", "state+remaining")
"""What turns of one task must share to be compared: the hidden state, or the turns left too."""


def anchors(batch: TurnBatch, anchor: str = "state") -> Int:
    """Number the anchor groups: the turns of a group's episodes that start from the same state.

    Args:
        batch: N turns.
        anchor: One of `ANCHORS`.

    Returns:
        Number of the anchor group of each turn, from 0, shape (N,).

    Raises:
        ValueError: There is no such anchor.
    """
    if anchor not in ANCHORS:
        raise ValueError(f"anchor {anchor!r} is unknown; known: {', '.join(ANCHORS)}")
    keys = [batch.state_N] if anchor == "state" else [batch.state_N, batch.left_N]
    number_N = np.unique(batch.group_N, return_inverse=True)[1]
    for key_N in keys:
        kinds, kind_N = np.unique(key_N, return_inverse=True)
        number_N = np.unique(number_N * len(kinds) + kind_N, return_inverse=True)[1]
    return number_N


def anchor_sizes(batch: TurnBatch, anchor: str = "state") -> tuple[float, float]:
    """Tell whether turns have anything to be compared with.

    Args:
        batch: N turns.
        anchor: One of `ANCHORS`.

    Returns:
        Mean number of turns in an anchor group, and share of turns that are alone in theirs, whose
        state comparison is 0; both NaN without turns.
    """
    if not len(batch.reward_N):
        return float("nan"), float("nan")
    size_G = np.bincount(anchors(batch, anchor))
    return float(size_G.mean()), float((size_G == 1).sum() / len(batch.reward_N))
