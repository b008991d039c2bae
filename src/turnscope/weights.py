"""Weights of a model as one file, whatever files and number format they come in.

Tensors are read and written one by one, so that little memory is needed: what fetches a model may
be a small machine with a network.
"""

import json
import math
import struct
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from turnscope import folders

FORMATS = {"bfloat16": "BF16", "float16": "F16", "float32": "F32"}
"""Number formats in which weights can be kept, and what safetensors calls them."""


def merge(sources: Sequence[Path], target: Path, dtype: str | None = None) -> int:
    """Write all tensors of some safetensors files to one, sorted by name.

    Args:
        sources: Files of one model.
        target: File to write.
        dtype: One of `FORMATS`, to which what is in one of them is converted; None leaves all as
            they are.

    Returns:
        How many numbers there are.

    Raises:
        ValueError: A tensor is in two of the files, or there is none.
    """
    from safetensors import safe_open

    places: dict[str, Any] = {}
    with ExitStack() as stack:
        for source in sources:
            file = stack.enter_context(safe_open(source, framework="pt"))
            for name in file.keys():  # noqa: SIM118 - it is no mapping
                if name in places:
                    raise ValueError(f"tensor {name} of {source.name} is in another file as well")
                places[name] = file
        if not places:
            raise ValueError("the files of weights hold no tensor")
        header = _header({name: places[name].get_slice(name) for name in sorted(places)}, dtype)
        with target.open("wb") as out:
            out.write(_spelled(header))
            for name in header:
                out.write(_bytes(places[name].get_tensor(name), dtype))
    return sum(math.prod(entry["shape"]) for entry in header.values())


def _header(slices: dict[str, Any], dtype: str | None) -> dict[str, dict[str, Any]]:
    """Say format, shape and place of each tensor."""
    header, end = {}, 0
    for name, one in slices.items():
        kind, shape = one.get_dtype(), one.get_shape()
        if dtype and kind in FORMATS.values():
            kind = FORMATS[dtype]
        begin, end = end, end + folders.size(kind, shape)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}
    return header


def _spelled(header: dict[str, dict[str, Any]]) -> bytes:
    """Write a header as the format has it: its length, and JSON filled up to 8 bytes."""
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def _bytes(tensor: Any, dtype: str | None) -> Any:
    """Return the bytes of a tensor, converted if it is in one of the formats."""
    import torch

    if dtype and str(tensor.dtype).removeprefix("torch.") in FORMATS:
        tensor = tensor.to(getattr(torch, dtype))
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data
