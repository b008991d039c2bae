import json
from pathlib import Path
from typing import Any

import pytest

from turnscope import folders

TENSORS: dict[str, Any] = {
    "one": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]},
    "two": {"dtype": "F8_E4M3", "shape": [3], "data_offsets": [12, 15]},
    "three": {"dtype": "BOOL", "shape": [], "data_offsets": [15, 16]},
}


def weights(tensors: Any = TENSORS) -> bytes:
    """Spell a file of weights, of 16 bytes behind its header."""
    header = json.dumps({"__metadata__": {"format": "pt"}, **tensors}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(16)


FILES = {
    "config.json": b'{"model_type": "qwen3"}',
    "tokenizer.json": b' {"model": {}}\n',
    "tokenizer_config.json": b"{}",
    "model-00001-of-00002.safetensors": weights(),
    "model-00002-of-00002.safetensors": weights(),
    "model.safetensors.index.json": json.dumps(
        {"weight_map": {"one": "model-00001-of-00002.safetensors"}}
    ).encode(),
}
FIRST = "model-00001-of-00002.safetensors"


def folder(place: Path, **changes: bytes | None) -> Path:
    """Make the folder of a model; None leaves a file out."""
    place.mkdir()
    for name, data in (FILES | changes).items():
        if data is not None:
            (place / name).write_bytes(data)
    return place


def test_a_whole_folder_has_no_damage(tmp_path):
    assert folders.damage(folder(tmp_path / "parts")) is None
    single = {name: None for name in FILES if name.startswith("model")}
    one = folder(tmp_path / "one", **single | {"model.safetensors": weights()})
    assert folders.damage(one) is None
    old = {"tokenizer.json": None, "tokenizer_config.json": None, "vocab.json": b"{}"}
    assert folders.damage(folder(tmp_path / "old", **old)) is None


def test_a_file_of_weights_that_was_cut_anywhere_is_found(tmp_path):
    made, whole = folder(tmp_path / "cut"), weights()
    for size in range(len(whole)):
        (made / FIRST).write_bytes(whole[:size])
        why = folders.damage(made)
        assert why is not None
        assert why.startswith(f"{FIRST} has "), why
    (made / FIRST).write_bytes(whole + b"x")
    size = len(whole)
    assert folders.damage(made) == f"{FIRST} has {size + 1} bytes; its header says {size}"


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("config.json", None, "config.json is missing"),
        ("config.json", b"", "config.json is no JSON object"),
        ("config.json", b"\xff\xfe", "config.json is no JSON object"),
        ("config.json", FILES["config.json"][:-1], "config.json is no JSON object"),
        ("config.json", b"[]", "config.json is no JSON object"),
        ("config.json", b"{}", "config.json names no model_type"),
        (FIRST, None, f"{FIRST} is missing"),
        ("model-00002-of-00002.safetensors", None, "model-00002-of-00002.safetensors is missing"),
        (FIRST, b"", f"{FIRST} has no header of safetensors"),
        (FIRST, b"\xff" * 40, f"{FIRST} has no header of safetensors"),
        (FIRST, (3).to_bytes(8, "little") + b"[1]" + bytes(16), f"{FIRST} has a damaged header"),
        (FIRST, weights({}), f"{FIRST} holds no tensor"),
        (FIRST, weights({"one": {"dtype": "F32"}}), f"{FIRST} has a damaged header"),
        (
            FIRST,
            weights({"one": TENSORS["one"] | {"shape": [3, 3]}}),
            f"{FIRST} has a damaged header",
        ),
        (
            "model.safetensors.index.json",
            b'{"weight_map": {"far": "model-far.safetensors"}}',
            "model-far.safetensors is missing",
        ),
        ("tokenizer.json", None, "there is no tokenizer, such as tokenizer.json"),
        ("tokenizer.json", b"", "tokenizer.json is no JSON object"),
        ("tokenizer.json", b'{"model": {', "tokenizer.json is no JSON object"),
        ("tokenizer_config.json", b"no", "tokenizer_config.json is no JSON object"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, name, data, why):
    assert folders.damage(folder(tmp_path / "made", **{name: data})) == why


def test_a_folder_without_weights_is_none(tmp_path):
    without = {name: None for name in FILES if name.startswith("model")}
    made = folder(tmp_path / "made", **without)
    assert folders.damage(made) == "there are no weights, model*.safetensors"
