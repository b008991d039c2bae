"""Draw one figure.

spec: `figure`, `k` (the K at which depth is studied), `arms` (in the order of the study:
name, algorithm and whether it is told the turns left, of each).
inputs: `estimates` and `training`, none or more of each. outputs: `pdf`, `svg`, `png`, `csv`.
"""

from pathlib import Path
from typing import Any

from turnscope import arms, registry, tables
from turnscope.figures import _style
from turnscope.stages import _job

KINDS = ("pdf", "svg", "png", "csv")


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write the figure, and beside it the numbers that it shows."""
    figure = registry.load("figures", spec["figure"])
    estimates, training = (
        tables.read_all(_job.every(inputs, name), name) for name in ("estimates", "training")
    )
    shown = figure.data(estimates, training, k=spec["k"], arms=arms.listed(spec["arms"]))
    _style.save(figure.plot(shown), shown, [outputs[kind] for kind in KINDS])


if __name__ == "__main__":
    _job.main(run)
