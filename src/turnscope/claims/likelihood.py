"""Section 4.1: are RL's actions likely under base (C4a), and do its successes differ (C4b)?

Intervals are over tasks and pool the episodes of the training seeds, so verdicts are conditional on
these seeds.

Source:
    Rules: `turnscope.claims._ledger`. Checks: `turnscope.metrics._checks`.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from turnscope import intervals
from turnscope.claims import _ledger as ledger
from turnscope.claims._evidence import (
    Subject,
    above,
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
from turnscope.metrics._checks import CHECKS
from turnscope.types import Arm

PLAUSIBLE = 1.5
"""Ratio of mean NLLs below which actions count as locally plausible."""
CHECK, PASSED = "sanity_", "_passed"


def judge(estimates: pd.DataFrame, arms: Mapping[str, Arm]) -> list[dict[str, Any]]:
    """Judge C4a and C4b for every arm whose likelihoods were scored.

    Args:
        estimates: Rows of table `estimates`.
        arms: The arms of the study, by name.

    Returns:
        Records of table `claims`.
    """
    scored = estimates.loc[estimates["metric"] == "nll_ratio", ["env", "model", "policy"]]
    found = {Subject(*one) for one in scored.itertuples(index=False)}
    rules = {"C4a": _plausible, "C4b": _departs}
    return judged(estimates, arms, rules, lambda one: one in found)


def _plausible(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    found = select(estimates, subject, "nll_ratio")
    if not judgeable(found):
        return not_run("C4a", subject, "the ratio of mean NLLs has no interval")
    ratio = found.iloc[0]
    verdict = ledger.INCONCLUSIVE
    if below(ratio["high"], PLAUSIBLE):
        verdict = ledger.HOLDS
    elif above(ratio["low"], PLAUSIBLE):
        verdict = ledger.CONTRADICTED
    base = subject._replace(policy="base")
    parts = [
        "Tokens in scope: all that were sampled in the turn, its end included",
        f"mean NLL under base in nats, by action: {_level(estimates, subject, 'nll')} of RL, "
        f"{_level(estimates, base, 'nll')} of base",
        f"that of the median action: {_level(estimates, subject, 'nll_median')} and "
        f"{_level(estimates, base, 'nll_median')}",
        f"mean by token: {_level(estimates, subject, 'nll_token')} and "
        f"{_level(estimates, base, 'nll_token')}",
        f"tokens outside of base's nucleus: {_level(estimates, subject, 'outside')} and "
        f"{_level(estimates, base, 'outside')}",
        f"ratio by training seed: {_each(estimates, subject, 'nll_ratio')}",
    ]
    if verdict == ledger.INCONCLUSIVE:
        ends = float(ratio["low"]), float(ratio["high"])
        room = intervals.detectable(*ends, intervals.standard_error(*ends))
        most = PLAUSIBLE - room
        parts.append(f"a true ratio of at most {most:.3f} would be found with 80% power")
    return row("C4a", subject, verdict, parts, ratio, null_value=1.0)


def _departs(estimates: pd.DataFrame, subject: Subject) -> dict[str, Any]:
    for one in (subject, *each_seed(estimates, subject)):
        if why := _unsound(estimates, one):
            return not_run("C4b", subject, why)
    found = select(estimates, subject, "llr_gap")
    if not judgeable(found):
        return not_run("C4b", subject, "the difference of mean LLRs has no interval")
    gap, verdict = found.iloc[0], sided(found)
    parts = [
        f"Mean LLR in nats of successful episodes: {_llr(estimates, subject, 'trained/success')} "
        f"of RL, {_llr(estimates, subject, 'base/success')} of base",
        f"of failed ones: {_llr(estimates, subject, 'trained/failure')} and "
        f"{_llr(estimates, subject, 'base/failure')}",
        f"of all: {_llr(estimates, subject, 'trained/all')}, which is at least 0 in truth, and "
        f"{_llr(estimates, subject, 'base/all')}, at most 0",
        "any change of the policy gives a difference above 0 over all episodes, the sum of both "
        f"Kullback-Leibler divergences: here {_divergence(estimates, subject)}",
        f"by training seed: {agreement(_values(estimates, subject, 'llr_gap'))}",
        "all sanity checks passed",
    ]
    if verdict == ledger.INCONCLUSIVE:
        parts.append(power(found, "difference"))
    return row("C4b", subject, verdict, parts, gap, null_value=0.0)


def _unsound(estimates: pd.DataFrame, subject: Subject) -> str:
    """Say which check of the likelihoods did not pass; nothing if each was made and passed."""
    here = estimates.loc[
        (estimates["env"] == subject.env)
        & (estimates["model"] == subject.model)
        & (estimates["policy"] == subject.policy)
    ]
    passed = here.loc[here["metric"].str.startswith(CHECK) & here["metric"].str.endswith(PASSED)]
    if passed.empty:
        return f"the likelihoods of {subject.policy} have no sanity checks"
    made = {metric.removeprefix(CHECK).removesuffix(PASSED) for metric in passed["metric"]}
    if missing := [name for name in CHECKS if name not in made]:
        return f"sanity check {missing[0]} of {subject.policy} is missing"
    if strange := sorted(made - set(CHECKS)):
        return f"sanity check {strange[0]} of {subject.policy} is none of {', '.join(CHECKS)}"
    bad = passed.loc[passed["value"] != 1].sort_values(["value", "metric"])
    if bad.empty:
        return ""
    metric = str(bad["metric"].iloc[0]).removesuffix(PASSED)
    name = f"sanity check {metric.removeprefix(CHECK)} of {subject.policy}"
    if pd.isna(bad["value"].iloc[0]):
        return f"{name} could not be made, for want of tasks"
    values = here.loc[here["metric"] == metric, ["value", "low", "high"]]
    told = ", ".join(
        f"{value:+.4g} [{low:+.4g}, {high:+.4g}]" for value, low, high in values.to_numpy()
    )
    return f"{name} failed: {told}"


def _level(estimates: pd.DataFrame, subject: Subject, metric: str) -> str:
    found = select(estimates, subject, metric, None)
    return "unknown" if found.empty else f"{found['value'].iloc[0]:.3f}"


def _llr(estimates: pd.DataFrame, subject: Subject, part: str) -> str:
    found = select(estimates, subject, "llr", None, part)
    return "unknown" if found.empty else span(*found.iloc[0][["value", "low", "high"]])


def _divergence(estimates: pd.DataFrame, subject: Subject) -> str:
    found = select(estimates, subject, "llr_divergence")
    return "unknown" if found.empty else span(*found.iloc[0][["value", "low", "high"]])


def _values(estimates: pd.DataFrame, subject: Subject, metric: str) -> list[float]:
    """List what the training seeds alone show."""
    single = [select(estimates, one, metric) for one in each_seed(estimates, subject)]
    return firsts(single)


def _each(estimates: pd.DataFrame, subject: Subject, metric: str) -> str:
    values = _values(estimates, subject, metric)
    return ", ".join(f"{value:.3f}" for value in values) or "not estimated"
