"""One synthetic study: simulated tables through the real metrics, and on to the real verdicts."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from turnscope import draws
from turnscope.arms import arm_of
from turnscope.calibration import exams, frames, pools, scenarios
from turnscope.calibration.frames import Games
from turnscope.calibration.scenarios import Scenario
from turnscope.calibration.worlds import Worlds
from turnscope.claims import breadth, budget_mix, depth, process, training
from turnscope.claims import likelihood as likely
from turnscope.claims import recovery as recovers
from turnscope.claims import step_quality as steps
from turnscope.metrics import (
    Settings,
    between_arms,
    boundary,
    budget_auc,
    crossover,
    likelihood,
    over_seeds,
    pass_at_kt,
    recovery,
    step_quality,
    step_reward,
    survival,
    truncation,
)
from turnscope.types import Arm


@dataclass(frozen=True)
class Design:
    """How large a synthetic study is."""

    draws: int = 1000
    """Bootstrap samples and random sign flips."""
    t_max: int = 12
    tasks: int = 150
    episodes: int = 16
    ks: tuple[int, ...] = (1, 2, 4, 8)
    k: int = 8
    again: int = 6
    """Budget under which episodes are played anew, turns."""
    states: int = 120
    per_task: int = 4
    injected: int = 50
    actions: int = 16
    continuations: int = 8
    scored: int = 2
    """Episodes of each task and policy whose likelihood is known."""
    examined: int = 60
    """Tasks, 6 episodes of each and 80 states with 6 actions are an evaluation in training."""
    probed: int = 80
    """States of base in which single actions are examined during training."""


METRICS = {
    "pass_at_kt": ("episodes", pass_at_kt),
    "budget_auc": ("compared", budget_auc),
    "over_seeds": ("compared", over_seeds),
    "between_arms": ("episodes", between_arms),
    "crossover": ("compared", crossover),
    "boundary": ("pair", boundary),
    "survival": ("pair", survival),
    "truncation": ("again", truncation),
    "step_reward": ("progress", step_reward),
    "step_quality": ("actions", step_quality),
    "recovery": ("continuations", recovery),
    "likelihood": ("likelihood", likelihood),
}
"""What may be estimated, and from which simulated table."""
EVALUATORS = {
    "breadth": breadth,
    "budget_mix": budget_mix,
    "depth": depth,
    "likelihood": likely,
    "process": process,
    "recovery": recovers,
    "step_quality": steps,
    "training": training,
}
"""What may judge claims."""
COMPARED = "grpo"
"""Arm that is compared with base step by step, and that other arms are compared with."""


FOLLOWED = 2
"""Its training seeds that are looked at step by step, to save time."""


class Cell(NamedTuple):
    """One number of table `estimates`; NaN where it has none."""

    value: float
    low: float
    high: float
    band_t_low: float
    band_t_high: float
    band_k_low: float
    band_k_high: float
    p_value: float


class Findings(NamedTuple):
    """What a study found."""

    cells: dict[tuple[Any, ...], Cell]
    """By metric, policy, against, part, k and t; None where it has none."""
    verdicts: dict[tuple[str, str], str]
    """By claim and arm."""

    def at(
        self,
        metric: str,
        policy: str = "grpo",
        against: str | None = scenarios.BASE,
        part: str | None = None,
        k: int | None = None,
        t: int | None = None,
    ) -> Cell | None:
        """Return a number; None if it was not estimated."""
        found = self.cells.get((metric, policy, against, part, k, t))
        return None if found is None or np.isnan(found.value) else found


def find(worlds: Worlds, scenario: Scenario, design: Design, seed: int) -> Findings:
    """Run one study.

    Args:
        worlds: From which its tasks are drawn, equally many of each stratum as there.
        scenario: What is planted.
        design: How large it is.
        seed: Names all its draws.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    some = drawn(worlds, design.tasks, rng)
    policies = scenarios.policies(scenario.arms)
    skill_PWET = scenarios.skills(scenario, design.tasks, design.t_max, rng)
    games = frames.games(some, policies, skill_PWET, design.episodes, rng)
    shares = [share / 10 for share in range(1, 11)]
    settings = Settings(design.ks, design.k, shares, design.draws, draws.seed("settings", seed))
    parts = [*_estimates(games, scenario, design, settings, rng)]
    estimates = pd.concat(parts, ignore_index=True)
    return Findings(_cells(estimates), dict(_verdicts(estimates, scenario)))


