"""Section 3.3, step by step in matched states: are RL's actions better (C3a, C3b, C3d)?

Judged on states of both policies together. Intervals are over tasks, so verdicts are conditional on
the training seeds, whose own values are printed. What two identical policies would show is printed
beside each value, and so is what the naive protocol shows.

Source:
    Rules: `turnscope.claims._ledger`.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from turnscope.claims import _ledger as ledger
from turnscope.claims._evidence import (
    BASE,
    Subject,
    below,
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

MIXTURE = "mixture/"
ALL, ERROR, CLEAN = f"{MIXTURE}all", f"{MIXTURE}error", f"{MIXTURE}clean"
VISITED = ("base/all", "trained/all")
EVEN, MAJORITY = 0.5, 0.5
"""No difference in single actions; what is not a majority."""
AHEAD = EVEN + 0.05
"""Mann-Whitney probability from which on the actions are better."""
SHARES = ("better", "tie", "worse")
PAPER = {"frozen_lake": (0.428, 0.657), "deepcoder": (0.468, 0.673)}
"""The paper's shares of better states by environment, of all of them and after errors."""


def judge(estimates: pd.DataFrame, arms: Mapping[str, Arm]) -> list[dict[str, Any]]:
    """Judge these claims for every arm that was trained blind and compared in matched states.

    Args:
        estimates: Rows of table `estimates`.
        arms: The arms of the study, by name.

    Returns:
        Records of table `claims`.
    """
    rules = {"C3a": _any_better, "C3b": _better_after_errors, "C3d": _later}
    compared = (estimates["metric"] == "step_better") & (estimates["against"] == BASE)
    found = estimates.loc[compared, ["env", "model", "policy"]]
    subjects = {Subject(*one) for one in found.itertuples(index=False)}
    return judged(estimates, arms, rules, lambda one: one in subjects)


def _one(estimates: pd.DataFrame, subject: Subject, metric: str, part: str) -> pd.DataFrame:
    """Select the row of a metric over all depths."""
    rows = select(estimates, subject, metric, part=part)
    return rows.loc[rows["t"].isna()]


def _said(rows: pd.DataFrame) -> str:
    """Write a share or probability with its interval."""
    if rows.empty:
        return "not estimated"
    value, low, high = rows.iloc[0][["value", "low", "high"]]
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _difference(rows: pd.DataFrame) -> str:
    """Write a difference with its interval."""
    return "not estimated" if rows.empty else span(*rows.iloc[0][["value", "low", "high"]])


def _value(rows: pd.DataFrame) -> float | None:
    return None if rows.empty else float(rows["value"].iloc[0])


