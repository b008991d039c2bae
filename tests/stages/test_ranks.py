import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from turnscope.stages import _ranks

ROOT = Path(__file__).parents[2]


@pytest.fixture
def toys(monkeypatch, tmp_path) -> Path:
    """Let processes do the work of a toy; return the folder they write to."""
    monkeypatch.setattr(_ranks, "MODULE", "tests.stages.toy_ranks")
    monkeypatch.setattr(_ranks, "GRACE", 0.3)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}:{ROOT}")
    monkeypatch.setenv("OMP_NUM_THREADS", "6")
    (tmp_path / "given").write_text("hello")
    return tmp_path


def run(spec: dict[str, Any], folder: Path, processes: int = 3) -> None:
    _ranks.run("toy", spec, {"given": folder / "given"}, {"folder": folder}, processes)


def is_over(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_each_process_knows_its_place_and_has_its_share_of_the_threads(toys):
    run({}, toys)
    found = [(toys / str(rank)).read_text().rsplit(" ", 1)[0] for rank in range(3)]
    assert found == [f"{rank} {rank} 3 2 hello" for rank in range(3)]


@pytest.mark.parametrize(
    ("act", "kind", "about"),
    [
        ("refuse", ValueError, r"^process 1 of 3: training\.tasks = 3: no$"),
        ("break", RuntimeError, "^process 1 of 3: FloatingPointError: step 4: the loss is nan$"),
        ("die", RuntimeError, "^process 1 of 3: ended by SIGKILL$"),
    ],
)
def test_a_process_that_fails_ends_the_others(toys, act, kind, about):
    with pytest.raises(kind, match=about):
        run({"0": "wait", "1": act, "2": "wait"}, toys)
    for rank in ("0", "2"):
        if (toys / rank).exists():  # it had begun
            assert is_over(int((toys / rank).read_text().split()[-1]))


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not see to it")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_the_one_that_started_it(toys, end):
    code = (
        "from pathlib import Path; from turnscope.stages import _ranks; "
        "_ranks.MODULE = 'tests.stages.toy_ranks'; "
        f"folder = Path({str(toys)!r}); "
        "_ranks.run('toy', {'0': 'wait', '1': 'wait'}, {'given': folder / 'given'}, "
        "{'folder': folder}, 2)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], env=os.environ)
    while not ((toys / "0").exists() and (toys / "1").exists()):
        assert parent.poll() is None
        time.sleep(0.01)
    time.sleep(0.1)  # until what they write is written
    pids = [int((toys / rank).read_text().split()[-1]) for rank in "01"]
    parent.send_signal(end)
    assert parent.wait() == -end
    while not all(map(is_over, pids)):
        time.sleep(0.01)
