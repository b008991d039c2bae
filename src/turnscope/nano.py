"""Make `nano`: a small Qwen3 with its own tokenizer and a base policy, from scratch on a CPU.

It is an ordinary Hugging Face folder that transformers, TRL and vLLM load like any other model.
The tokenizer is trained on the environment's own text; the base policy is trained by supervised
learning on episodes of an imperfect expert, so that reinforcement learning has something to
improve. The result is a function of the options and the seed.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from turnscope import atomic, draws
from turnscope.chat import Renderer
from turnscope.types import Episode

log = logging.getLogger(__name__)

END, PAD = "<|im_end|>", "<|endoftext|>"
FRAME = [
    "<|im_start|>system\n",
    "<|im_start|>user\n",
    "\n<|im_start|>user\n",
    "\n<|im_start|>assistant\n",
]
"""Chat markup that is one token each: the text is Qwen's, the sequences stay short."""
TEMPLATE = (
    "{% for message in messages %}"
    "{% if not loop.first %}{{ '\\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '\\n<|im_start|>assistant\\n' }}{% endif %}"
)


MICRO = 8
"""Episodes in a forward pass: with more of them, padding and a core's cache cost time."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How `nano` is made."""

    hidden: int = 64
    """Width of the residual stream."""
    layers: int = 2
    heads: int = 4
    kv_heads: int = 1
    head_dim: int = 32
    intermediate: int = 192
    """Width of the feed-forward layers."""
    vocabulary: int = 512
    """Most tokens of the tokenizer."""
    context: int = 1024
    """Longest sequence, tokens."""
    episodes: int = 12000
    """Expert episodes to learn from."""
    skill: tuple[float, float] = (0.5, 1.0)
    """Range of the expert's skill; drawn uniformly for each episode."""
    told: float = 0.25
    """Share of these episodes in which the turns left are shown, under budgets of all sizes."""
    steps: int = 400
    """Optimiser steps."""
    batch: int = 64
    """Episodes in a step."""
    learning_rate: float = 6e-3
    warmup: int = 30
    """Steps in which the learning rate rises; it falls to a tenth along a cosine afterwards."""
    gradient_norm: float = 1.0
    """Longest gradient."""