def _any_better(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    better = _one(estimates, subject, "step_better", ALL)
    win = _one(estimates, subject, "step_win", ALL)
    if not (judgeable(better) and judgeable(win)):
        return not_run("C3a", subject, "no difference in matched states that has an interval")
    majority, ahead = sided(better, MAJORITY), sided(win, AHEAD)
    # `sided` is about being above, which the claim denies
    if ledger.HOLDS in (majority, ahead):
        verdict = ledger.CONTRADICTED
    else:
        both = majority == ahead == ledger.CONTRADICTED
        verdict = ledger.HOLDS if both else ledger.INCONCLUSIVE
    null = _one(estimates, subject, "step_better_null", ALL)
    parts = [
        f"states {_shares(estimates, subject, '')}",
        _tied(estimates, subject),
        f"identical policies with these actions: {_shares(estimates, subject, '_null')}",
        f"Mann-Whitney probability {_said(win)}",
        f"posterior above 0.9: {_shares(estimates, subject, '_sure')}, the rest undetermined",
        f"mean difference in quality {_difference(_one(estimates, subject, 'step_gap', ALL))}",
        "Its actions are worse than base's, not just no better"
        if below(win["high"], EVEN).all()
        else "",
        _by_seed(estimates, subject, "Mann-Whitney minus 0.5", "step_win", ALL, EVEN),
    ]
    if verdict == ledger.INCONCLUSIVE:
        for rows, side, what, threshold in (
            (win, ahead, "Mann-Whitney probability", AHEAD),
            (better, majority, "share of better states", MAJORITY),
        ):
            if side == ledger.INCONCLUSIVE:
                parts.append(power(rows, what, threshold=threshold))
    return row(
        "C3a", subject, verdict, filter(None, parts), better.iloc[0], null_value=_value(null)
    )


def _shares(estimates: pd.DataFrame, subject: Subject, suffix: str) -> str:
    said = [
        f"{name} {_said(_one(estimates, subject, f'step_{name}{suffix}', ALL))}" for name in SHARES
    ]
    return ", ".join(said)


def _tied(estimates: pd.DataFrame, subject: Subject) -> str:
    margin = _value(_one(estimates, subject, "step_tie_margin", ALL))
    return "" if margin is None else f"mean qualities up to {margin:g} apart tie"


def _better_after_errors(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    contrast = _one(estimates, subject, "step_error_contrast", ERROR)
    if not judgeable(contrast):
        return not_run("C3b", subject, "no states after an error beside clean ones, or no interval")
    verdict = sided(contrast)
    after, clean = (_one(estimates, subject, "step_win", part) for part in (ERROR, CLEAN))
    naive = _one(estimates, subject, "naive_error_win", ALL)
    null = _one(estimates, subject, "naive_error_win_null", ALL)
    parts = [
        f"Mann-Whitney probability after an error {_said(after)}, in clean states {_said(clean)}",
        _by_definition(estimates, subject),
        _confounded(estimates, subject),
        f"Naive protocol, error states by base's own actions: better in {_said(naive)} of those "
        f"that do not tie, where identical policies show {_said(null)}",
        _implied(estimates, subject),
        _by_seed(estimates, subject, "difference", "step_error_contrast", ERROR),
    ]
    if verdict == ledger.INCONCLUSIVE:
        parts.append(power(contrast, "difference"))
    shown = {"null_value": 0.0, "naive_value": _value(naive)}
    return row("C3b", subject, verdict, filter(None, parts), contrast.iloc[0], **shown)


def _by_definition(estimates: pd.DataFrame, subject: Subject) -> str:
    contrasts = estimates.loc[estimates["metric"] == "step_error_contrast", "part"].unique()
    found = {
        part.removeprefix(MIXTURE): _one(estimates, subject, "step_error_contrast", part)
        for part in sorted(contrasts)
        if part.startswith(MIXTURE) and part != ERROR
    }
    said = [f"{kind} {_difference(rows)}" for kind, rows in found.items() if not rows.empty]
    return f"By kind of error: {', '.join(said)}" if said else ""


def _confounded(estimates: pd.DataFrame, subject: Subject) -> str:
    """Say so where states without an error are found only early."""
    after, clean = (
        select(estimates, subject, "step_win", part=part)["t"].dropna() for part in (ERROR, CLEAN)
    )
    if after.empty or clean.empty or clean.max() >= after.max():
        return ""
    return (
        f"All states without an error are among the first {clean.max():.0f} turns, so this is a "
        "matter of depth as well"
    )


def _implied(estimates: pd.DataFrame, subject: Subject) -> str:
    """Say what the paper's two shares leave for clean states, if errors are as frequent as here."""
    found = [_one(estimates, subject, "step_error_share", part) for part in VISITED]
    if subject.env not in PAPER or any(rows.empty for rows in found):
        return ""
    share = sum(float(rows["value"].iloc[0]) for rows in found) / len(found)
    overall, after = PAPER[subject.env]
    if not below(share, 1.0):
        return ""
    left = (overall - share * after) / (1 - share)
    return (
        f"Of visited states, {share:.0%} are after an error; the paper's {overall:.1%} of all and "
        f"{after:.1%} of error states would leave {left:.1%} of the others"
    )


def _later(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    slope, raw = (_one(estimates, subject, name, ALL) for name in ("step_win_slope", "step_slope"))
    if not (judgeable(slope) and judgeable(raw)):
        return not_run("C3d", subject, "no matched states at several depths, or no interval")
    verdict = sided(pd.concat([slope, raw]))
    parts = [
        f"Slope of the Mann-Whitney probability {_difference(slope)}, of the difference in quality "
        f"{_difference(raw)}",
        _quarters(estimates, subject, "Difference in quality", "step_gap", "+.3f"),
        _quarters(estimates, subject, "Mann-Whitney probability", "step_win", ".3f"),
        _by_seed(estimates, subject, "slope of the probability", "step_win_slope", ALL),
        _by_seed(estimates, subject, "slope of the difference", "step_slope", ALL),
    ]
    if verdict == ledger.INCONCLUSIVE:
        parts += [
            power(slope, "slope of the probability"),
            power(raw, "slope of the difference"),
        ]
    return row("C3d", subject, verdict, filter(None, parts), slope.iloc[0], null_value=0.0)


def _quarters(estimates: pd.DataFrame, subject: Subject, title: str, metric: str, form: str) -> str:
    """List what is found in each quarter of T_max, by its last turn."""
    rows = select(estimates, subject, metric, part=ALL)
    rows = rows.loc[rows["t"].notna(), ["t", "value"]]
    said = [f"to turn {t}: {value:{form}}" for t, value in rows.itertuples(index=False)]
    return f"{title} {'; '.join(said)}" if said else ""


def _by_seed(
    estimates: pd.DataFrame, subject: Subject, what: str, metric: str, part: str, null: float = 0.0
) -> str:
    """List the training seeds, of which the intervals over tasks know nothing."""
    single = [_one(estimates, one, metric, part) for one in each_seed(estimates, subject)]
    return f"By training seed, {what}: {agreement(firsts(single, null))}"
