"""Run the analysis on synthetic studies whose truth is known.

spec: `studies` (without any effect), `draws` (bootstrap samples of each) and `seed` (of the study).
No inputs. outputs: `calibration`. It starts as many processes as it may use threads
(OMP_NUM_THREADS), of one thread each; the table does not depend on their number.
"""

import os
from pathlib import Path
from typing import Any

from turnscope import calibration, tables
from turnscope.stages import _job

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write table `calibration`."""
    del inputs
    workers = int(os.environ.get(THREADS[0], 1))
    os.environ.update(dict.fromkeys(THREADS, "1"))
    rows = calibration.run(spec["studies"], spec["draws"], spec["seed"], workers)
    tables.write(tables.conform(rows, "calibration"), outputs["calibration"], "calibration")


if __name__ == "__main__":
    _job.main(run)