def tokenizer(texts: Sequence[str], size: int) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE tokenizer whose words do not cross spaces.

    Args:
        texts: What environments and policies say.
        size: Most tokens.

    Returns:
        A tokenizer with a ChatML template, `<|im_end|>` as end of turn.
    """
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r" ?[^\s]+|\s"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size - len(FRAME),
        special_tokens=[PAD, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(texts, trainer)
    core.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in FRAME])
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=PAD,
        eos_token=END,
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
        model_max_length=1 << 20,
    )


def network(recipe: Recipe, words: PreTrainedTokenizerFast, seed: int) -> Qwen3ForCausalLM:
    """Make the untrained model.

    Args:
        recipe: Sizes.
        words: Its tokenizer.
        seed: Seed of the initial weights.
    """
    untyped: dict[str, Any] = {
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "eos_token_id": words.eos_token_id,
        "pad_token_id": words.pad_token_id,
    }
    config = Qwen3Config(
        vocab_size=len(words),
        hidden_size=recipe.hidden,
        intermediate_size=recipe.intermediate,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.kv_heads,
        head_dim=recipe.head_dim,
        max_position_embeddings=recipe.context,
        tie_word_embeddings=True,
        initializer_range=recipe.hidden**-0.5,
        bos_token_id=None,
        dtype="float32",
        **untyped,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(draws.seed("nano", seed) % (1 << 63))
        return Qwen3ForCausalLM(config)


def encode(
    episodes: Sequence[Episode], renderer: Renderer
) -> tuple[list[list[int]], list[list[int]]]:
    """Render episodes of a policy without a model as tokens.

    Returns:
        Token ids of each episode, and 1 for each token that the policy said, else 0.
    """
    sequences, masks = [], []
    for episode in episodes:
        ids: list[int] = []
        mask: list[int] = []
        for number, turn in enumerate(episode.turns):
            context = (
                renderer.reply(turn.observation, True)
                if number
                else renderer.first(turn.observation)
            )
            action = renderer.tokenizer.encode(turn.action, add_special_tokens=False)
            ids += [*context, *action, renderer.end_id]
            mask += [0] * len(context) + [1] * (len(action) + 1)
        sequences.append(ids)
        masks.append(mask)
    return sequences, masks


def imitate(
    model: Any, sequences: list[list[int]], masks: list[list[int]], recipe: Recipe, seed: int
) -> float:
    """Train a model in place to say what was said in the episodes.

    Args:
        model: A causal language model.
        sequences: Token ids of each episode.
        masks: 1 for each token to learn, else 0.
        recipe: Steps, batch and learning rate.
        seed: Seed of the order of the episodes.

    Returns:
        Mean loss over the last tenth of the steps, nats per token.

    Raises:
        ValueError: There are fewer episodes than in a step, or the loss is not finite.
    """
    if recipe.batch > len(sequences):
        raise ValueError(
            f"batch = {recipe.batch}: there are only {len(sequences)} episodes to learn from"
        )
    order = np.random.default_rng(draws.seed("order", seed))
    optimiser = torch.optim.AdamW(model.parameters(), lr=recipe.learning_rate, weight_decay=0.01)
    losses: list[float] = []
    model.train()
    for step in range(recipe.steps):
        rows = order.choice(len(sequences), size=recipe.batch, replace=False)
        rise = min(1.0, (step + 1) / recipe.warmup)
        fall = 0.55 + 0.45 * np.cos(np.pi * step / recipe.steps)
        optimiser.param_groups[0]["lr"] = recipe.learning_rate * rise * fall
        optimiser.zero_grad()
        loss = _learn(model, [sequences[row] for row in rows], [masks[row] for row in rows])
        if not np.isfinite(loss):
            raise ValueError(f"imitation step {step}: the loss is {loss}")
        torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.gradient_norm)
        optimiser.step()
        losses.append(loss)
        if step % 50 == 0:
            log.info("imitation step %d of %d: loss %.4f", step, recipe.steps, loss)
    return float(np.mean(losses[-max(1, recipe.steps // 10) :]))


def _learn(model: Any, sequences: list[list[int]], masks: list[list[int]]) -> float:
    """Add the gradient of the mean negative log-probability of the masked tokens.

    Episodes of similar length share a forward pass, so that little of it is padding.

    Returns:
        The mean, nats per token.
    """
    order = sorted(range(len(sequences)), key=lambda row: len(sequences[row]))
    tokens = sum(sum(mask[1:]) for mask in masks)
    total = 0.0
    for at in range(0, len(order), MICRO):
        rows = order[at : at + MICRO]
        width = len(sequences[rows[-1]])
        ids_BL = torch.zeros((len(rows), width), dtype=torch.long)
        spoken_BL = torch.zeros((len(rows), width), dtype=torch.bool)
        for place, row in enumerate(rows):
            ids_BL[place, : len(sequences[row])] = torch.tensor(sequences[row])
            spoken_BL[place, : len(masks[row])] = torch.tensor(masks[row], dtype=torch.bool)
        spoken_BL = spoken_BL[:, 1:]
        hidden_BLD = model.model(input_ids=ids_BL[:, :-1], use_cache=False).last_hidden_state
        logits = model.lm_head(hidden_BLD[spoken_BL])
        loss = torch.nn.functional.cross_entropy(logits, ids_BL[:, 1:][spoken_BL], reduction="sum")
        (loss / tokens).backward()
        total += loss.item()
    return total / tokens


def save(model: Any, words: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write model and tokenizer as an ordinary Hugging Face folder."""
    with atomic.filling(folder) as draft:
        model.save_pretrained(draft)
        words.save_pretrained(draft)
