"""Estimate one metric of all policies in one environment.

spec: `env`, `model`, `metric`, `settings` (fields of `turnscope.metrics.Settings`).
inputs: `tasks`, `rows` (what the metric is made from, of all policies). outputs: `estimates`.
"""

from pathlib import Path
from typing import Any

from turnscope import registry, tables
from turnscope.metrics import COLUMNS, TASKS, Settings
from turnscope.stages import _job


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write table `estimates`."""
    metric = registry.load("metrics", spec["metric"])
    tasks = tables.read(inputs["tasks"], "tasks", TASKS)
    source = getattr(metric, "SOURCE", "episodes")
    table = "episodes" if source == "heated" else source
    rows = tables.read_all(_job.every(inputs, "rows"), table, COLUMNS[source])
    estimates = metric.estimate(tasks, rows, Settings(**spec["settings"]))
    tables.write(tables.conform(estimates, "estimates"), outputs["estimates"], "estimates")


if __name__ == "__main__":
    _job.main(run)
