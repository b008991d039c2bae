"""Processes of a job that need no training: `work` of a stage that is none."""

import os
import signal
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from turnscope.stages import _ranks


def work(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    rank = os.environ["RANK"]
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "OMP_NUM_THREADS")
    facts = [*(os.environ[name] for name in names), inputs["given"].read_text()]
    (outputs["folder"] / rank).write_text(f"{' '.join(facts)} {os.getpid()}")
    act = spec.get(rank)
    if act == "refuse":
        raise ValueError("training.tasks = 3: no")
    if act == "break":
        raise FloatingPointError("step 4: the loss is nan")
    if act == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if act == "wait":
        time.sleep(600)


toy: Any = ModuleType("turnscope.stages.toy")
toy.work = work
sys.modules[toy.__name__] = toy

if __name__ == "__main__":
    sys.exit(_ranks._main(*sys.argv[1:]))
