"""What several test modules need and is slow to make: one tiny policy for each session of tests."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import filelock
import pytest

from tests.workflow.running import clone, snakemake
from turnscope.types import Task

SPEC: dict[str, Any] = {
    "env": "frozen_lake",
    "model": "nano",
    "seed": 1,
    "options": {"view": "position"},
    "budget": {"turns": 6, "turn_tokens": 4, "tokens": None},
    "settings": {
        "build": {
            "hidden": 32,
            "layers": 2,
            "heads": 2,
            "kv_heads": 1,
            "intermediate": 64,
            "episodes": 200,
            "steps": 40,
            "batch": 48,
            "warmup": 5,
            "learning_rate": 0.01,
            "skill": [0.3, 0.9],
        }
    },
}
"""Specification of a base policy that is made in two seconds and sometimes succeeds."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave full-size checks out unless they are asked for by name."""
    if "verify" in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker("verify")]
    items[:] = [item for item in items if not item.get_closest_marker("verify")]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which the test study has run; who changes it puts it back.

    It takes minutes, so the first process that needs it makes it for all, and each has a copy.
    """
    made = tmp_path_factory.mktemp("finished")
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return _study(made)
    first = tmp_path_factory.getbasetemp().parent / "finished_first"
    with filelock.FileLock(f"{first}.lock"):
        if not (whole := first.with_name("finished_whole")).exists():
            first.mkdir(exist_ok=True)
            _study(first)
            whole.touch()
    return shutil.copytree(first, made, symlinks=True, dirs_exist_ok=True)


def _study(repo: Path) -> Path:
    """Run the test study in a clone."""
    clone(repo)
    done = snakemake(repo, "all")
    assert done.returncode == 0, done.stdout
    return repo


@pytest.fixture(scope="session")
def vllm_installed() -> None:
    """Skip where vLLM is missing, unless it must be there."""
    if find_spec("vllm") is None:
        if os.environ.get("TURNSCOPE_VLLM"):
            pytest.fail("TURNSCOPE_VLLM is set, but vLLM is not installed")
        pytest.skip("vLLM is not installed; make vllm runs these tests")


@pytest.fixture(scope="session")
def lakes() -> list[Task]:
    """Forty small lakes to train on."""
    from turnscope.environments import frozen_lake

    return frozen_lake.tasks(3, train=40, test=0, sizes=[3, 4])


@pytest.fixture(scope="session")
def nano_folder(lakes: list[Task], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a base policy that knows the lakes a little; not to be written to."""
    import torch

    from turnscope import base

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("nano")
    base.make(SPEC, lakes, folder)
    return folder


@pytest.fixture(scope="session")
def words(nano_folder: Path) -> Any:
    """The tokenizer of that policy."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(nano_folder)


@pytest.fixture(scope="session")
def smollm2_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of SmolLM2-135M-Instruct; not to be written to."""
    from turnscope import smollm2

    folder = tmp_path_factory.mktemp("models") / "smollm2"
    smollm2.convert(folder)
    return folder
