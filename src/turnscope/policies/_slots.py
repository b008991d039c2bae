"""Keys and values of a batch of conversations, each token in a slot of its own row.

transformers' cache appends one block to all rows, and copies everything to do so; rows that need
less of a block carry the gap for ever. Here a row writes behind its own last token, in place. And
query heads that share keys read them where they are, instead of from repeated copies. On a CPU
both together make a turn several times faster; the numbers are the same up to rounding.
"""

from typing import Any

import numpy as np
import torch
from transformers import AttentionInterface

ATTENTION = "turnscope_grouped"
ROOM = 64
"""Slots by which the rows grow beyond what is needed, at least."""


class Slots:
    """Stands in for a cache of transformers; all layers must attend to all earlier tokens."""

    def __init__(self) -> None:
        self._layers: list[list[torch.Tensor]] = []
        self._used = 0
        self._slots_BW: Any = None

    def aim(self, slots_BW: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """Say where the tokens of the next forward pass go.

        A token sees the slots up to its own, so what lies in later slots does not matter.

        Args:
            slots_BW: Slot of each token in its row.
            dtype: Number format of the model.

        Returns:
            What is added to the attention scores, shape (B, 1, W, S).
        """
        self._slots_BW = slots_BW
        self._used = int(slots_BW.max()) + 1
        hidden = torch.arange(self._used, device=slots_BW.device) > slots_BW[:, None, :, None]
        return torch.zeros(hidden.shape, dtype=dtype, device=hidden.device).masked_fill_(
            hidden, float("-inf")
        )

    def update(
        self, keys_BHWD: torch.Tensor, values_BHWD: torch.Tensor, layer: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Store keys and values of a layer; return those of all slots, shapes (B, H, S, D)."""
        new = (keys_BHWD, values_BHWD)
        if layer == len(self._layers):
            self._layers.append([part[:, :, :0] for part in new])
        stored = self._layers[layer]
        batch = len(keys_BHWD)
        rows = torch.arange(batch, device=keys_BHWD.device)[:, None]
        for i, part in enumerate(new):
            lack = self._used - stored[i].shape[2]
            if lack > 0:
                room = max(lack + ROOM, stored[i].shape[2] // 2)
                stored[i] = torch.nn.functional.pad(stored[i][:batch], (0, 0, 0, room))
            stored[i][rows, :, self._slots_BW] = part.transpose(1, 2)
        return stored[0][:batch, :, : self._used], stored[1][:batch, :, : self._used]

    def copy(self, places: np.ndarray) -> None:
        """Make new rows out of old ones."""
        self._layers = [[part[places] for part in layer] for layer in self._layers]

    def move(self, source: np.ndarray, target: np.ndarray) -> None:
        """Overwrite some rows with others."""
        for layer in self._layers:
            for part in layer:
                part[target] = part[source]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return the number of slots in use; part of the protocol of transformers."""
        return self._used


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor,
    scaling: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attend with the queries of a group of heads side by side; see transformers' interface."""
    batch, heads, width, size = query.shape
    group = heads // key.shape[1]
    mask = attention_mask[:, :, None].expand(-1, -1, group, -1, -1).flatten(2, 3)
    output = torch.nn.functional.scaled_dot_product_attention(
        query.reshape(batch, -1, group * width, size),
        key,
        value,
        attn_mask=mask,
        scale=scaling,
    )
    return output.view(batch, heads, width, size).transpose(1, 2), None


AttentionInterface.register(ATTENTION, attend)
