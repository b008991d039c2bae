"""Write the report.

spec: `k` (the K at which depth is studied), `margin` (of the self-test), `facts` (the setup: by
heading and name), `arms` (in the order of the study: name, algorithm and whether it is told the
turns left, of each).
inputs: `figures` (SVG) and `data` (CSV) of each figure and `summaries` (CSV) in the order of the
page, `estimates` (of all metrics, environments and models), `claims`. outputs: `report`.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from turnscope import arms, registry, report, tables
from turnscope.stages import _job


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write one HTML file that needs no other."""
    pictures = []
    for svg, data in zip(_job.every(inputs, "figures"), _job.every(inputs, "data"), strict=True):
        figure = registry.load("figures", svg.stem)
        caption = figure.caption(pd.read_csv(data))
        pictures.append(
            report.Picture(svg.stem, figure.TITLE, caption, svg.read_text(), data.read_text())
        )
    sheets = []
    for path in _job.every(inputs, "summaries"):
        summary = registry.load("summaries", path.stem)
        caption = summary.caption(pd.read_csv(path))
        sheets.append(report.Sheet(path.stem, summary.TITLE, caption, path.read_text()))
    page = report.render(
        pictures,
        tables.read(inputs["claims"], "claims"),
        tables.read_all(_job.every(inputs, "estimates"), "estimates"),
        k=spec["k"],
        margin=spec["margin"],
        facts=spec["facts"],
        sheets=sheets,
        arms=arms.listed(spec["arms"]),
    )
    with tables.replacing(outputs["report"]) as draft:
        draft.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    _job.main(run)