def _verdicts(estimates: pd.DataFrame, scenario: Scenario) -> Iterator[tuple[tuple[str, str], str]]:
    """Judge each arm by its own rows and those of its first seed.

    Verdicts depend on an arm's rows alone; those of its seeds are printed, and one shows that its
    likelihoods are sound.
    """
    names = ["metric", "env", "model", "policy", "against", "part"]
    # Verdicts are found by comparing texts again and again; as categories that is much faster.
    lean = estimates.astype(dict.fromkeys(names, "category"))
    for arm, evaluators in scenario.evaluators.items():
        own = lean.loc[lean["policy"].isin([arm, scenarios.first_seed(arm)])]
        for name in evaluators:
            for one in EVALUATORS[name].judge(own, {arm: Arm(arm, arm, False)}):
                yield (one["claim"], arm), one["verdict"]


def drawn(worlds: Worlds, count: int, rng: np.random.Generator) -> Worlds:
    """Draw tasks with replacement, so that they are independent, and name them anew."""
    strata = worlds.tasks["stratum"].to_numpy(object)
    names = sorted(set(strata))
    sizes = [count // len(names) + (place < count % len(names)) for place in range(len(names))]
    which_W = np.concatenate(
        [
            rng.choice(np.flatnonzero(strata == name), size)
            for name, size in zip(names, sizes, strict=True)
        ]
    )
    some = worlds.chosen(which_W)
    called = [f"test-{number:05d}" for number in range(count)]
    return replace(some, tasks=some.tasks.assign(task_id=called, cluster=called))


def _estimates(
    games: Games, scenario: Scenario, design: Design, settings: Settings, rng: np.random.Generator
) -> Iterator[pd.DataFrame]:
    """Yield the rows of every metric that the scenario asks for."""
    tables = _tables(games, {METRICS[name][0] for name in scenario.metrics}, design, rng)
    for name in scenario.metrics:
        table, metric = METRICS[name]
        yield metric.estimate(games.worlds.tasks, tables[table], settings)


def _tables(
    games: Games, asked: set[str], design: Design, rng: np.random.Generator
) -> dict[str, pd.DataFrame]:
    """Simulate the tables that are asked for."""
    whole = frames.episodes(games, design.t_max)
    trained = [place for place, one in enumerate(games.policies) if arm_of(one) == COMPARED]
    few = trained[:FOLLOWED]
    compared = whole["policy"].map(arm_of).isin([scenarios.BASE, COMPARED])
    pair = whole["policy"].isin([scenarios.BASE, scenarios.first_seed(COMPARED)])
    tables = {"episodes": whole, "compared": whole.loc[compared], "pair": whole.loc[pair]}
    if "again" in asked:
        player = games.policies[:1], games.skill_PWET[:1]
        fresh = frames.games(games.worlds, *player, design.episodes, rng)
        cut = frames.episodes(fresh, design.again)
        base = whole.loc[whole["policy"] == scenarios.BASE]
        tables["again"] = pd.concat([base, cut], ignore_index=True)
    if "progress" in asked:
        tables["progress"] = exams.progress(games, few, design.examined, design.probed, rng)
    if "actions" in asked:
        tables |= _matched(games, few, design, rng)
    if "likelihood" in asked:
        tables["likelihood"] = frames.likelihood(games, trained[0], design.scored)
    return tables


def _matched(
    games: Games, trained: list[int], design: Design, rng: np.random.Generator
) -> dict[str, pd.DataFrame]:
    """Simulate tables `actions` and `continuations` of each policy that is compared."""
    acted, continued = [], []
    for player in trained:
        sizes = design.states, design.per_task, design.injected
        pool = pools.pool(games, player, *sizes, rng)
        acted.append(pools.actions(games, player, pool, design.actions, rng))
        continued.append(pools.continuations(games, player, pool, design.continuations, rng))
    return {
        "actions": pd.concat(acted, ignore_index=True),
        "continuations": pd.concat(continued, ignore_index=True),
    }


def _cells(estimates: pd.DataFrame) -> dict[tuple[Any, ...], Cell]:
    """Look the numbers up by what they are of."""
    keys = [_plain(estimates[name]) for name in ("metric", "policy", "against", "part", "k", "t")]
    columns = [estimates[name].to_numpy(float).tolist() for name in Cell._fields]
    cells = (Cell(*one) for one in zip(*columns, strict=True))
    return dict(zip(zip(*keys, strict=True), cells, strict=True))


def _plain(column: pd.Series) -> list[Any]:
    values = column.astype(object)
    return values.where(values.notna(), None).tolist()
