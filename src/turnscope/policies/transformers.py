"""Sampling from a Hugging Face model with one key-value cache carried through an episode.

Each token enters the model once: a turn feeds the reply of the environment behind what the cache
holds, and history is never encoded again. A prompt that several rows share is encoded once. Rows of
a batch have ragged lengths and write behind their own last token, see `_slots`. Finished episodes
leave the batch.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from turnscope import draws
from turnscope.chat import Renderer
from turnscope.policies import _seats
from turnscope.policies._slots import ATTENTION, Slots
from turnscope.types import Action, Seat


class Policy:
    """A causal language model that talks to environments.

    Args:
        model: The model, or the folder or hub name to load it from.
        tokenizer: Its tokenizer; loaded from the same place by default.
        temperature: Divides the logits before sampling; stored log-probabilities ignore it.
        dtype: Number format of the weights when they are loaded here; None is as they are stored.
        revision: Commit of the hub repository when the model is loaded from a hub.
        chat: Keyword arguments of the chat template.

    Raises:
        ValueError: The temperature is not positive, the chat template cannot be used, or some
            layers of the model do not attend to all earlier tokens.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        temperature: float = 1.0,
        dtype: str | None = None,
        revision: str | None = None,
        chat: dict[str, Any] | None = None,
    ):
        if not temperature > 0:
            raise ValueError(f"temperature = {temperature}: must be above 0")
        if isinstance(model, str | Path):
            tokenizer = tokenizer or AutoTokenizer.from_pretrained(model, revision=revision)
            model = load(model, revision=revision, dtype=dtype or "auto")
            model.to("cuda" if torch.cuda.is_available() else "cpu")
        kinds = set(getattr(model.config, "layer_types", None) or ["full_attention"])
        if kinds != {"full_attention"} or getattr(model.config, "sliding_window", None):
            raise ValueError(
                f"model of type {model.config.model_type!r} has layers of {', '.join(kinds)}; "
                "this backend plays models with full attention alone"
            )
        self.model = model
        self.renderer = Renderer(tokenizer, **(chat or {}))
        self.temperature = temperature
        words = model.config.get_text_config()
        self.longest = getattr(words, "max_position_embeddings", None) or math.inf

    def begin(self, seats: Sequence[Seat]) -> "Conversation":
        """Start one conversation at each seat."""
        return Conversation(self, seats)


def load(place: str | Path, **options: Any) -> Any:
    """Load a model, with all of its weights.

    Args:
        place: Its folder or hub name.
        options: Of `from_pretrained`.

    Raises:
        ValueError: Some weights are missing; transformers would draw them at random.
    """
    auto: Any = AutoModelForCausalLM
    model, found = auto.from_pretrained(place, output_loading_info=True, **options)
    if missing := sorted(found["missing_keys"]):
        raise ValueError(
            f"{place}: {len(missing)} tensors are missing in its weights, such as {missing[0]}; "
            "legal is a model with all of them"
        )
    return model


