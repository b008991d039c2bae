"""Arms against a reference arm, each as the mean over its training seeds.

Metrics, by arm (`against` is the reference arm of the settings), at k = 1 and the k of depth:

- `between_arms`, at every T: difference in Pass@(k,T), paired by task, with intervals over tasks
  and, at the quarters of T_max, sign-flip p-values. Conditional on the training seeds.
- `between_arms_seeds`, at every T: the same difference over training seeds, paired by their number
  (the seeds that both arms have), with the t interval of S - 1 degrees of freedom and its p-value.
- `between_arms_pair`, at the quarters of T_max: the same difference of one training seed, named as
  its policies; without an interval.
- `between_arms_holm`, `between_arms_seeds_holm`, at the quarters of T_max: p-values of those two
  metrics, adjusted by Holm; also in column `value`. The family is the four quarters at one k.
- `between_arms_lower`, at the quarters of T_max: for parity. The 90% t interval over seeds, whose
  lower end is that of the one-sided 95% test, and the p-value of a loss of 0.02 or more.
- `between_arms_auc` (t is null): difference in budget AUC, paired by task.

Seeds of equal number share the order of training tasks and their noise, hence the pairs. Fewer than
two, or differences that do not vary at all, give no interval over seeds.

Source:
    Paired comparison of evaluations: Miller 2024, arXiv:2411.00640. t interval on means of seeds:
    Agarwal et al. 2021, arXiv:2108.13264. Non-inferiority: see `turnscope.intervals`.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope import estimators, intervals
from turnscope.arms import seeded
from turnscope.metrics import Settings
from turnscope.metrics._outcomes import Study, read
from turnscope.metrics._rows import (
    bootstrap,
    holm,
    joined,
    mean,
    over_seeds,
    p_values,
    pointwise,
    rows,
)
from turnscope.metrics._series import Series, area, arms, series

Floats = npt.NDArray[np.float64]


def estimate(tasks: pd.DataFrame, episodes: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Compare every arm with the reference arm.

    Args:
        tasks: Rows of table `tasks`.
        episodes: Rows of table `episodes`, all policies of one environment and model.
        settings: Uses `k`, `reference`, `draws` and `seed`.

    Returns:
        Rows of table `estimates`; none without the reference arm or without another one.

    Raises:
        ValueError: See `_outcomes.read`.
    """
    study = read(tasks, episodes, settings)
    groups = arms(list(study.outcomes))
    others = [arm for arm in groups if arm != settings.reference]
    if settings.reference not in groups or not others:
        return joined([])
    ks = sorted({1, settings.k})
    levels = {one.policy: one for one in series(study.outcomes, estimators.pass_at_k, ks)}
    weights, signs = study.weights(), study.signs()
    parts = []
    for arm in others:
        gap = levels[arm].minus(levels[settings.reference])
        parts += _over_tasks(study, gap, ks, weights, signs)
        pairs = _pairs(levels, groups, arm, settings.reference)
        named = [replace(one, policy=arm, against=settings.reference) for one in pairs]
        parts += _over_seeds(study, named, ks)
        parts += _each(study, pairs, ks)
    return joined(parts)


def _over_tasks(
    study: Study, gap: Series, ks: list[int], weights: Floats, signs: Floats
) -> Iterator[pd.DataFrame]:
    quarters = [turns - 1 for turns in study.quarters]
    columns = pointwise(gap, bootstrap(gap, weights)) | {"p_value": p_values(gap, signs, quarters)}
    yield rows(study, "between_arms", gap, ks, study.turns, columns)
    yield holm(study, "between_arms_holm", gap, ks, columns["p_value"])
    whole = area(gap)
    columns = pointwise(whole, bootstrap(whole, weights)) | {"p_value": p_values(whole, signs)}
    yield rows(study, "between_arms_auc", whole, ks, [None], columns)


def _pairs(
    levels: dict[str, Series], groups: dict[str, list[str]], arm: str, reference: str
) -> list[Series]:
    """Subtract policies of equal seed."""
    ours, theirs = (_by_seed(groups[one]) for one in (arm, reference))
    return [
        levels[ours[seed]].minus(levels[theirs[seed]])
        for seed in sorted(ours.keys() & theirs.keys())
    ]


def _by_seed(policies: list[str]) -> dict[int, str]:
    return {one.seed: policy for policy in policies if (one := seeded(policy))}


def _over_seeds(study: Study, pairs: list[Series], ks: list[int]) -> Iterator[pd.DataFrame]:
    if not pairs:
        return
    x_NKT = np.mean([one.x_NKT for one in pairs], axis=0)
    n_N = np.min([one.n_N for one in pairs], axis=0)
    gap = replace(pairs[0], x_NKT=x_NKT, n_N=n_N, seeds=len(pairs))
    columns = over_seeds(pairs)
    yield rows(study, "between_arms_seeds", gap, ks, study.turns, columns)
    yield holm(study, "between_arms_seeds_holm", gap, ks, columns["p_value"])
    quarters = [turns - 1 for turns in study.quarters]
    some, *few = (one.replaced(one.x_NKT[:, :, quarters]) for one in (gap, *pairs))
    parity = partial(intervals.noninferiority, margin=intervals.NONINFERIORITY)
    columns = over_seeds(few, parity)
    yield rows(study, "between_arms_lower", some, ks, study.quarters, columns)


def _each(study: Study, pairs: list[Series], ks: list[int]) -> Iterator[pd.DataFrame]:
    quarters = [turns - 1 for turns in study.quarters]
    for one in pairs:
        some = one.replaced(one.x_NKT[:, :, quarters])
        yield rows(
            study, "between_arms_pair", some, ks, study.quarters, {"value": mean(some.x_NKT)}
        )
