"""Write the report.

spec: `k` (the K at which depth is studied), `margin` (of the self-test), `facts` (the setup: by
heading and name), `arms` (in the order of the study: name, algorithm and whether it is told the
turns left, of each).
inputs: `figures` (SVG) and `data` (CSV) of each figure and `summaries` (CSV) in the order of the
page, `estimates` (of all metrics, environments and models), `claims`, and `calibration` if there is
one. outputs: `report`.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from turnscope import arms, atomic, registry, report, tables
from turnscope.stages import _job

SHARED = "_evidence"
"""What all modules that judge claims share."""


def run(spec: dict[str, Any], inputs: dict[str, Path], outputs: dict[str, Path]) -> None:
    """Write one HTML file that needs no other."""
    claims = tables.read(inputs["claims"], "claims")
    page = report.render(
        _pictures(inputs),
        claims,
        tables.read_all(_job.every(inputs, "estimates"), "estimates"),
        k=spec["k"],
        margin=spec["margin"],
        facts=spec["facts"],
        sheets=_sheets(inputs),
        arms=arms.listed(spec["arms"]),
        calibration=tables.read_all(_job.every(inputs, "calibration"), "calibration"),
        code=_code(claims),
    )
    atomic.write_text(page, outputs["report"])


def _pictures(inputs: dict[str, Path]) -> list[report.Picture]:
    pictures = []
    for svg, data in zip(_job.every(inputs, "figures"), _job.every(inputs, "data"), strict=True):
        figure = registry.load("figures", svg.stem)
        caption = figure.caption(pd.read_csv(data))
        pictures.append(
            report.Picture(svg.stem, figure.TITLE, caption, svg.read_text(), data.read_text())
        )
    return pictures


def _sheets(inputs: dict[str, Path]) -> list[report.Sheet]:
    sheets = []
    for path in _job.every(inputs, "summaries"):
        summary = registry.load("summaries", path.stem)
        caption = summary.caption(pd.read_csv(path))
        sheets.append(report.Sheet(path.stem, summary.TITLE, caption, path.read_text()))
    return sheets


def _code(claims: pd.DataFrame) -> dict[str, str]:
    """Read the modules that judged, and what they share."""
    names = sorted(claims["code"].dropna().unique())
    shared = [f"claims.{SHARED}"] if names else []
    return {
        name: registry.source("claims", name.removeprefix("claims.")).read_text("utf-8")
        for name in [*names, *shared]
    }


if __name__ == "__main__":
    _job.main(run)
