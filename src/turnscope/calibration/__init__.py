"""Calibration of the instrument itself: the whole analysis on studies whose truth is known.

Synthetic policies play exact lakes, and their tables go through the metrics and the rules of the
claims as those of a real study do. Where all policies are one policy by several names, no verdict
may find more effects than its nominal 5%; where an effect was planted, it must be found as often as
the spread of the design predicts. Protocols that are known to find effects where there are none are
shown beside them.
"""

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from typing import Any, NamedTuple

from turnscope import draws, intervals
from turnscope.calibration import families, planted, rates, scenarios, studies, truth, worlds
from turnscope.calibration.planted import Rule
from turnscope.calibration.scenarios import Boost, Scenario
from turnscope.calibration.studies import Design
from turnscope.calibration.worlds import Worlds

LAKES, SIZES = 1000, (4, 5)
"""Lakes that the tasks of all studies are drawn from, and cells along their sides."""
JUDGED = 0.95
"""Share of the studies in which a family must be judged, or its rate says little."""
PART = 8
"""One study with each planted effect for so many without any."""


class Job(NamedTuple):
    """One study; everything that a process needs to run it."""

    scenario: Scenario
    number: int
    design: Design
    seed: int


class Outcome(NamedTuple):
    """What one study says of one family."""

    found: bool | None
    rule: Rule | None


def run(count: int, bootstrap: int, seed: int, workers: int = 1) -> list[dict[str, Any]]:
    """Run the studies and tabulate what they found.

    Args:
        count: Studies without any effect, >= 1; with each effect an eighth of it.
        bootstrap: Bootstrap samples of each study.
        seed: Names all studies. Results do not depend on `workers`.
        workers: Processes, >= 1.

    Returns:
        Records of table `calibration`.

    Raises:
        ValueError: A family was judged in no study.
    """
    design = Design(draws=bootstrap)
    lakes = _lakes(seed, design.t_max)
    boost = truth.boost_that_loses(lakes, intervals.NONINFERIORITY, design.k)
    effects = [
        scenarios.SKILL,
        scenarios.ERRORS,
        scenarios.LATE,
        scenarios.OTHERS,
        scenarios.margin(boost),
    ]
    several = max(2, count // PART)
    jobs = [Job(scenarios.NULL, number, design, seed) for number in range(count)]
    jobs += [
        Job(scenario, number, design, seed) for scenario in effects for number in range(several)
    ]
    said: dict[str, list[Outcome]] = {}
    for outcomes in _each(jobs, workers):
        for name, outcome in outcomes.items():
            said.setdefault(name, []).append(outcome)
    gaps = {one.name: _gaps(lakes, one, design) for one in effects}
    return list(_tabulated(design, said, gaps))


def _each(jobs: Sequence[Job], workers: int) -> Iterator[dict[str, Outcome]]:
    """Run all jobs, and yield what each says of the families, in order."""
    if workers == 1:
        yield from map(_judged, jobs)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context) as pool:
        yield from pool.map(_judged, jobs, chunksize=4)


@lru_cache(maxsize=1)
def _lakes(seed: int, t_max: int) -> Worlds:
    """Draw the lakes; each process does so once."""
    return worlds.draw(draws.seed("calibration", seed), LAKES, t_max, SIZES)


def _judged(job: Job) -> dict[str, Outcome]:
    """Run one study, and say of each family that it is for what it found."""
    scenario, number, design, seed = job
    key = draws.seed("calibration", seed, scenario.name, number)
    findings = studies.find(_lakes(seed, design.t_max), scenario, design, key)
    plain = [*families.nulls(design), *families.naive()]
    single = {
        one.name: Outcome(one.finds(findings), None)
        for one in plain
        if one.scenario == scenario.name
    }
    return single | {
        one.name: Outcome(one.finds(findings), one.rule(findings))
        for one in planted.families(design)
        if one.scenario == scenario.name
    }


def _gaps(lakes: Worlds, scenario: Scenario, design: Design) -> planted.Gaps:
    base_KT = truth.pass_at_k(lakes, Boost(), design.ks)
    return {
        arm: truth.pass_at_k(lakes, boost, design.ks) - base_KT
        for arm, boost in scenario.boosts.items()
    }


def _tabulated(
    design: Design, said: dict[str, list[Outcome]], gaps: dict[str, planted.Gaps]
) -> Iterator[dict[str, Any]]:
    """Yield the rows: without an effect, with one, and by naive protocols."""
    for kind, plain in (("null", families.nulls(design)), ("naive", families.naive())):
        for one in plain:
            found = [outcome.found for outcome in said[one.name] if outcome.found is not None]
            _some(one.name, found)
            row = rates.counted(kind, one.name, found, len(plain))
            yield _whole(row, len(said[one.name]))
    effects = planted.families(design)
    for one in effects:
        known = [
            (outcome.found, outcome.rule)
            for outcome in said[one.name]
            if outcome.found is not None and outcome.rule is not None
        ]
        _some(one.name, known)
        found, rules = zip(*known, strict=True)
        exact = None if one.exact is None else one.exact(gaps[one.scenario])
        row = rates.compared(one, found, rules, exact, len(effects))
        yield _whole(row, len(said[one.name]))


def _whole(row: dict[str, Any], asked: int) -> dict[str, Any]:
    """Let nothing pass that was judged in some of the studies alone."""
    return row | {"passed": row["passed"] and row["studies"] >= JUDGED * asked}


def _some(name: str, found: list[Any]) -> None:
    if not found:
        raise ValueError(f"family {name!r} was judged in no study")
