"""Fit rates to finished studies, or compare what they took with what would have been planned.

    python -m turnscope.plan.measure RESULTS ... --output rates.csv
    python -m turnscope.plan.measure RESULTS ...

Times are processor seconds (`cpu_seconds` in `run.json`), because a job waits for its core on a
machine that does other things as well. Processes that a job starts are among them.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from turnscope import records, tables
from turnscope.plan import forecast, rates, show, work
from turnscope.plan.jobs import Job, Study, study_of
from turnscope.plan.rates import Key, Rate, Rates
from turnscope.plan.spans import Span, total

LEAST = 1.4
"""An interval is at least this factor wide to either side: the same study took 1.33 times as much
processor time on the same machine while others were using its caches."""
ELSEWHERE = 3.0
"""The same for environments that were not measured: one took 2.4 times the mean of two others."""


class Done(NamedTuple):
    """A finished job."""

    job: Job
    seconds: float
    """Of processor time."""
    disk: int
    """Bytes that it left."""
    tokens: int | None
    """That its policy generated; None where no table says it."""


def done(results: Path) -> list[Done]:
    """Read the records of a finished study.

    Args:
        results: Its folder.

    Raises:
        ValueError: No job left its records there.
    """
    found = [_done(mark) for mark in records.marks(results)]
    if not found:
        raise ValueError(f"{results} holds no provenance.json; legal is a folder of results")
    return [one for one in found if one is not None]


def fit(finished: Iterable[list[Done]]) -> Rates:
    """Measure what a unit of work took.

    Args:
        finished: The jobs of each study.

    Returns:
        Rates of each environment and variant, and of any: means weighted by work, with the smallest
        and the largest job, or environment, as interval.
    """
    studies = [(study_of(one.job for one in study), study) for study in finished]
    jobs = [(study, one) for study, members in studies for one in members]
    start = _rates(_starts(jobs))
    return start | _rates(
        part for study, one in jobs for part in _parts(study, one, _fixed(start, one.job))
    )


def compare(finished: list[Done], table: Rates) -> Iterator[tuple[str, int, float, Span]]:
    """Yield stage, jobs, processor seconds that they took, and those planned; then the total."""
    study = study_of(one.job for one in finished)
    rows = [
        (one.job.stage, one.seconds, forecast.seconds(one.job, study, table)) for one in finished
    ]
    for stage in [*dict.fromkeys(stage for stage, *_ in rows), "total"]:
        own = [row for row in rows if stage in (row[0], "total")]
        yield stage, len(own), sum(row[1] for row in own), total(row[2] for row in own)


Part = tuple[Key, float, float]
"""What was measured, how much of it there was, and in how many units."""


def _done(mark: Path) -> Done | None:
    diary = records.diary(mark)
    record = json.loads(mark.read_text())
    if not diary.is_file() or record["stage"] == "calibrate":
        return None
    job = Job(record["stage"], record["stage"], record["spec"], 0)
    seconds = json.loads(diary.read_text())["cpu_seconds"]
    return Done(job, seconds, sum(one["bytes"] for one in record["outputs"]), _tokens(mark, job))


def _tokens(mark: Path, job: Job) -> int | None:
    """Count tokens by the tables beside a record."""
    if job.stage == "sample":
        return int(tables.read(mark.with_name("episodes.parquet"), "episodes")["tokens"].sum())
    if job.stage == "train":
        curves = tables.read(mark.with_name("training.parquet"), "training")
        return int(curves.loc[curves["name"] == "tokens_total", "value"].max())
    return None


def _starts(jobs: Iterable[tuple[Study, Done]]) -> Iterator[Part]:
    """Take jobs that do hardly more than start for what a start takes."""
    for _, one in jobs:
        if one.job.stage == "probes":
            yield Key("start", one.job.env, "*", "s/job"), one.seconds, 1.0


def _fixed(start: Rates, job: Job) -> float:
    rate = rates.find(start, Key("start", job.env, "*", "s/job"))
    return rate.span.value if rate and job.stage in work.PLAYING else 0.0


def _parts(study: Study, one: Done, fixed: float) -> Iterator[Part]:
    """Take a job apart into what was measured in it."""
    job, units = one.job, work.units(one.job, study)
    main = {"train": "trained", "base": "sequence", "likelihood": "scored"}.get(job.stage, "turn")
    key = Key(job.stage, job.env, work.variant(job), f"s/{main}")
    grown = main if job.stage in ("sample", "likelihood") else "job"
    yield key._replace(variant="*", unit=f"bytes/{grown}"), one.disk, units.get(grown, 1.0)
    if job.stage not in work.PLAYING:
        yield key._replace(unit="s/job"), one.seconds, 1.0
    elif job.stage != "probes" and main in units:
        # Play on the way of training is little beside it, and as dear as a third of it.
        amount = units[main] + (units["turn"] / 3 if job.stage == "train" else 0.0)
        yield key, max(one.seconds - fixed, 0.0), amount
    if one.tokens is not None:
        yield key._replace(unit=f"tokens/{main}"), one.tokens, units[main]


def _rates(parts: Iterable[Part]) -> dict[Key, Rate]:
    """Average, for each key and for those that cover it."""
    own: dict[Key, list[tuple[float, float]]] = {}
    for key, amount, number in parts:
        own.setdefault(key, []).append((amount, number))
    found = {
        key: _rate(pairs, "1 job" if len(pairs) == 1 else f"{len(pairs)} jobs")
        for key, pairs in own.items()
    }
    for widen in (
        lambda key: key._replace(variant="*"),
        lambda key: key._replace(env="*"),
        lambda key: key._replace(env="*", variant="*"),
    ):
        found = _covering(own, widen) | found
    return found


def _covering(
    own: dict[Key, list[tuple[float, float]]], widen: Callable[[Key], Key]
) -> dict[Key, Rate]:
    """Average over what a wider key covers; each of its parts counts alike."""
    wide: dict[Key, list[tuple[float, float]]] = {}
    for key, pairs in own.items():
        amount, number = (sum(pair[at] for pair in pairs) for at in (0, 1))
        wide.setdefault(widen(key), []).append((amount / number, 1.0))
    return {
        key: _rate(pairs, f"mean of {len(pairs)}", ELSEWHERE if key.env == "*" else LEAST)
        for key, pairs in wide.items()
    }


def _rate(pairs: list[tuple[float, float]], source: str, least: float = LEAST) -> Rate:
    """Return amount per unit, and the interval of the single ones."""
    value = sum(amount for amount, _ in pairs) / sum(number for _, number in pairs)
    single = [amount / number for amount, number in pairs]
    low, high = min(*single, value / least), max(*single, value * least)
    return Rate(Span(value, low, high), source)


def main(arguments: list[str]) -> int:
    """Fit or compare; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m turnscope.plan.measure")
    parser.add_argument("results", type=Path, nargs="+", help="folders of finished studies")
    parser.add_argument("--output", type=Path, help="table to write; compares without it")
    parser.add_argument("--source", default="measured", help="what is noted beside each number")
    options = parser.parse_args(arguments)
    try:
        finished = [done(folder) for folder in options.results]
        if options.output:
            found = {
                key: rate._replace(source=f"{options.source}, {rate.source}")
                for key, rate in fit(finished).items()
            }
            rates.save(found, options.output, "nano", "cpu core")
            return 0
        for folder, study in zip(options.results, finished, strict=True):
            rows: list[Any] = list(compare(study, rates.load()))
            print("\n".join([str(folder), *show.comparison(rows)]))  # noqa: T201 - a command
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - a command
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
