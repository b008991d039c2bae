"""A checkpoint that is torn or damaged, in the scratch of a training that was killed."""

import shutil
import time
from pathlib import Path

import pytest

from tests.faults.study import Study, assert_equal, begin, copied, kill, run
from tests.faults.test_model_folders import damaged
from turnscope import checkpoints

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def torn(study: Study, tmp_path_factory) -> Path:
    """A study whose training was killed behind two complete checkpoints."""
    job = study.jobs["train"]
    folder = copied(study, tmp_path_factory.mktemp("torn"), job)
    process = begin(study, job, folder)
    mark = folder / job.mark.parent / ".scratch/checkpoint-2" / checkpoints.COMPLETE
    while process.poll() is None and not mark.exists():
        time.sleep(0.001)
    assert kill(process)
    return folder


@pytest.mark.parametrize(
    ("name", "how", "why"),
    [
        ("model.safetensors", "cut", "its model.safetensors is damaged"),
        ("optimizer.pt", "one bit", "its optimizer.pt is damaged"),
        ("trainer_state.json", "missing", "its trainer_state.json is missing"),
        (checkpoints.COMPLETE, "cut", "its complete is damaged"),
        (checkpoints.COMPLETE, "missing", "it was cut short"),
    ],
)
def test_a_training_goes_on_from_the_last_good_checkpoint_and_ends_the_same(
    study, torn, name, how, why, tmp_path
):
    job = study.jobs["train"]
    shutil.copytree(torn, tmp_path, dirs_exist_ok=True)
    scratch = job.mark.parent / ".scratch"
    for later in (tmp_path / scratch).glob("checkpoint-[34]"):
        shutil.rmtree(later)
    damaged(tmp_path / scratch / "checkpoint-2" / name, how)
    code, log = run(study, job, tmp_path)
    assert code == 0, log
    told = [line for line in log if "is not used: " in line]
    assert len(told) == 1
    assert told[0].endswith(f"{scratch}/checkpoint-2 is not used: {why}")
    assert [line for line in log if line.endswith("going on from checkpoint-1")]
    assert_equal(study, tmp_path)
