"""What jobs will take: their work times what a unit of it takes."""

from collections.abc import Iterable
from typing import NamedTuple

from turnscope import legal
from turnscope.plan import derived, rates, sizes, work
from turnscope.plan.jobs import Job, Study, study_of
from turnscope.plan.rates import Key, Rates
from turnscope.plan.spans import NOTHING, UNKNOWN, Span, exactly, total


class Cost(NamedTuple):
    """What jobs take together."""

    cpu: Span
    """Hours of a CPU core."""
    gpu: Span
    """Hours of a GPU."""
    tokens: Span
    """That policies generate."""
    disk: Span
    """Bytes that stay."""


class Line(NamedTuple):
    """The jobs of one rule in one environment with one model."""

    rule: str
    env: str
    """`*` where the rule has none."""
    model: str
    """`*` where the rule has none."""
    jobs: int
    cost: Cost
    source: str
    """`measured`, `guessed` (measured in other environments), `derived` or `unknown`."""


def plan(jobs: list[Job], table: Rates, gpu: str) -> list[Line]:
    """Say what a study takes.

    Args:
        jobs: All jobs of it, done or not.
        table: What was measured.
        gpu: Kind of GPU, one of `turnscope.plan.sizes.DEVICES`.

    Returns:
        A line for each rule, environment and model, the most expensive rule first.

    Raises:
        ValueError: There is no such kind of GPU, or jobs are missing.
    """
    legal.one_of("GPU", gpu, sizes.DEVICES)
    study = study_of(jobs)
    groups: dict[tuple[str, str, str], list[tuple[Cost, str]]] = {}
    for job in jobs:
        place = (job.rule, job.env, job.spec.get("model", "*"))
        groups.setdefault(place, []).append(cost(job, study, table, gpu))
    lines = [
        Line(*place, len(found), added(one for one, _ in found), _source({how for _, how in found}))
        for place, found in groups.items()
    ]
    whole = {rule: added(line.cost for line in lines if line.rule == rule) for rule, *_ in groups}
    return sorted(lines, key=lambda line: (*_rank(whole[line.rule]), line[:3]))


def cost(job: Job, study: Study, table: Rates, gpu: str) -> tuple[Cost, str]:
    """Return what one job takes, and how that is known."""
    if job.stage == "data":
        return Cost(NOTHING, NOTHING, NOTHING, NOTHING), "derived"  # what is fetched is kept apart
    if job.stage == "gather":
        return _gathered(job, study, table, gpu)
    settings = study.models.get((job.env, job.spec.get("model", "")), {})
    if job.stage == "model":
        fetched = sizes.SHAPES.get(job.spec["settings"]["path"])
        disk = exactly(2 * fetched.parameters) if fetched else UNKNOWN
        return Cost(NOTHING, NOTHING, NOTHING, disk), "derived"
    if job.stage not in work.PLAYING or "build" in settings:
        return _measured(job, study, table)
    if job.stage == "base":
        # What is loaded is not made: only linked to where it was put once.
        return Cost(NOTHING, NOTHING, NOTHING, NOTHING), "derived"
    model = sizes.SHAPES.get(settings.get("path", ""))
    if model is None or not job.gpus:
        return Cost(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN), "unknown"
    units = work.units(job, study)
    taken = derived.taken(job, units, study, model, sizes.DEVICES[gpu])
    return Cost(NOTHING, taken.seconds / 3600.0, taken.tokens, taken.disk), "derived"


def added(costs: Iterable[Cost]) -> Cost:
    """Add up."""
    rows = list(costs)
    return Cost(*(total(getattr(row, name) for row in rows) for name in Cost._fields))


def money(cost: Cost, core_hour: float | None, gpu_hour: float | None) -> Span:
    """Return what hours cost; unknown if the price of some is.

    Args:
        cost: The hours.
        core_hour: Price of an hour of a CPU core.
        gpu_hour: Price of an hour of a GPU.
    """
    priced = [(cost.cpu, core_hour), (cost.gpu, gpu_hour)]
    return total(
        NOTHING if hours.high == 0 else UNKNOWN if price is None else hours * price
        for hours, price in priced
    )


def seconds(job: Job, study: Study, table: Rates) -> Span:
    """Return the processor time of a job with a model that is built, or with none."""
    if job.stage not in work.PLAYING:
        # What is gathered is read once, as for an estimate.
        stage = "estimate" if job.stage == "gather" else job.stage
        return _rate(table, Key(stage, job.env, "*", "s/job"))
    return total(
        [
            _rate(table, Key("start", job.env, "*", "s/job")),
            *(
                _rate(table, Key(*_like(job, unit), f"s/{unit}")) * amount
                for unit, amount in work.units(job, study).items()
            ),
        ]
    )


def _measured(job: Job, study: Study, table: Rates) -> tuple[Cost, str]:
    units = work.units(job, study)
    tokens = [
        _rate(table, Key(stage, job.env, work.variant(job), f"tokens/{unit}")) * units[unit]
        for unit, stage in (("turn", "sample"), ("trained", "train"))
        if unit in units
    ]
    # Only the tables of episodes and of likelihoods grow with the study.
    unit = {"sample": "turn", "likelihood": "scored"}.get(job.stage, "job")
    disk = _rate(table, Key(job.stage, job.env, "*", f"bytes/{unit}")) * units.get(unit, 1.0)
    hours = seconds(job, study, table) / 3600.0
    measured = any(key.stage == job.stage and key.env == job.env for key in table)
    source = "measured" if measured else "guessed"
    return Cost(hours, NOTHING, total(tokens), disk), source if hours.known else "unknown"


def _gathered(job: Job, study: Study, table: Rates, gpu: str) -> tuple[Cost, str]:
    """Count seconds of a core, and on disk what the parts take there once more."""
    played, _ = cost(job._replace(stage="sample", gpus=1), study, table, gpu)
    hours = seconds(job, study, table) / 3600.0
    source = "guessed" if hours.known and played.disk.known else "unknown"
    return Cost(hours, NOTHING, NOTHING, played.disk), source


def _like(job: Job, unit: str) -> tuple[str, str, str]:
    """Name the stage, environment and variant whose rate is that of the work of a job."""
    if unit == "turn" and job.stage != "sample":
        # Wherever it is done, it is play; `matched` alone has work of its own beside it.
        return ("matched" if job.stage == "matched" else "sample"), job.env, "blind"
    return job.stage, job.env, work.variant(job)


def _rate(table: Rates, key: Key) -> Span:
    rate = rates.find(table, key)
    return rate.span if rate else UNKNOWN


def _source(sources: set[str]) -> str:
    return next(name for name in ("unknown", "guessed", "derived", "measured") if name in sources)


def _rank(whole: Cost) -> tuple[bool, float, float]:
    """Sort by hours of GPUs, then of CPUs, the most first; what is not known before."""
    return whole.cpu.known, -whole.gpu.value, -whole.cpu.value
