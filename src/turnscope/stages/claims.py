"""Judge the claims of the paper.

spec: empty; the rules are fixed in `turnscope.claims`.
inputs: `estimates` (of all metrics, environments and models). outputs: `claims`.
"""

from pathlib import Path
from typing import Any

from turnscope import tables
from turnscope.claims import _ledger
from turnscope.stages import _job


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write table `claims`."""
    estimates = tables.read_all(_job.every(inputs, "estimates"), "estimates")
    rows = tables.conform(_ledger.assemble(estimates), "claims")
    tables.write(rows, outputs["claims"], "claims")


if __name__ == "__main__":
    _job.main(run)
