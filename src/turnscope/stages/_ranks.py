"""Several processes that do the work of one job together.

A process of the job starts them, waits for them and keeps the records; they run this module. They
find one another as under `torchrun`, on this machine alone. When one of them fails, the others are
ended, for they would wait for it for ever; and when the process that started them ends, in whatever
way, so do they.
"""

import ctypes
import importlib
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from turnscope.stages import LIBRARIES

log = logging.getLogger(__name__)

GRACE = 5.0
"""Seconds that the others have to end by themselves, and to say why, when one has failed."""
PAUSE = 0.1
"""Seconds between two looks at them."""
MODULE = __name__
"""What the processes run."""


def run(
    stage: str,
    spec: dict[str, Any],
    inputs: dict[str, Path],
    outputs: dict[str, Path],
    processes: int,
) -> None:
    """Let several processes call `work(spec, inputs, outputs)` of a stage, and wait for them.

    Args:
        stage: Name of the stage.
        spec: See `turnscope.stages._job`, as for the others.
        inputs: Its inputs.
        outputs: Its outputs; the first process writes them.
        processes: How many; each has as many threads as the job has for each.

    Raises:
        RuntimeError: One of them failed; the others were ended.
        ValueError: The same, and it was the fault of the user.
    """
    # here, for what starts no processes needs no torch
    from torch import distributed

    places = [{name: str(path) for name, path in files.items()} for files in (inputs, outputs)]
    work = [sys.executable, "-m", MODULE, stage, json.dumps([spec, *places])]
    meeting: Any = distributed  # whose classes are not typed
    store = meeting.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    with tempfile.TemporaryDirectory() as reports:
        started: list[subprocess.Popen[bytes]] = []
        try:
            for rank in range(processes):
                ours = _surroundings(rank, processes, store.port, Path(reports, str(rank)))
                started.append(subprocess.Popen(work, env=os.environ | ours))
            failed = _wait(started)
            if failed is not None:
                _await(started, GRACE)
        finally:
            for process in started:
                process.kill()
                process.wait()
        if failed is not None:
            kind, why = _reason(Path(reports, str(failed)), started[failed].returncode)
            raise kind(f"process {failed} of {processes}: {why}")


def _surroundings(rank: int, processes: int, port: int, report: Path) -> dict[str, str]:
    """Name the variables by which PyTorch finds the other processes, and those of this module."""
    given = {f"{name}_NUM_THREADS" for name in LIBRARIES} & os.environ.keys()
    threads = {name: str(max(1, int(os.environ[name]) // processes)) for name in given}
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": processes}
    return threads | {
        **{name: str(number) for name, number in place.items()},
        "LOCAL_WORLD_SIZE": str(processes),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        # the store is that of the process that starts them, so no port can be taken meanwhile
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TURNSCOPE_REPORT": str(report),
        "TURNSCOPE_PARENT": str(os.getpid()),
    }


def _wait(started: Sequence[subprocess.Popen[bytes]]) -> int | None:
    """Wait until all processes are done, or one has failed; return which."""
    while True:
        codes = [process.poll() for process in started]
        for rank, code in enumerate(codes):
            if code:
                return rank
        if not any(code is None for code in codes):
            return None
        time.sleep(PAUSE)


def _await(started: Sequence[subprocess.Popen[bytes]], seconds: float) -> None:
    """Wait for processes for a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and any(process.poll() is None for process in started):
        time.sleep(PAUSE)


def _reason(report: Path, code: int) -> tuple[type[Exception], str]:
    """Say why a process failed."""
    if report.is_file():
        kind, why = json.loads(report.read_text())
        return (ValueError, why) if kind == "ValueError" else (RuntimeError, f"{kind}: {why}")
    if code < 0:
        return RuntimeError, f"ended by {signal.Signals(-code).name}"
    return RuntimeError, f"ended with exit code {code}"


def _main(stage: str, arguments: str) -> int:
    """Do the work of one process; return its exit code."""
    rank = os.environ["RANK"]
    _follow(int(os.environ["TURNSCOPE_PARENT"]))
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO if rank == "0" else logging.WARNING,
        format=f"%(asctime)s %(levelname)s %(name)s [{rank}]: %(message)s",
        force=True,
    )
    spec, *places = json.loads(arguments)
    inputs, outputs = ({name: Path(path) for name, path in files.items()} for files in places)
    try:
        importlib.import_module(f"turnscope.stages.{stage}").work(spec, inputs, outputs)
    except Exception as error:  # the end of the process: whatever it was is reported
        log.error("the process failed", exc_info=True)
        report = Path(os.environ["TURNSCOPE_REPORT"])
        report.write_text(json.dumps([type(error).__name__, str(error)]))
        return 1
    return 0


def _follow(parent: int) -> None:
    """End when the process that started this one does, as far as the system can see to it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        sys.exit("the process that started this one is gone")


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
