"""Draw one figure.

spec: `figure`, `k` (the K at which depth is studied), `arms` (in the order of the study:
name, algorithm and whether it is told the turns left, of each), and `facts` (the setup: by heading
and name) if the figure shows them.
inputs: `estimates`, `training`, `claims`, `robustness` and `calibration`, none or more of each.
outputs: `pdf`, `svg`, `png`, `csv`.
"""

from pathlib import Path
from typing import Any

from turnscope import registry
from turnscope.figures import _style
from turnscope.stages import _job, _shown

KINDS = ("pdf", "svg", "png", "csv")


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write the figure, and beside it the numbers that it shows."""
    figure = registry.load("figures", spec["figure"])
    shown = _shown.data(figure, spec, inputs)
    _style.save(figure.plot(shown), shown, [outputs[kind] for kind in KINDS])


if __name__ == "__main__":
    _job.main(run)
