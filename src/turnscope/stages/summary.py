"""Make one table of the report.

spec: `summary`, `k` (the K at which depth is studied), `arms` (in the order of the study:
name, algorithm and whether it is told the turns left, of each).
inputs: `estimates` and `training`, none or more of each. outputs: `csv`.
"""

from pathlib import Path
from typing import Any

from turnscope import arms, registry, tables
from turnscope.stages import _job


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write the table."""
    summary = registry.load("summaries", spec["summary"])
    estimates, training = (
        tables.read_all(_job.every(inputs, name), name) for name in ("estimates", "training")
    )
    shown = summary.data(estimates, training, k=spec["k"], arms=arms.listed(spec["arms"]))
    with tables.replacing(outputs["csv"]) as draft:
        shown.to_csv(draft, index=False, lineterminator="\n")


if __name__ == "__main__":
    _job.main(run)
