"""Make one table of the report.

spec: `summary`, `k` (the K at which depth is studied), `arms` (in the order of the study:
name, algorithm and whether it is told the turns left, of each), and `facts` (the setup: by heading
and name) if the table shows them.
inputs: `estimates`, `training`, `claims`, `robustness` and `calibration`, none or more of each.
outputs: `csv`.
"""

from pathlib import Path
from typing import Any

from turnscope import atomic, registry
from turnscope.stages import _job, _shown


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write the table."""
    shown = _shown.data(registry.load("summaries", spec["summary"]), spec, inputs)
    with atomic.replacing(outputs["csv"]) as draft:
        shown.to_csv(draft, index=False, lineterminator="\n")


if __name__ == "__main__":
    _job.main(run)
