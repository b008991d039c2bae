"""What figures and summaries are made from."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from turnscope import arms, tables
from turnscope.stages import _job

STUDY = ("claims", "robustness", "calibration")
"""Tables of the whole study."""


def data(module: ModuleType, spec: dict[str, Any], inputs: dict[str, Path]) -> pd.DataFrame:
    """Select what a figure or a summary shows.

    Args:
        module: The figure or summary. It gets estimates and training curves, and of `STUDY` and
            `setup` what its `SOURCES` name.
        spec: Holds `k`, `arms`, and `facts` where the module shows the setup.
        inputs: `estimates`, `training` and `STUDY`, none or more of each.
    """
    estimates, training = (
        tables.read_all(_job.every(inputs, name), name) for name in ("estimates", "training")
    )
    more: dict[str, Any] = {
        name: tables.read_all(_job.every(inputs, name), name)
        for name in STUDY
        if name in module.SOURCES
    }
    if "setup" in module.SOURCES:
        more["setup"] = spec["facts"]
    return module.data(estimates, training, k=spec["k"], arms=arms.listed(spec["arms"]), **more)
