"""How likely are actions under base, and how far does the trained policy depart from it?

Both policies score the same tokens by one engine at temperature 1. An action is all tokens sampled
in a turn, the end of the turn included. NLL is a negative log-probability in nats; LLR is the log-
probability under the trained policy minus that under base. In an episode's LLR, what the
environment does cancels. Intervals are over tasks; an arm pools the episodes of its training seeds.

Metrics, by policy (k is null; `base` has levels of its actions alone):

- `nll`, `nll_token`: NLL under base of the policy's actions, mean over actions, and by token.
  `nll_median`: that of the median action. `nll_own`: `nll` under the policy itself instead.
  `nll_ratio`, `nll_ratio_token`: mean of the policy's actions by that of base's, against base.
- `nll_density`: share of actions by NLL under base, per nat; t is the number of the bin, from 0,
  each of `BIN` nats, and the last of `BINS` holds what lies beyond. `nll_overlap`: share that the
  histograms of policy and base have in common, against base; by chance alone it is below 1.
- `outside`: share of tokens that are not among base's likeliest, which together have probability
  0.95. `entropy`: of the policy's own choices, nats per token.
- `llr`, `llr_turn`: mean LLR of an episode, and of a turn. The part says whose episodes, `base` or
  `trained`, and which of them: `all`, `success` or `failure`. `llr_gap`: successful ones of the
  policy minus successful ones of base, against base. `llr_divergence`: the same of all episodes,
  which is the sum of both Kullback-Leibler divergences: above 0 for any two policies that differ,
  whether or not training taught anything.
- `llr_path_q25`, `llr_path_q50`, `llr_path_q75`: quartiles over episodes of the LLR after t turns;
  a finished episode keeps its last value.
- `sanity_` and the name of a check, with the 99.9% interval that decides it, or with the least and
  the largest task if it is measured; the same and `_passed` is 1 or 0, and null if fewer than two
  tasks leave it open. See `_checks`. `llr_first_exp`: mean of exp LLR over base's first actions,
  which is 1 in expectation; it decides nothing.

Sums over tokens bound each other: the LLR of an action is at most its NLL under base. A mean LLR of
228 with actions that cost base 12.2 needs 19 actions an episode, at least.

Source:
    Ratios over resampled clusters: Davison and Hinkley 1997, chapter 2.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope.metrics import Settings
from turnscope.metrics._checks import sanity
from turnscope.metrics._outcomes import BASE, Study, visited, without_outcomes
from turnscope.metrics._rows import joined, rows
from turnscope.metrics._scored import Quantity, Scored, known, line, lines, scored, shaped
from turnscope.metrics._visits import divided

SOURCE = "likelihood"

BIN = 0.25
"""Width of a bin of NLL, nats."""
BINS = 400
QUARTILES = (25, 50, 75)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def estimate(tasks: pd.DataFrame, likelihood: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Estimate what base and the trained policies think of each other's actions.

    Args:
        tasks: Rows of table `tasks`.
        likelihood: Rows of table `likelihood`, all pairs of one environment and model.
        settings: Uses `draws` and `seed`.

    Returns:
        Rows of table `estimates`; none if nothing was scored.

    Raises:
        ValueError: The rows are of several environments or models.
    """
    test = visited(tasks, likelihood)
    if test.empty:
        return joined([])
    t_max = int(likelihood["turns"].to_numpy().max())
    study = without_outcomes(test, likelihood, settings, t_max)
    weights = study.weights()
    everyone = scored(likelihood, list(test["task_id"]))
    parts = list(_levels(study, everyone[0], weights, base=True))
    for one in everyone:
        parts += _levels(study, one, weights, base=False)
        parts += _against(study, one, weights)
        parts += _ratios(study, one, weights)
        parts += _paths(study, one)
        parts += sanity(study, one, weights)
    return joined(parts)


def _actions(one: Scored, base: bool) -> list[Quantity]:
    """List what is said of the actions of one actor."""
    keep = np.where(one.base_R == base, 1.0, 0.0)
    tokens = keep * one.tokens_R
    return [
        Quantity("nll", None, keep * one.nll_R, keep),
        Quantity("nll_token", None, keep * one.nll_R, tokens),
        Quantity("nll_own", None, keep * one.own_R, keep),
        Quantity("outside", None, keep * one.outside_R, tokens),
        Quantity("entropy", None, keep * one.entropy_R, tokens),
    ]


