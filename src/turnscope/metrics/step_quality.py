"""Step by step in matched states: is an action of the trained policy better than one of base?

Both act G times from the same prefix, and each action has a quality. Rows hold a trained policy or
an arm against base; an arm pools the states of its training seeds. Column `part` says which states:
`SOURCE/SUBSET`. SOURCE is whose episodes led there: `base`, `trained`, or both (`mixture`, the
headline). SUBSET is `all`, `error` (the last action meets a definition of an error), `clean` (it
meets none), the name of one definition, or `injected` (the last action was put in; in no other
subset). Every state counts alike, and only those where actions differ in quality.

Metrics (k is null; t too where nothing is said):

- `step_better`, `step_tie`, `step_worse`: shares of states by the difference of mean qualities; up
  to `step_tie_margin`, which is a setting, it is a tie. With `_null`: the same after the 2G actions
  of each state were dealt out at random, which is what identical policies show. With `_sure`:
  shares with posterior probability above 0.9, and `step_undetermined` the rest. That probability
  knows only qualities that were seen in the state, see `contrasts.posterior`: a rare action that no
  sample shows is not in doubt.
- `step_gap`: mean difference in quality. `step_win`: probability that an action of the trained
  policy is the better one, equal ones counting half. `step_optimal`: difference in how often the
  best action is taken. The first two also by depth: t is then the last turn of a quarter of T_max.
- `step_error_contrast`: `step_win` in the subset minus that in `clean`; counts and interval are
  those of the side that has fewer tasks.
- `step_slope`: least-squares slope of the difference in quality on turns before the state by T_max.
  How much one action can change the quality may itself change with depth, and a policy that is
  equally better at every turn then has a slope. `step_win_slope`: the same of the Mann-Whitney
  probability of each state, which has no scale. Both in `all`, `error` and `clean`.
- `step_visited_gap`: difference in quality weighted by how often the source visits such states,
  which are all that it visits. `step_error_share`: share of these visits that are after an error.
- `step_structural_ties`: share of states where all actions are alike. `step_states`: how many
  states entered.
- `naive_error_win`: share of states in which the trained policy is better, of those that do not
  tie, where states are those in which base's own actions, the ones compared, are poor.
  `naive_error_win_null`: the same after they were dealt out at random.

Column `samples` counts the actions of a policy in a state.

Source:
    Estimators: `turnscope.contrasts`. Ratios over resampled clusters: Davison and Hinkley 1997,
    chapter 2.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope import contrasts, draws
from turnscope.metrics import Settings
from turnscope.metrics._duels import ALL, CLEAN, ERROR, MIXTURE, Duels, States, pooled, read
from turnscope.metrics._fractions import Block, Cell, Fraction, by_task, each, estimated, rows
from turnscope.metrics._outcomes import Study, visited, without_outcomes
from turnscope.metrics._rows import joined
from turnscope.metrics._series import arms

SOURCE = "actions"

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

RELABELLINGS = 64
POSTERIOR_DRAWS = 400
SHARES = ("step_better", "step_tie", "step_worse")
NULLS = tuple(f"{name}_null" for name in SHARES)
CLASSES = (*(f"{name}_sure" for name in SHARES), "step_undetermined")
GAP, WIN = "step_gap", "step_win"
SLOPES = {GAP: "step_slope", WIN: "step_win_slope"}
"""Metrics of single states, with the name of their slope along the turns."""
VISITED, ERRED, TIES = "step_visited_gap", "step_error_share", "step_structural_ties"
STATES, MARGIN = "step_states", "step_tie_margin"
NAIVE = ("naive_error_win", "naive_error_win_null")
PROBABILITIES = {*SHARES, *NULLS, *CLASSES, WIN, TIES, ERRED, *NAIVE}
"""Metrics whose interval is Wilson's where all states have 0, or all have 1."""
ALONG = (ALL, ERROR, CLEAN)
"""Subsets that are also looked at by depth."""


class Contrast(NamedTuple):
    """States of a policy or an arm, and its quantities there, each of shape (S,)."""

    states: States
    amounts: dict[str, Floats]
    """Of single states; NaN where undefined."""
    naive: dict[str, Fraction]


