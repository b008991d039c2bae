"""Training by several processes: what they make is what one makes, and none is left alone."""

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from safetensors.torch import load_file

from tests.conftest import SPEC as BASE
from turnscope import tables
from turnscope.stages import _ranks, probes, tasks, train

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]

# Four episodes of each of eight tasks: sixteen rows a process at least, so that one process and
# two watch the same rows for the divergence from base. Two processes take two passes a step, for
# their model counts as loaded.
SPEC: dict[str, Any] = {
    **{name: BASE[name] for name in ("env", "model", "options", "budget")},
    "arm": "grpo",
    "policy": "grpo-s0",
    "seed": 0,
    "algorithm": "grpo",
    "algorithm_options": {},
    "training": {
        "steps": 4,
        "tasks": 8,
        "group": 4,
        "learning_rate": 1e-4,
        "checkpoint_steps": 2,
        "loss": "bnpo",
        "micro": 8,
    },
    "progress": {"seed": 1, "tasks": 3, "episodes": 3, "actions": 2},
}
TOLERANCE = 2e-5
"""Weights may differ by so much after four steps: a fifth of the way that a step may go."""


def arm(algorithm: str, **options: Any) -> dict[str, Any]:
    return {"arm": algorithm, "algorithm": algorithm, "algorithm_options": options}


@pytest.fixture(scope="module")
def inputs(nano_folder: Path, tmp_path_factory: Any) -> dict[str, Path]:
    """Tasks, a base policy and states to probe."""
    folder = tmp_path_factory.mktemp("inputs")
    made = {
        "tasks": folder / "tasks.parquet",
        "policy": folder / "base" / "provenance.json",
        "states": folder / "states.parquet",
    }
    options = {"train": 40, "test": 5, "sizes": [3, 4], "frozen": 0.8, "slip": 0.2, "distance": 2}
    tasks.run({"env": "frozen_lake", "seed": 1, "tasks": options, "turns": 6}, {}, made)
    shutil.copytree(nano_folder, folder / "base")
    made["policy"].write_text("{}")
    wanted = {"backend": "transformers", "seed": 1, "progress": {"tasks": 3, "states": 5}}
    probes.run(SPEC | wanted, made, made)
    return made


def outputs(folder: Path) -> dict[str, Path]:
    names = {
        "weights": "model.safetensors",
        "training": "training.parquet",
        "progress": "progress.parquet",
        "provenance": "provenance.json",
    }
    return {name: folder / file for name, file in names.items()}


def made(spec: dict[str, Any], inputs: dict[str, Path], folder: Path) -> dict[str, Path]:
    folder.mkdir()
    train.run(spec, inputs, outputs(folder))
    return outputs(folder)


KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "gigpo": (arm("gigpo", scale="batch"), {}),
    "ppo": (arm("ppo", warmup=0), {}),
    "sharded": (arm("grpo"), {"sharding": "fsdp"}),
}
"""Arms whose credit compares groups with one another or needs a critic, and divided weights."""


def spec_of(kind: str, processes: int) -> dict[str, Any]:
    change, options = KINDS[kind]
    tuning = {"tuning": {"processes": processes, **options}} if processes > 1 else {}
    return SPEC | change | tuning


@pytest.fixture(scope="module")
def without_gpus() -> Iterator[None]:
    """Let weights be divided among processes on CPUs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_ranks, "MODULE", "tests.training.on_cpus")
        patch.setenv("PYTHONPATH", f"{ROOT / 'src'}:{ROOT}")
        yield


@pytest.fixture(scope="module", params=KINDS)
def pair(request, inputs, without_gpus, tmp_path_factory) -> tuple[str, list[dict[str, Path]]]:
    """A kind of training, and what one process and two make of it."""
    kind = request.param
    folder = tmp_path_factory.mktemp(kind)
    return kind, [made(spec_of(kind, each), inputs, folder / str(each)) for each in (1, 2)]


def test_two_processes_train_what_one_trains(pair, inputs):
    kind, (one, two) = pair
    weights = [load_file(found["weights"]) for found in (one, two)]
    before = load_file(inputs["policy"].with_name("model.safetensors"))
    assert weights[0].keys() == weights[1].keys() == before.keys()
    far = max(float((weights[0][name] - before[name]).abs().max()) for name in before)
    apart = max(float((weights[0][name] - weights[1][name]).abs().max()) for name in before)
    assert apart < TOLERANCE < 1e-4 < far
    divided = [*two["weights"].parent.glob(".scratch/checkpoint-4/pytorch_model_fsdp*")]
    assert bool(divided) == (kind == "sharded")
    curves = [
        tables.read(found["training"], "training").set_index(["step", "name"])["value"]
        for found in (one, two)
    ]
    assert curves[0].index.equals(curves[1].index)
    counted = ["tokens_total", "success", "turns", "invalid_share", "distinct_actions"]
    for name in sorted(set(curves[0].index.get_level_values("name"))):
        found = [curve.xs(name, level="name").to_list() for curve in curves]
        near = 0 if name in counted else 1e-3
        assert found[1] == pytest.approx(found[0], rel=near, abs=1e-6, nan_ok=True), name
    rows = [tables.read(found["progress"], "progress") for found in (one, two)]
    assert rows[0].equals(rows[1])
    assert set(rows[0]["step"]) == {0, 2, 4}


def kill_one(mark: Path) -> None:
    """Kill the second process of a training once a checkpoint is complete."""
    while not mark.exists():
        time.sleep(0.002)
    for child in psutil.Process().children():  # there may be others, of other tests
        if _ranks.MODULE in child.cmdline() and child.environ().get("RANK") == "1":
            child.kill()


def test_a_training_that_loses_a_process_ends_and_goes_on_to_the_same_weights(
    pair, inputs, tmp_path
):
    kind, (_, whole) = pair
    if kind == "gigpo":
        pytest.skip("keeps nothing that the others do not")
    mark = tmp_path / "torn" / ".scratch" / "checkpoint-2" / "complete"
    with ThreadPoolExecutor(1) as pool:
        killing = pool.submit(kill_one, mark)
        with pytest.raises(RuntimeError, match="process 1 of 2: ended by SIGKILL"):
            made(spec_of(kind, 2), inputs, tmp_path / "torn")
        killing.result()
    written = mark.stat().st_mtime_ns
    assert not (tmp_path / "torn" / "model.safetensors").exists()
    again = outputs(tmp_path / "torn")
    train.run(spec_of(kind, 2), inputs, again)
    assert mark.stat().st_mtime_ns == written  # it was not made again
    for name in ("weights", "training", "progress"):
        assert again[name].read_bytes() == whole[name].read_bytes(), name
