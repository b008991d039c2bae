"""The front page of a study: one HTML file with verdicts, numbers and figures.

It loads nothing from anywhere, and equal inputs give equal bytes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from turnscope.arms import is_seed
from turnscope.report import _page, _pictures, _sheets, _studies, _verdicts
from turnscope.report._pictures import Picture
from turnscope.report._sheets import Sheet
from turnscope.report._verdicts import MARKS
from turnscope.report._words import interval, span
from turnscope.types import Arm

__all__ = ["MARKS", "Picture", "Sheet", "render"]


def render(
    pictures: Sequence[Picture],
    claims: pd.DataFrame,
    estimates: pd.DataFrame,
    *,
    k: int,
    margin: float,
    arms: Mapping[str, Arm],
    sheets: Sequence[Sheet],
    facts: Mapping[str, Mapping[str, Any]],
    calibration: pd.DataFrame,
    code: Mapping[str, str],
) -> str:
    """Write the report.

    Args:
        pictures: The figures in the order of the page.
        claims: Rows of `claims`.
        estimates: Rows of `estimates`, for the tables of numbers.
        k: The K at which depth is studied.
        margin: Largest difference that does not matter, of the self-test.
        arms: The arms of the study by name, in order.
        sheets: Tables in the order of the page.
        facts: What else there is to know of the setup, by heading and name.
        calibration: Rows of `calibration`; none if the instrument was not calibrated.
        code: Text of the modules that judged, by name as in `claims`.

    Returns:
        A whole HTML document without a reference to any other file.

    Raises:
        ValueError: A claim has a verdict that does not exist.
    """
    trained = estimates.loc[~is_seed(estimates["policy"]) & (estimates["seeds"] > 0)]
    figures, summaries = ([one.name for one in shown] for shown in (pictures, sheets))
    rows = _verdicts.rows(claims, figures, summaries, code)
    return _page.fill(
        marks=MARKS,
        tally=_verdicts.tally(rows),
        judged=_verdicts.judged(rows),
        not_run=[row for row in rows if row["verdict"] == "not run"],
        artefacts=bool(claims[["null_value", "naive_value"]].notna().to_numpy().any()),
        seeds=span(sorted(set(trained["seeds"].astype(int)))),
        studies=_studies.studies(estimates, k, arms),
        calibration=[_calibrated(record) for record in calibration.to_dict("records")],
        sheets=[_sheets.shown(sheet) for sheet in sheets],
        margin=margin,
        endings=[*_studies.ENDINGS.values(), *_studies.LENGTHS.values(), "tasks never played"],
        groups=_pictures.grouped(pictures),
        setup=[(title, list(values.items())) for title, values in facts.items()],
        code=sorted(code.items()),
    )


def _calibrated(record: dict[Any, Any]) -> dict[str, Any]:
    return record | {"interval": interval(record["low"], record["high"])}
