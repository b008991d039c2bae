"""Judge the claims of the paper, and judge them again in other ways.

spec: `arms` (in the order of the study: name, algorithm and whether it is told the turns left, of
each), `figures` and `summaries` (those of the study); the rules are fixed in `turnscope.claims`.
inputs: `estimates` (of all metrics, environments and models). outputs: `claims`, `robustness`.
"""

from pathlib import Path
from typing import Any

from turnscope import arms, tables
from turnscope.claims import _judges, _variants
from turnscope.stages import _job


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write both tables."""
    estimates = tables.read_all(_job.every(inputs, "estimates"), "estimates")
    study = arms.listed(spec["arms"])
    judged = _judges.assemble(estimates, study, spec["figures"], spec["summaries"])
    made = {"claims": judged, "robustness": _variants.judge(judged, estimates, study)}
    for name, records in made.items():
        tables.write(tables.conform(records, name), outputs[name], name)


if __name__ == "__main__":
    _job.main(run)
