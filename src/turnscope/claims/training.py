"""Section 4.2: does training raise success while single actions get no better (C5)?

Judged for the reference arm, by evaluations during its training: step 0 against the last one. It
plays there as it is trained, blind or told. Intervals are over tasks, so the verdict is conditional
on its training seeds, whose own changes are printed.

Source:
    Rules: `turnscope.claims._ledger`.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from turnscope.claims import _ledger as ledger
from turnscope.claims._evidence import (
    Subject,
    above,
    below,
    judgeable,
    not_run,
    power,
    reference,
    row,
    select,
    span,
)
from turnscope.claims._seeds import agreement, each_seed, firsts
from turnscope.types import Arm

MULTI, SINGLE, PROBE = "r_multi_change", "r_single_change", "r_single_probe_change"
PARTS = {
    "composition": "r_single_composition",
    "within states": "r_single_within",
}
OTHERS = {
    "every task alike": "r_single_task_change",
    "first turns": "r_single_first_change",
}


def judge(estimates: pd.DataFrame, arms: Mapping[str, Arm]) -> list[dict[str, Any]]:
    """Judge C5 for the reference arm of every environment and model.

    Args:
        estimates: Rows of table `estimates`.
        arms: The arms of the study, by name.

    Returns:
        Records of table `claims`.
    """
    changed = estimates.loc[estimates["metric"] == MULTI, ["env", "model", "policy"]]
    found = sorted({Subject(*one) for one in changed.itertuples(index=False)})
    return [
        _success_without_skill(estimates, one, arms[one.policy])
        for one in found
        if one.policy == reference(estimates, one)
    ]


def _last(estimates: pd.DataFrame, subject: Subject, metric: str) -> pd.DataFrame:
    rows = select(estimates, subject, metric)
    return rows.loc[rows["t"] == select(estimates, subject, MULTI)["t"].max()]


def _success_without_skill(estimates: pd.DataFrame, subject: Subject, arm: Arm) -> dict[str, Any]:
    multi, single, probe = (_last(estimates, subject, name) for name in (MULTI, SINGLE, PROBE))
    if not all(judgeable(rows) for rows in (multi, single, probe)):
        detail = "no step quality in this environment, no probe states, or one without interval"
        return not_run("C5", subject, detail)
    rises, falls = above(multi["low"]).all(), below(single["high"]).all()
    if below(multi["high"]).all() or above(probe["low"]).all():
        verdict = ledger.CONTRADICTED
    else:
        verdict = ledger.HOLDS if rises and falls else ledger.INCONCLUSIVE
    parts = [
        f"step 0 to {multi['t'].iloc[0]}: R_multi {_said(multi)}; R_single on-policy "
        f"{_said(single)}, on probe states {_said(probe)}",
        _named(estimates, subject, "On-policy change split", PARTS),
        _named(estimates, subject, "On-policy otherwise", OTHERS),
        _by_seed(estimates, subject),
        "Its episodes show the turns left, probe states do not" if arm.told else "",
    ]
    if verdict != ledger.CONTRADICTED:
        # an interval that is not above 0 may just be wide
        parts.append(power(probe, "rise of R_single on probe states"))
    if verdict == ledger.INCONCLUSIVE and not rises:
        parts.append(power(multi, "rise of R_multi"))
    if verdict == ledger.INCONCLUSIVE and not falls:
        parts.append(power(single, "fall of on-policy R_single"))
    composition = _last(estimates, subject, PARTS["composition"])
    one = single.iloc[0]
    null = None if composition.empty else composition["value"].iloc[0]
    return row("C5", subject, verdict, filter(None, parts), one, null_value=null)


def _said(rows: pd.DataFrame) -> str:
    return span(*rows.iloc[0][["value", "low", "high"]])


def _named(estimates: pd.DataFrame, subject: Subject, title: str, metrics: dict[str, str]) -> str:
    found = {name: _last(estimates, subject, metric) for name, metric in metrics.items()}
    said = [f"{name} {_said(rows)}" for name, rows in found.items() if not rows.empty]
    return f"{title}: {', '.join(said)}" if said else ""


def _by_seed(estimates: pd.DataFrame, subject: Subject) -> str:
    """List the training seeds, of which the intervals over tasks know nothing."""
    changes = {
        "R_multi": MULTI,
        "R_single on-policy": SINGLE,
        "R_single on probe states": PROBE,
    }
    texts = []
    for title, metric in changes.items():
        single = [_last(estimates, one, metric) for one in each_seed(estimates, subject)]
        texts.append(f"{title} {agreement(firsts(single))}")
    return f"By training seed: {'; '.join(texts)}"
