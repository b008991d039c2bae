"""Section 3.3: does the trained policy solve more from the same states after an error (C3c)?

Both policies go on from prefixes of both, so neither is favoured by whose errors they are. The
interval is over tasks, conditional on the training seeds, whose own differences are printed.

Source:
    Rules: `turnscope.claims._ledger`.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from turnscope.claims import _ledger as ledger
from turnscope.claims._evidence import (
    Subject,
    judgeable,
    judged,
    not_run,
    power,
    row,
    select,
    sided,
    span,
)
from turnscope.claims._seeds import agreement, each_seed, firsts
from turnscope.types import Arm

HEADLINE = "continuation_both"
NAIVE, MIRROR = "naive_continuation_gap", "naive_continuation_mirror"
ERRORS = {"base": "base's errors", "trained": "its own errors"}
"""Sources of the prefixes, in words."""
BOTH, ERROR, INJECTED = "both", "error", "injected"


def judge(estimates: pd.DataFrame, arms: Mapping[str, Arm]) -> list[dict[str, Any]]:
    """Judge C3c for every arm that went on from error states and was trained blind.

    Args:
        estimates: Rows of table `estimates`.
        arms: The arms of the study, by name.

    Returns:
        Records of table `claims`.
    """
    parted = estimates.loc[estimates["metric"] == HEADLINE, ["env", "model", "policy"]]
    found = {Subject(*one) for one in parted.itertuples(index=False)}
    return judged(estimates, arms, {"C3c": _goes_on}, lambda one: one in found)


def _all_left(
    estimates: pd.DataFrame, subject: Subject, metric: str, part: str, *, level: bool = False
) -> pd.DataFrame:
    """Select the row of a metric that counts all turns that are left; none if there is none."""
    rows = select(estimates, subject, metric, None if level else "base", part)
    return rows.loc[rows["t"].isna()]


def _goes_on(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    rows = _all_left(estimates, subject, HEADLINE, f"{BOTH}/{ERROR}")
    if not judgeable(rows):
        detail = "no continuations after the errors of both policies, or no interval of them"
        return not_run("C3c", subject, detail)
    verdict = sided(rows)
    naive = {
        name: _all_left(estimates, subject, name, f"{source}/{ERROR}")
        for name, source in ((NAIVE, "base"), (MIRROR, "trained"))
    }
    parts = [
        *(_cell(estimates, subject, source) for source in ERRORS),
        _said(estimates, subject, "continuation_interaction", {"interaction": f"{BOTH}/{ERROR}"}),
        _said(estimates, subject, HEADLINE, _definitions(estimates, subject)),
        "; ".join(
            f"naive, after {whose} lost episodes alone: {_span(naive[name])}"
            for name, whose in ((NAIVE, "base's"), (MIRROR, "its own"))
            if len(naive[name])
        ),
        _by_seed(estimates, subject),
    ]
    if verdict == ledger.INCONCLUSIVE:
        parts.append(power(rows, "difference"))
    value = naive[NAIVE]["value"].iloc[0] if len(naive[NAIVE]) else None
    shown = {"null_value": 0.0, "naive_value": value}
    return row("C3c", subject, verdict, filter(None, parts), rows.iloc[0], **shown)


def _span(rows: pd.DataFrame) -> str:
    return span(*rows.iloc[0][["value", "low", "high"]])


def _cell(estimates: pd.DataFrame, subject: Subject, source: str) -> str:
    """Write one half of the 2x2 of prefix source and continuing policy, with its bound."""
    part = f"{source}/{ERROR}"
    names = {
        "base": "continuation_base",
        subject.policy: "continuation",
        "bound": "continuation_bound",
    }
    levels = {
        name: _all_left(estimates, subject, metric, part, level=True)
        for name, metric in names.items()
    }
    gap = _all_left(estimates, subject, "continuation_gap", part)
    if gap.empty:
        return ""
    said = [f"{name} {rows['value'].iloc[0]:.3f}" for name, rows in levels.items() if len(rows)]
    return f"after {ERRORS[source]}: {', '.join(said)}; difference {_span(gap)}"


def _definitions(estimates: pd.DataFrame, subject: Subject) -> dict[str, str]:
    """Name the definitions of an error and injected ones, with their parts."""
    here = (estimates["metric"] == HEADLINE) & (estimates["policy"] == subject.policy)
    found = sorted({str(part).partition("/")[2] for part in estimates.loc[here, "part"]})
    names = [name for name in found if name not in (ERROR, INJECTED)] + [INJECTED]
    return {name: f"{BOTH}/{name}" for name in names}


def _said(estimates: pd.DataFrame, subject: Subject, metric: str, parts: Mapping[str, str]) -> str:
    found = {name: _all_left(estimates, subject, metric, part) for name, part in parts.items()}
    return "; ".join(f"{name}: {_span(rows)}" for name, rows in found.items() if len(rows))


def _by_seed(estimates: pd.DataFrame, subject: Subject) -> str:
    """List the training seeds, of which the interval over tasks knows nothing."""
    single = [
        _all_left(estimates, one, HEADLINE, f"{BOTH}/{ERROR}")
        for one in each_seed(estimates, subject)
    ]
    return f"By training seed: {agreement(firsts(single))}"
