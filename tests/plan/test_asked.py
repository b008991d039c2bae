import json
from typing import Any

import pytest

from tests.plan.finished import job
from turnscope.plan import asked

CONFIG: dict[str, Any] = {
    "plan": {"gpu": "h100"},
    "environments": {
        "frozen_lake": {
            "tasks": {"test": 100},
            "budget": {"turns": 10, "turn_tokens": 512, "tokens": None},
        }
    },
    "models": {"nano": {"backend": "vllm", "path": "Qwen/Qwen3-4B"}},
}


def minutes(config: dict[str, Any] = CONFIG, **changes: Any) -> int:
    return asked.minutes("sample", json.dumps(dict(job("sample", **changes).spec)), config)


def test_memory_is_that_of_a_process_and_of_weights_in_32_bits(tmp_path):
    assert asked.megabytes("Qwen/Qwen3-4B") == 12_000 + 16_090
    assert asked.megabytes("Qwen/Qwen3-8B") == 12_000 + 32_763
    assert asked.megabytes("owner/other") == 12_000 + 64_000
    for name in ("model-1.safetensors", "model-2.safetensors"):
        (tmp_path / name).write_bytes(b"x" * 300_000)
    assert asked.megabytes(str(tmp_path)) == 12_000 + 2


def test_time_is_what_the_plan_says_at_most():
    few, many, more = (minutes(episodes=number, turns=[10]) for number in (1, 1000, 2000))
    assert few == asked.LEAST < many < more
    assert minutes(episodes=100_000, turns=[10]) == asked.MOST
    slow = CONFIG | {"plan": {"gpu": "a100"}}
    assert minutes(slow, episodes=1000, turns=[10]) > many


@pytest.mark.parametrize("path", ["owner/other", "/some/folder"])
def test_what_is_not_known_gets_the_longest_time(path):
    models = {"nano": {"backend": "vllm", "path": path}}
    assert minutes(CONFIG | {"models": models}, episodes=1, turns=[10]) == asked.MOST
