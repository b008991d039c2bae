"""Weights are what they are called: a head of JSON, and numbers behind it without gap or overlap.

Nothing is loaded. Other formats of weights can run code when they are loaded; this one cannot.
"""

import json
import math
from pathlib import Path
from typing import Any

LONGEST = 1 << 26
"""Bytes of a head at most."""
BYTES = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2, "I16": 2, "I8": 1, "U8": 1}
"""Of one number, by the name of its kind."""


def check(path: Path) -> None:
    """Check the head of a file.

    Raises:
        ValueError: It is not in the format of safetensors.
        OSError: It cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(LONGEST, size - 8):
            raise ValueError(f"no safetensors: a head of {length} bytes in a file of {size}")
        try:
            head: dict[str, Any] = json.loads(file.read(length))
            head.pop("__metadata__", None)
            spans = sorted(one["data_offsets"] for one in head.values())
            sizes = {
                name: math.prod(one["shape"]) * BYTES[one["dtype"]] for name, one in head.items()
            }
            whole = all(
                one["data_offsets"][1] - one["data_offsets"][0] == sizes[name]
                for name, one in head.items()
            )
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            IndexError,
            RecursionError,
        ) as error:
            raise ValueError(f"no safetensors: {type(error).__name__} in its head") from error
    ends = [0, *(end for _, end in spans)]
    if not whole or [begin for begin, _ in spans] != ends[:-1] or ends[-1] != size - 8 - length:
        raise ValueError("no safetensors: its tensors do not fill the file")
