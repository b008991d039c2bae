"""Judge the claims of the paper.

spec: `arms` (in the order of the study: name, algorithm and whether it is told the turns left, of
each); the rules are fixed in `turnscope.claims`.
inputs: `estimates` (of all metrics, environments and models). outputs: `claims`.
"""

from pathlib import Path
from typing import Any

from turnscope import arms, tables
from turnscope.claims import _ledger
from turnscope.stages import _job


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write table `claims`."""
    estimates = tables.read_all(_job.every(inputs, "estimates"), "estimates")
    judged = _ledger.assemble(estimates, arms.listed(spec["arms"]))
    rows = tables.conform(judged, "claims")
    tables.write(rows, outputs["claims"], "claims")


if __name__ == "__main__":
    _job.main(run)