def estimate(tasks: pd.DataFrame, actions: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Compare the actions of every trained policy and arm with base's in matched states.

    Args:
        tasks: Rows of table `tasks`.
        actions: Rows of table `actions`, all policies of one environment and model.
        settings: Uses `draws`, `seed` and `tie`.

    Returns:
        Rows of table `estimates`; none if no action has a quality.

    Raises:
        ValueError: The rows are of several environments or models, or an action occurs twice.
    """
    test = visited(tasks, actions)
    if test.empty or actions["quality"].isna().all():
        return joined([])
    t_max = int((actions["turn"] + actions["left"]).to_numpy().max())
    study = without_outcomes(test, actions, settings, t_max)
    single = {
        one.states.policy: _contrast(study, one) for one in read(actions, list(test["task_id"]))
    }
    groups = arms(list(single)).items()
    pools = [_pooled(arm, [single[name] for name in members]) for arm, members in groups]
    weights = study.weights()
    return joined(_rows(study, one, weights) for one in [*single.values(), *pools])


def _contrast(study: Study, duels: Duels) -> Contrast:
    """Compare the actions state by state."""
    states, best_S, base_SG, trained_SG = duels
    tie = study.settings.tie
    seed = draws.seed(study.settings.seed, "contrasts", study.env, study.model, states.policy)
    rng = np.random.Generator(np.random.PCG64(seed))
    dealt = contrasts.relabelled(base_SG, trained_SG, RELABELLINGS, rng)
    posterior_S3 = contrasts.posterior(base_SG, trained_SG, best_S, POSTERIOR_DRAWS, rng, tie)
    gap_S = contrasts.gap(base_SG, trained_SG)
    null_S3 = contrasts.outcomes(dealt.trained - dealt.base, tie).mean(axis=1)
    compared = {
        **dict(zip(SHARES, contrasts.outcomes(gap_S, tie).T, strict=True)),
        **dict(zip(NULLS, null_S3.T, strict=True)),
        **dict(zip(CLASSES, contrasts.classes(posterior_S3).T, strict=True)),
        GAP: gap_S,
        WIN: contrasts.win(base_SG, trained_SG),
        "step_optimal": contrasts.optimal(base_SG, trained_SG, best_S),
    }
    idle = states.decisive_S == 0
    amounts = {name: np.where(idle, np.nan, x_S) for name, x_S in compared.items()}
    amounts |= {VISITED: gap_S, TIES: 1.0 - states.decisive_S}
    open_S = ~idle & ~states.injected_S & ~np.isnan(gap_S)
    base_S = contrasts.mean(base_SG)
    naive = (
        _naive(base_S[:, None], gap_S[:, None], best_S, open_S, tie),
        _naive(dealt.base, dealt.trained - dealt.base, best_S, open_S, tie),
    )
    return Contrast(states, amounts, dict(zip(NAIVE, naive, strict=True)))


def _naive(base_SR: Floats, gap_SR: Floats, best_S: Floats, open_S: Bools, tie: float) -> Fraction:
    """Choose states by the very actions that are compared, and average relabellings."""
    base_SR = np.where(open_S[:, None], base_SR, np.nan)
    chosen_SR = contrasts.poorest(base_SR, best_S)
    better_SR, _, worse_SR = np.moveaxis(contrasts.outcomes(gap_SR, tie), -1, 0)
    untied_SR = np.where(chosen_SR, better_SR + worse_SR, 0.0)
    return Fraction(np.where(chosen_SR, better_SR, 0.0).mean(axis=1), untied_SR.mean(axis=1))


def _pooled(arm: str, members: list[Contrast]) -> Contrast:
    states = pooled(arm, [one.states for one in members])
    first = members[0]
    amounts = {
        name: np.concatenate([one.amounts[name] for one in members]) for name in first.amounts
    }
    naive = {
        name: Fraction(
            *(
                np.concatenate(part)
                for part in zip(*(one.naive[name] for one in members), strict=True)
            )
        )
        for name in first.naive
    }
    return Contrast(states, amounts, naive)


def _rows(study: Study, one: Contrast, weights: Floats) -> pd.DataFrame:
    """Estimate all that is said of one policy or arm."""
    states, parts = one.states, one.states.parts()
    found = list(_cells(study, one, parts))
    cells, fractions = zip(*found, strict=True)
    block = estimated(cells, fractions, states.task_S, states.fewest_S, weights)
    blocks = [block, _facts(study, one, parts, block), _against_clean(block)]
    if study.t_max > 1:
        blocks += [_slopes(study, one, parts, block, weights, name) for name in SLOPES]
    who = states.policy, states.seeds
    return joined(rows(study, who, some, PROBABILITIES) for some in blocks if len(some.cells))


def _cells(study: Study, one: Contrast, parts: dict[str, Bools]) -> Iterator[tuple[Cell, Fraction]]:
    """Yield means over states, and what each is."""
    last_S = _quarter(study, one.states)
    for part, chosen in parts.items():
        source, subset = part.split("/")
        for name, x_S in one.amounts.items():
            if name != VISITED:
                yield Cell(name, part), each(np.where(chosen, x_S, np.nan))
        if subset in ALONG:
            for name, t in itertools.product((GAP, WIN), study.quarters):
                here = chosen & (last_S == t)
                yield Cell(name, part, t), each(np.where(here, one.amounts[name], np.nan))
        if subset == ALL and source != MIXTURE:
            gap_S = one.amounts[VISITED]
            weight_S = np.where(chosen & ~np.isnan(gap_S), one.states.weight_S, 0.0)
            yield Cell(VISITED, part), Fraction(weight_S * np.nan_to_num(gap_S), weight_S)
            erred_S = parts[f"{source}/{ERROR}"].astype(float)
            yield Cell(ERRED, part), Fraction(weight_S * erred_S, weight_S)
    for name, fraction in one.naive.items():
        yield Cell(name, f"{MIXTURE}/{ALL}"), fraction


def _quarter(study: Study, states: States) -> Ints:
    """Return the last turn of the quarter of T_max in which the next action falls, shape (S,)."""
    quarters = np.array(study.quarters)
    return quarters[np.searchsorted(quarters, states.turn_S, side="right")]


def _facts(study: Study, one: Contrast, parts: dict[str, Bools], block: Block) -> Block:
    """Count the states that were compared, and say up to what difference they tie."""
    places = block.find(GAP)
    known = ~np.isnan(one.amounts[GAP])
    counts = np.array([(parts[part] & known).sum() for part in places])
    facts = {STATES: counts, MARGIN: np.full(len(places), study.settings.tie)}
    value = np.concatenate([np.where(counts > 0, fact, np.nan) for fact in facts.values()])
    cells = [Cell(name, part) for name in facts for part in places]
    again = [*places.values()] * len(facts)
    return block.derived(cells, value, np.full((len(cells), 1), np.nan), again)


def _against_clean(block: Block) -> Block:
    """Subtract clean states from those after each kind of error."""
    places = block.find(WIN)
    pairs = {
        part: (place, places[f"{part.split('/')[0]}/{CLEAN}"])
        for part, place in places.items()
        if part.split("/")[1] not in (ALL, CLEAN)
    }
    cells = [Cell("step_error_contrast", part) for part in pairs]
    one, clean = (list(side) for side in zip(*pairs.values(), strict=True))
    value, drawn = block.value, block.draws
    found = block.derived(cells, value[one] - value[clean], drawn[one] - drawn[clean], one)
    return found._replace(
        tasks=np.minimum(found.tasks, block.tasks[clean]),
        samples=np.minimum(found.samples, block.samples[clean]),
    )


def _slopes(
    study: Study,
    one: Contrast,
    parts: dict[str, Bools],
    block: Block,
    weights: Floats,
    metric: str,
) -> Block:
    """Fit a metric of single states along the turns."""
    places = {part: i for part, i in block.find(metric).items() if part.split("/")[1] in ALONG}
    depth_S, y_S = one.states.turn_S / study.t_max, one.amounts[metric]
    moments_S = [contrasts.moments(depth_S, np.where(parts[part], y_S, np.nan)) for part in places]
    sums_NM = by_task(np.hstack(moments_S), one.states.task_S, weights.shape[1])
    shape = len(places), -1
    value = contrasts.slope(sums_NM.sum(axis=0).reshape(shape))
    drawn_BP = contrasts.slope((weights @ sums_NM).reshape(len(weights), *shape))
    cells = [Cell(SLOPES[metric], part) for part in places]
    return block.derived(cells, value, drawn_BP.T, list(places.values()))
