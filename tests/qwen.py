"""A Qwen3 of a few thousand parameters, with a tokenizer and a template as the real ones have."""

import json
from pathlib import Path
from typing import Any

import trl
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from turnscope import nano

MARKUP = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
WORDS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")
THINK = ("<think>", "</think>")
TEXTS = ["You may call one or more functions", "user assistant system left right up down\n"] * 4


def bundled(name: str) -> str:
    """Return a chat template that comes with TRL."""
    return (Path(trl.__file__).parent / "chat_templates" / f"{name}.jinja").read_text()


def tokenizer(template: str) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE with the added tokens of Qwen3: only ChatML's are special."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    core.train_from_iterator(TEXTS, trainer)
    core.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in MARKUP])
    core.add_tokens([AddedToken(text, normalized=False) for text in (*WORDS, *THINK)])
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=MARKUP[0],
        eos_token=MARKUP[2],
        chat_template=template,
        clean_up_tokenization_spaces=False,
        model_max_length=1 << 12,
    )


def folder(to: Path, template: str = "") -> Path:
    """Write the model in two shards of weights, as large ones come.

    Args:
        to: Where it goes.
        template: Its chat template; empty is the stock one.
    """
    words = tokenizer(template or bundled("qwen3"))
    sizes: dict[str, Any] = {"hidden": 32, "layers": 2, "heads": 2, "kv_heads": 1}
    recipe = nano.Recipe(**sizes, head_dim=16, intermediate=64, context=4096)
    nano.save(nano.network(recipe, words, 0), words, to)
    whole = load_file(to / "model.safetensors")
    names = sorted(whole)
    for number, part in enumerate((names[::2], names[1::2]), start=1):
        shard = {name: whole[name].bfloat16() for name in part}
        save_file(shard, to / f"model-0000{number}-of-00002.safetensors", {"format": "pt"})
    (to / "model.safetensors").unlink()
    config = json.loads((to / "config.json").read_text())
    (to / "config.json").write_text(json.dumps(config | {"dtype": "bfloat16"}))
    return to
