"""Every arm, killed and resumed: real processes, real SIGKILL.

Children are forked from a server that has imported everything, which takes most of a job's time.
"""

import json
import multiprocessing
import os
import random
import signal
import time
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest
import yaml

from turnscope import registry
from turnscope.practice import Recipe, Study
from turnscope.types import Budget, Task

ARMS: dict[str, Any] = yaml.safe_load((Path(__file__).parents[2] / "config.yaml").read_text())[
    "arms"
]
RECIPE = Recipe(steps=12, tasks=4, group=4, learning_rate=1e-3, checkpoint_steps=3)
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["turnscope.training", "turnscope.environments.frozen_lake"])


def work(arm: str, tasks: list[Task], base: Path, to: Path) -> None:
    import torch

    from turnscope import progress, training
    from turnscope.environments import frozen_lake
    from turnscope.policies.transformers import Policy

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    torch.set_num_threads(1)
    settings = ARMS[arm]
    algorithm = registry.load("algorithms", settings.get("algorithm", arm))
    study = Study(
        frozen_lake.Environment,
        tasks[5:],
        Budget(6, 4),
        algorithm.make(**settings.get("options", {})),
        0,
        frozen_lake.step_quality,
    )
    states = progress.choose(
        frozen_lake.Environment, tasks[:5], study.budget, Policy(base), 1, 6, {}
    )
    outcome = training.train(
        study,
        RECIPE,
        base,
        to / "policy",
        to / "scratch",
        "name",
        exam=progress.Exam(tasks[:5], 1, 2, states, 1),
        tokens=1000 if "tokens_of" in settings else None,
    )
    (to / "outcome.json").write_text(json.dumps(outcome))


def child(*arguments: Any) -> ForkServerProcess:
    process = FORKS.Process(target=work, args=arguments)
    process.start()
    return process


def wait_for(path: Path, process: ForkServerProcess) -> None:
    while not path.exists() and process.is_alive():
        time.sleep(0.0005)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "policy").iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("arm", ARMS)
def test_an_arm_that_is_killed_at_any_moment_ends_the_same(arm, lakes, nano_folder, tmp_path):
    """Killed at random moments: early, while a checkpoint is being written, and later."""
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    usual = child(arm, lakes, nano_folder, whole)
    usual.join()
    assert usual.exitcode == 0
    last = max(row["step"] for row in json.loads((whole / "outcome.json").read_text())[0])
    assert (last < RECIPE.steps) == ("tokens_of" in ARMS[arm])
    chance = random.Random(arm)
    # a pass over the tasks is 8 steps: the end lies in the second, whose order must be the same
    for mark in ("run.json", "checkpoint-3/model.safetensors", "checkpoint-6"):
        process = child(arm, lakes, nano_folder, torn)
        wait_for(torn / "scratch" / mark, process)
        time.sleep(chance.uniform(0, 0.15))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
    final = child(arm, lakes, nano_folder, torn)
    final.join()
    assert final.exitcode == 0
    assert content(torn) == content(whole)
    assert (torn / "outcome.json").read_text() == (whole / "outcome.json").read_text()