class Conversation:
    """One batch of running episodes and their cache."""

    def __init__(self, policy: Policy, seats: Sequence[Seat]):
        self._policy = policy
        self._model = policy.model
        self._device = policy.model.device
        self._seeds_N = np.array([seat.policy_seed for seat in seats], dtype=np.uint64)
        self._counts_N = np.array([_seats.said(seat) for seat in seats], dtype=np.int64)
        self._spoken = [bool(seat.history) for seat in seats]
        self._tools = [_seats.tools(seat) for seat in seats]
        self._pending = [_seats.tokens(seat) for seat in seats]
        end = policy.renderer.end_id
        self._ended = [not tokens or tokens[-1] == end for tokens in self._pending]
        self._alive = np.arange(len(seats))
        self._cache = Slots()
        self._lengths = np.zeros(len(seats), dtype=np.int64)

    @torch.inference_mode()
    def act(
        self, rows: Sequence[int], observations: Sequence[str], limits: Sequence[int]
    ) -> list[Action | None]:
        """Answer one observation at each of some seats; see `turnscope.types.Conversation`."""
        contexts = {
            row: self._render(row, text) for row, text in zip(rows, observations, strict=True)
        }
        room = self._room(contexts)
        fit = [row for row in rows if room[row] > 0]
        if not fit:
            return [None] * len(rows)
        self._keep(np.asarray(fit))
        limit = dict(zip(rows, limits, strict=True))
        alive = self._alive.tolist()
        with _evaluating(self._model):
            blocks = self._share([self._pending[row] + contexts[row] for row in alive])
            spoken = self._generate(blocks, [min(limit[row], room[row]) for row in alive])
        actions = {}
        for row, (ids, scores) in zip(alive, spoken, strict=True):
            self._pending[row] = ids[-1:]
            self._spoken[row] = True
            self._ended[row] = ids[-1] == self._policy.renderer.end_id
            # a turn that the context's end cut is none
            if self._ended[row] or len(ids) == limit[row]:
                text = self._policy.renderer.text(ids)
                actions[row] = Action(text, contexts[row], ids, scores)
        return [actions.get(row) for row in rows]

    def _room(self, contexts: dict[int, list[int]]) -> dict[int, Any]:
        """Return how many more tokens the model's context takes, once each row was told more."""
        fed = dict(zip(self._alive.tolist(), self._lengths.tolist(), strict=True))
        return {
            row: self._policy.longest - fed[row] - len(self._pending[row]) - len(context)
            for row, context in contexts.items()
        }

    def _render(self, row: int, observation: str) -> list[int]:
        renderer = self._policy.renderer
        if not self._spoken[row]:
            return list(renderer.first(observation, self._tools[row]))
        return list(renderer.reply(observation, self._ended[row]))

    def _keep(self, rows: np.ndarray) -> None:
        """Drop finished episodes from the batch; the last ones move to the freed places."""
        stays = np.isin(self._alive, rows)
        free = np.flatnonzero(~stays[: len(rows)])
        last = len(rows) + np.flatnonzero(stays[len(rows) :])
        self._cache.move(last, free)
        for array in (self._alive, self._lengths):
            array[free] = array[last]
        self._alive, self._lengths = self._alive[: len(rows)], self._lengths[: len(rows)]

    def _share(self, blocks: list[list[int]]) -> list[list[int]]:
        """Encode the first prompts, each different one once; return what is left to feed."""
        if self._lengths.any() or min(len(block) for block in blocks) < 2:
            return blocks
        heads = [tuple(block[:-1]) for block in blocks]
        places = {head: place for place, head in enumerate(dict.fromkeys(heads))}
        copies = np.array([places[head] for head in heads])
        self._lengths = self._lengths[: len(places)]
        self._feed([list(head) for head in places])
        self._lengths = self._lengths[copies]
        self._cache.copy(copies)
        return [block[-1:] for block in blocks]

    def _generate(
        self, blocks: list[list[int]], limits: list[int]
    ) -> list[tuple[list[int], list[float]]]:
        """Feed a block of tokens to each row, then sample its turn."""
        spoken: list[tuple[list[int], list[float]]] = [([], []) for _ in blocks]
        speaking_B = np.ones(len(blocks), dtype=bool)
        end = self._policy.renderer.end_id
        while True:
            tokens_B, scores_B = self._sample(self._feed(blocks))
            self._counts_N[self._alive[speaking_B]] += 1
            for place in np.flatnonzero(speaking_B):
                ids, scores = spoken[place]
                ids.append(int(tokens_B[place]))
                scores.append(float(scores_B[place]))
                speaking_B[place] = ids[-1] != end and len(ids) < limits[place]
            if not speaking_B.any():
                return spoken
            blocks = [
                ids[-1:] if on else [] for (ids, _), on in zip(spoken, speaking_B, strict=True)
            ]

    def _feed(self, blocks: list[list[int]]) -> torch.Tensor:
        """Append a block of tokens to each row; return the logits behind its last token."""
        sizes_B = np.array([len(block) for block in blocks])
        width = sizes_B.max()
        fill_BW = np.arange(width) - (width - sizes_B)[:, None]  # negative: a filler
        ids = np.zeros(fill_BW.shape, dtype=np.int64)
        ids[fill_BW >= 0] = [token for block in blocks for token in block]
        # Fillers go to the slots behind the block: the next one overwrites them before use.
        slots = self._lengths[:, None] + fill_BW % width
        self._lengths = self._lengths + sizes_B
        slots_BW = torch.from_numpy(slots).to(self._device)
        output = self._model(
            input_ids=torch.from_numpy(ids).to(self._device),
            attention_mask=self._cache.aim(slots_BW, self._model.dtype),
            position_ids=slots_BW,
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
        scores_B = logprobs_BV.gather(1, tokens_B)[:, 0]
        if not torch.isfinite(scores_B).all():
            raise ValueError("the model's log-probabilities are not finite: its weights diverged")
        return tokens_B[:, 0].cpu().numpy(), scores_B.cpu().numpy()


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Leave training mode for a while: in it, gradient checkpointing silently drops the cache."""
    training, attention = model.training, model.config._attn_implementation
    model.eval()
    model.config._attn_implementation = ATTENTION
    try:
        yield
    finally:
        model.config._attn_implementation = attention
        model.train(training)