def _levels(study: Study, one: Scored, weights: Floats, base: bool) -> Iterator[pd.DataFrame]:
    """Yield levels of one actor's actions."""
    quantities, whose = _actions(one, base), one.actions(base)
    ratio = one.ratio(quantities)
    yield from lines(study, whose, quantities, ratio, weights)
    own_R = one.nll_R[one.base_R == base]
    middle = float(np.median(own_R)) if len(own_R) else np.nan
    level = known(whose, ratio.counted[:, 0] > 0)
    yield rows(study, "nll_median", level, [None], [None], shaped({"value": middle}))
    shares = one.histogram(_bins(one), BINS, base).mean() / BIN
    used = np.arange(1 + int(np.flatnonzero(shares > 0).max(initial=0)))
    level = level.replaced(np.repeat(level.x_NKT, len(used), axis=2))
    yield rows(study, "nll_density", level, [None], used.tolist(), {"value": shares[None, used]})


def _against(study: Study, one: Scored, weights: Floats) -> Iterator[pd.DataFrame]:
    """Yield comparisons of the policy's actions with base's."""
    ours, theirs = (one.ratio(_actions(one, base)[:2]) for base in (False, True))
    pair = known(one.pair(BASE), ((ours.counted > 0) & (theirs.counted > 0)).all(axis=1))
    values = divided(ours.mean(), theirs.mean())
    draws = divided(ours.draws(weights), theirs.draws(weights))
    for place, name in enumerate(("nll_ratio", "nll_ratio_token")):
        yield line(study, name, pair, values[place], draws[place])
    used, bin_R = np.unique(_bins(one), return_inverse=True)
    sides = [one.histogram(bin_R, len(used), base) for base in (False, True)]
    value = np.minimum(*(side.mean() for side in sides)).sum()
    draws_B = np.minimum(*(side.draws(weights) for side in sides)).sum(axis=0)
    yield line(study, "nll_overlap", pair, value, draws_B)


def _ratios(study: Study, one: Scored, weights: Floats) -> Iterator[pd.DataFrame]:
    """Yield likelihood ratios of episodes and turns."""
    parts = one.parts()
    quantities = [
        Quantity(name, part, keep * one.llr_R, keep * per_R)
        for name, per_R in (("llr", one.first_R), ("llr_turn", np.ones(len(one.llr_R))))
        for part, keep in parts.items()
    ]
    ratio = one.ratio(quantities)
    yield from lines(study, one.pair(None), quantities, ratio, weights)
    means, draws = ratio.mean(), ratio.draws(weights)
    for name, subset in (("llr_gap", "success"), ("llr_divergence", "all")):
        sides = [list(parts).index(f"{actor}/{subset}") for actor in ("trained", "base")]
        pair = known(one.pair(BASE), (ratio.counted[:, sides] > 0).any(axis=1))
        yield line(
            study, name, pair, *(-np.diff(side[sides], axis=0)[0] for side in (means, draws))
        )


def _paths(study: Study, one: Scored) -> Iterator[pd.DataFrame]:
    """Yield quartiles of the likelihood ratio after each turn."""
    for part, keep_R in one.parts().items():
        paths_ET = one.paths(keep_R, study.t_max)
        if part.endswith("/all") or not len(paths_ET):
            continue
        count_N = np.bincount(one.task_R[keep_R], minlength=one.episodes_2N.shape[1])
        level = known(one.pair(None), count_N > 0)
        level = level.replaced(np.repeat(level.x_NKT, study.t_max, axis=2))
        values = np.percentile(paths_ET, QUARTILES, axis=0)
        for quartile, value_T in zip(QUARTILES, values, strict=True):
            name, columns = f"llr_path_q{quartile}", {"value": value_T[None]}
            yield rows(study, name, level, [None], study.turns, columns, part=part)


def _bins(one: Scored) -> Ints:
    """Number the bin of each action."""
    return np.clip(one.nll_R / BIN, 0, BINS - 1).astype(np.int64)
