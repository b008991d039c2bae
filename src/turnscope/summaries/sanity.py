"""Can the numbers be trusted? Checks that must pass whatever the policies are."""

from collections.abc import Mapping

import pandas as pd

from turnscope.arms import arm_of
from turnscope.metrics._checks import CHECKS, FREE, WORST
from turnscope.types import Arm

SOURCES = ("likelihood", "truncation")
TITLE = "Sanity checks"
CAPTION = (
    "Checks that hold in expectation whatever the policies do. LLR: log-probability under the "
    "trained policy minus that under base. Of likelihoods, the bracket is the 99.9% interval over "
    "tasks (t), and a check fails if it lies wholly outside of what is allowed. Log-probabilities "
    "of the sampler and of a second scoring are measured, not estimated: the bracket holds the "
    "least and the largest task, and a check fails if its value is not allowed or a task is more "
    "than {worst:g} times as far out. A failed check is drawn as a notice in place of the figures "
    "of likelihoods and leaves claim C4b not run, as does one that needs more tasks (open). "
    "Truncation: Pass@(k,T) of episodes "
    "played anew under T minus that of episodes cut at T, 90% interval; yes: equivalent by two "
    "one-sided tests at 5%; no: not so, and different by sign flips at 5% (Bonferroni over these "
    "rows of an environment and model); open: neither, for want of episodes."
)
KEYS = ["env", "model", "policy"]
COLUMNS = [*KEYS, "check", "value", "value_low", "value_high", "allowed", "passed"]
LEVEL = 0.05


def data(
    estimates: pd.DataFrame, training: pd.DataFrame, *, k: int, arms: Mapping[str, Arm]
) -> pd.DataFrame:
    """Gather the checks of likelihoods and of truncation.

    Args:
        estimates: Rows of `estimates`.
        training: Not used.
        k: Not used.
        arms: The arms of the study by name, in order.

    Returns:
        One row for each check and policy: `passed` is `yes`, `no` or `open`.

    Raises:
        ValueError: Nothing was checked.
    """
    parts = [_likelihoods(estimates), _truncation(estimates)]
    if all(part.empty for part in parts):
        raise ValueError("sanity: no estimate of a check to show")
    table = pd.concat([part for part in parts if len(part)], ignore_index=True)
    names = ["base", *arms]
    places = table["policy"].map(arm_of).map({name: place for place, name in enumerate(names)})
    table = table.assign(place=places.fillna(len(names)))
    order = ["env", "model", "place", "policy", "number", "t", "k"]
    return table.sort_values(order, ignore_index=True)[COLUMNS]


def caption(frame: pd.DataFrame) -> str:
    """Describe the table to a reader who sees nothing else of the study.

    Args:
        frame: Result of `data`.
    """
    counts = frame["passed"].value_counts()
    told = ", ".join(f"{counts.get(name, 0)} {name}" for name in ("yes", "no", "open"))
    return f"{CAPTION.format(worst=WORST)} Here: {told}."


def _likelihoods(estimates: pd.DataFrame) -> pd.DataFrame:
    parts = []
    for number, (name, check) in enumerate(CHECKS.items()):
        found = _shown(estimates, f"sanity_{name}")
        passed = _shown(estimates, f"sanity_{name}_passed")[[*KEYS, "value"]]
        both = found.merge(passed.rename(columns={"value": "sound"}), on=KEYS, validate="1:1")
        verdict = both["sound"].map({1.0: "yes", 0.0: "no"}).fillna("open")
        allowed = _allowed(check.least, check.most)
        parts.append(both.assign(check=check.what, allowed=allowed, passed=verdict, number=number))
    return pd.concat(parts, ignore_index=True)


def _truncation(estimates: pd.DataFrame) -> pd.DataFrame:
    """Combine the tests of equivalence and of difference."""
    cell = [*KEYS, "k", "t"]
    found = _shown(estimates, "truncation_equivalence")
    other = _shown(estimates, "truncation")[[*cell, "p_value"]]
    both = found.merge(other.rename(columns={"p_value": "p_differ"}), on=cell, validate="1:1")
    if both.empty:
        return both
    tests = both.groupby(KEYS[:2])["p_differ"].transform("size")
    verdict = pd.Series("open", index=both.index)
    verdict[both["p_differ"] < LEVEL / tests] = "no"
    verdict[both["p_value"] < LEVEL] = "yes"
    named = [f"truncation, k={k}, T={t}" for k, t in zip(both["k"], both["t"], strict=True)]
    allowed = "within the margin of equivalence"
    return both.assign(check=named, allowed=allowed, passed=verdict, number=len(CHECKS))


def _shown(estimates: pd.DataFrame, metric: str) -> pd.DataFrame:
    chosen = estimates.loc[estimates["metric"] == metric]
    return chosen.rename(columns={"low": "value_low", "high": "value_high"})


def _allowed(least: float, most: float) -> str:
    if least == -FREE:
        return f"at most {most:g}"
    return f"at least {least:g}" if most == FREE else f"{least:g} to {most:g}"
