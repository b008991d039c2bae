"""Whether a folder holds a model that can be loaded, as far as can be told at once.

Only heads of files are read, so that it can be asked before any job runs.
"""

import json
import math
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

LEGAL = "a folder with config.json, a tokenizer, and weights in model*.safetensors, all whole"
WEIGHTS = "model*.safetensors"
"""Files of weights as transformers calls them; some models bring others as well."""
INDEX = "model*.safetensors.index.json"
WORDS = ("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.json", "vocab.txt")
"""Files of which any is enough of a tokenizer."""
PART = re.compile(r"(.*-)(\d+)(-of-)(\d+)(\.safetensors)")
MOST = 100_000_000
"""Bytes; no header of a file of weights is longer."""


def damage(folder: Path) -> str | None:
    """Say what is wrong with the folder of a model; None is nothing that could be seen."""
    return next(_damages(folder), None)


def _damages(folder: Path) -> Iterator[str]:
    config, weights = folder / "config.json", sorted(folder.glob(WEIGHTS))
    if not config.is_file():
        yield "config.json is missing"
    elif not isinstance(kind := _object(config), dict):
        yield "config.json is no JSON object"
    elif not isinstance(kind.get("model_type"), str):
        yield "config.json names no model_type"
    if not weights:
        yield f"there are no weights, {WEIGHTS}"
    if missing := sorted(_named(folder, weights) - {path.name for path in weights}):
        yield f"{missing[0]} is missing"
    for path in weights:
        if why := _cut(path):
            yield f"{path.name} {why}"
    if not any((folder / name).is_file() for name in WORDS):
        yield f"there is no tokenizer, such as {WORDS[0]}"
    for name in ("tokenizer.json", "tokenizer_config.json"):
        if (folder / name).is_file() and not _looks_like_object(folder / name):
            yield f"{name} is no JSON object"


def _named(folder: Path, weights: list[Path]) -> set[str]:
    """Name the files of weights that others speak of: an index, or parts of how many there are."""
    named = set()
    for path in folder.glob(INDEX):
        index = _object(path)
        places = index.get("weight_map") if isinstance(index, dict) else None
        named |= {str(name) for name in places.values()} if isinstance(places, dict) else set()
    for path in weights:
        if part := PART.fullmatch(path.name):
            head, number, of, parts, end = part.groups()
            named |= {
                f"{head}{one:0{len(number)}}{of}{parts}{end}" for one in range(1, int(parts) + 1)
            }
    return named


def _cut(path: Path) -> str | None:
    """Say why a file of weights is not whole: its header tells how long it must be."""
    size = path.stat().st_size
    with path.open("rb") as file:
        first = file.read(8)
        length = struct.unpack("<Q", first)[0] if len(first) == 8 else MOST
        if length >= min(MOST, size):
            return "has no header of safetensors"
        try:
            header = json.loads(file.read(length))
            header.pop("__metadata__", None)
            ends = [_end(entry) for entry in header.values()]
        except (ValueError, TypeError, KeyError, AttributeError):
            return "has a damaged header"
    if not ends:
        return "holds no tensor"
    whole = 8 + length + max(ends)
    return None if size == whole else f"has {size} bytes; its header says {whole}"


def _end(entry: dict[str, Any]) -> int:
    """Return where a tensor ends.

    Raises:
        ValueError: It has another number of bytes than its shape and format.
    """
    begin, end = entry["data_offsets"]
    if end - begin != size(entry["dtype"], entry["shape"]):
        raise ValueError("a tensor has another size than its shape")
    return int(end)


def size(kind: str, shape: Sequence[int]) -> int:
    """Return the bytes of a tensor; its format is named as in a header of safetensors."""
    bits = re.search(r"\d+", kind)
    return math.prod(shape) * (int(bits[0]) if bits else 8) // 8


def _object(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except ValueError:
        return None


def _looks_like_object(path: Path) -> bool:
    """Tell from both ends: a tokenizer may have megabytes."""
    with path.open("rb") as file:
        first = file.read(64).lstrip()[:1]
        file.seek(max(0, path.stat().st_size - 64))
        return first + file.read().rstrip()[-1:] == b"{}"
