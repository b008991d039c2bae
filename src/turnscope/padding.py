"""Rows of similar length together, so that little of a forward pass is padding."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch


class Part(NamedTuple):
    """Some rows of a batch, without the columns that none of them uses."""

    rows: Any
    """Indices of the rows, a tensor."""
    left: int
    """First column that is used."""
    right: int
    """Column behind the last one that is used."""


def parts(mask_BL: Any, most: int | None) -> Iterator[Part]:
    """Cut a batch, shortest rows first.

    Args:
        mask_BL: 1 for each token, 0 for padding, shape (B, L).
        most: Rows in a part; None is all.
    """
    order = torch.argsort(mask_BL.sum(1), stable=True)
    for rows in order.split(most or len(order)):
        used = torch.nonzero(mask_BL[rows].any(0))
        yield Part(rows, int(used[0]), int(used[-1]) + 1)
