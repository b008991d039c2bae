"""Figures of likelihoods draw nothing if the likelihoods cannot be trusted, and say why."""

import textwrap

import pandas as pd
from matplotlib.figure import Figure

from turnscope.figures import _style

CHECK, PASSED = "sanity_", "_passed"
LINE = 105
"""Letters of a line that fit across the page."""


def failed(estimates: pd.DataFrame) -> pd.DataFrame:
    """Select the checks that failed, of any policy.

    Args:
        estimates: Rows of table `estimates`.

    Returns:
        Rows of `estimates` with their values, of metrics `sanity_NAME`.
    """
    checks = estimates.loc[estimates["metric"].str.startswith(CHECK)]
    bad = checks.loc[checks["metric"].str.endswith(PASSED) & (checks["value"] == 0)]
    where = ["env", "model", "policy", "metric"]
    keys = bad.assign(metric=bad["metric"].str.removesuffix(PASSED))[where]
    return checks.loc[pd.MultiIndex.from_frame(checks[where]).isin(pd.MultiIndex.from_frame(keys))]


def notice(frame: pd.DataFrame, figure: str) -> str:
    """Say why a figure is not drawn; nothing if it is.

    Args:
        frame: Result of its `data`, which holds failed checks if there are any, and nothing else.
        figure: Its name.
    """
    checks = frame.loc[frame["metric"].str.startswith(CHECK)]
    if checks.empty:
        return ""
    one = checks.iloc[0]
    value, low, high = (f"{one[name]:.4g}" for name in ("value", "low", "high"))
    more = f" ({len(checks) - 1} more failed)" if len(checks) > 1 else ""
    return (
        f"Figure {figure} is not drawn: sanity check {one['metric'].removeprefix(CHECK)} of "
        f"{one['policy']} ({one['env']}, {one['model']}) failed: value {value} [{low}, {high}]"
        f"{more}; see table sanity."
    )


def page(text: str) -> Figure:
    """Draw a notice in place of a figure."""
    figure = Figure(figsize=(_style.DOUBLE, 0.8))
    figure.text(0.5, 0.5, textwrap.fill(text, LINE), ha="center", va="center", fontsize=8)
    return figure
