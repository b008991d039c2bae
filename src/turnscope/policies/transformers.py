"""Sampling from a Hugging Face model with one key-value cache carried through an episode.

Each token enters the model once: a turn feeds the reply of the environment behind what the cache
holds, and history is never encoded again. Rows of a batch have ragged lengths; every forward pass
appends one block of slots to all rows, slots that a row does not need are masked, and position ids
count only real tokens. Finished episodes leave the batch.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache

from turnscope import draws
from turnscope.chat import Renderer
from turnscope.types import Action, Seat


class Policy:
    """A causal language model that talks to environments.

    Args:
        model: The model, or the folder or hub name to load it from.
        tokenizer: Its tokenizer; loaded from the same place by default.
        temperature: Divides the logits before sampling; stored log-probabilities ignore it.
        dtype: Number format of the weights when they are loaded here.
        revision: Commit of the hub repository when the model is loaded from a hub.
        chat: Keyword arguments of the chat template.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        temperature: float = 1.0,
        dtype: str = "float32",
        revision: str | None = None,
        chat: dict[str, Any] | None = None,
    ):
        if isinstance(model, str | Path):
            tokenizer = tokenizer or AutoTokenizer.from_pretrained(model, revision=revision)
            model = AutoModelForCausalLM.from_pretrained(model, revision=revision, dtype=dtype)
        self.model = model
        self.renderer = Renderer(tokenizer, **(chat or {}))
        self.temperature = temperature

    def begin(self, seats: Sequence[Seat]) -> "Conversation":
        """Start one conversation at each seat."""
        return Conversation(self, seats)


class Conversation:
    """One batch of running episodes and their cache."""

    def __init__(self, policy: Policy, seats: Sequence[Seat]):
        self._policy = policy
        self._model = policy.model
        self._device = policy.model.device
        self._seeds_N = np.array([seat.policy_seed for seat in seats], dtype=np.uint64)
        self._counts_N = np.array(
            [sum(len(turn.action_ids) for turn in seat.history) for seat in seats], dtype=np.int64
        )
        self._spoken = [bool(seat.history) for seat in seats]
        self._ended = [True] * len(seats)
        self._pending: list[list[int]] = [[] for _ in seats]
        for row, seat in enumerate(seats):
            for turn in seat.history:
                self._pending[row] += [*turn.context_ids, *turn.action_ids]
                self._ended[row] = turn.action_ids[-1:] == [policy.renderer.end_id]
        self._alive = np.arange(len(seats))
        self._cache = DynamicCache(config=policy.model.config)
        self._mask = torch.zeros((len(seats), 0), dtype=torch.long, device=self._device)
        self._length = torch.zeros(len(seats), dtype=torch.long, device=self._device)

    @torch.inference_mode()
    def act(
        self, rows: Sequence[int], observations: Sequence[str], limits: Sequence[int]
    ) -> list[Action]:
        """Answer one observation at each of some seats; see `turnscope.types.Conversation`."""
        self._keep(np.asarray(rows))
        contexts = [self._render(row, text) for row, text in zip(rows, observations, strict=True)]
        blocks = [self._pending[row] + new for row, new in zip(rows, contexts, strict=True)]
        sampled, logprobs = self._generate(blocks, np.asarray(limits))
        actions = []
        for row, context, ids, scores in zip(rows, contexts, sampled, logprobs, strict=True):
            self._pending[row] = ids[-1:]
            self._spoken[row] = True
            self._ended[row] = ids[-1] == self._policy.renderer.end_id
            actions.append(Action(self._policy.renderer.text(ids), context, ids, scores))
        return actions

    def _render(self, row: int, observation: str) -> list[int]:
        renderer = self._policy.renderer
        if not self._spoken[row]:
            return list(renderer.first(observation))
        return list(renderer.reply(observation, self._ended[row]))

    def _keep(self, rows: np.ndarray) -> None:
        """Drop the episodes that are finished from the batch."""
        if len(rows) == len(self._alive):
            return
        places = torch.as_tensor(np.searchsorted(self._alive, rows), device=self._device)
        self._alive = rows
        self._mask, self._length = self._mask[places], self._length[places]
        if self._mask.shape[1]:
            self._cache.batch_select_indices(places)

    def _generate(
        self, blocks: list[list[int]], limits_B: np.ndarray
    ) -> tuple[list[list[int]], list[list[float]]]:
        """Feed one block of tokens for each row, then sample each row's turn."""
        sampled: list[list[int]] = [[] for _ in blocks]
        logprobs: list[list[float]] = [[] for _ in blocks]
        speaking_B = np.ones(len(blocks), dtype=bool)
        logits = self._feed(blocks)
        while True:
            tokens_B, scores_B = self._sample(logits)
            for place in np.flatnonzero(speaking_B):
                sampled[place].append(int(tokens_B[place]))
                logprobs[place].append(float(scores_B[place]))
                self._counts_N[self._alive[place]] += 1
                if (
                    tokens_B[place] == self._policy.renderer.end_id
                    or len(sampled[place]) >= limits_B[place]
                ):
                    speaking_B[place] = False
            if not speaking_B.any():
                return sampled, logprobs
            logits = self._feed(
                [ids[-1:] if on else [] for ids, on in zip(sampled, speaking_B, strict=True)]
            )

    def _feed(self, blocks: list[list[int]]) -> torch.Tensor:
        """Append one block of tokens to each row; return the logits after the last token."""
        width = max(len(block) for block in blocks)
        ids = np.zeros((len(blocks), width), dtype=np.int64)
        real = np.zeros((len(blocks), width), dtype=np.int64)
        for place, block in enumerate(blocks):
            if block:
                ids[place, -len(block) :] = block
                real[place, -len(block) :] = 1
        real_BW = torch.from_numpy(real).to(self._device)
        positions_BW = (self._length[:, None] + real_BW.cumsum(1) - 1).clamp(min=0)
        self._mask = torch.cat([self._mask, real_BW], dim=1)
        self._length = self._length + real_BW.sum(1)
        output = self._model(
            input_ids=torch.from_numpy(ids).to(self._device),
            attention_mask=self._mask,
            position_ids=positions_BW,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        return output.logits[:, -1].float()

    def _sample(self, logits_BV: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
        """Draw one token for each row by inversion of one uniform number."""
        logprobs_BV = torch.log_softmax(logits_BV, dim=-1)
        heated_BV = torch.softmax(logits_BV.double() / self._policy.temperature, dim=-1)
        names = self._seeds_N[self._alive], self._counts_N[self._alive]
        uniforms = torch.from_numpy(draws.uniforms(*names)).to(self._device)
        ladder_BV = heated_BV.cumsum(-1)
        tokens_B = torch.searchsorted(ladder_BV, uniforms[:, None] * ladder_BV[:, -1:], right=True)
        tokens_B = tokens_B.clamp(max=logits_BV.shape[-1] - 1)
        return (
            tokens_B[:, 0].cpu().numpy(),
            logprobs_BV.gather(1, tokens_B)[:, 0].cpu().numpy(),
        )
