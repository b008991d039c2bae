"""What a unit of work took where it was measured: `rates.csv`, which `measure` writes.

Columns: `stage`; `env` and `variant` (an algorithm, or how episodes are played), `*` for any; the
kind of `model` and of `device`; `unit`, such as `s/turn`; `value`, `low` and `high`; `source`. The
units of work are those of `work`; seconds are of processor time. The stage `start` is what
every job with a model takes before it does anything.
"""

import csv
import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from turnscope import atomic
from turnscope.plan.spans import Span

TABLE = Path(__file__).with_suffix(".csv")
COLUMNS = (
    *("stage", "env", "variant", "model", "device"),
    *("unit", "value", "low", "high", "source"),
)


class Key(NamedTuple):
    """What was measured."""

    stage: str
    env: str
    variant: str
    unit: str


class Rate(NamedTuple):
    """How much of it there is in a unit, and how that is known."""

    span: Span
    source: str


Rates = Mapping[Key, Rate]


def load(path: Path = TABLE) -> Rates:
    """Read a table of rates.

    Raises:
        ValueError: A number in it is negative, or its interval does not hold it.
    """
    rates: dict[Key, Rate] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            span = Span(*(float(row[name]) for name in ("value", "low", "high")))
            if not 0 <= span.low <= span.value <= span.high:
                raise ValueError(f"{path}: {row}: legal is 0 <= low <= value <= high")
            key = Key(*(row[name] for name in Key._fields))
            rates[key] = Rate(span, row["source"])
    return rates


def save(rates: Rates, path: Path, model: str, device: str) -> None:
    """Write a table of rates, all measured with one kind of model on one kind of device."""
    with atomic.replacing(path) as draft, draft.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for key, (span, source) in sorted(rates.items()):
            numbers = [f"{number:.3g}" for number in (span.value, span.low, span.high)]
            names = [key.stage, key.env, key.variant, model, device, key.unit]
            writer.writerow([*names, *numbers, source])


def find(rates: Rates, key: Key) -> Rate | None:
    """Return the rate of a key, or else that of the narrowest one which covers it.

    What another environment took is a poorer guess than another variant in the same.
    """
    for env, variant in itertools.product(_or_any(key.env), _or_any(key.variant)):
        if rate := rates.get(key._replace(env=env, variant=variant)):
            return rate
    return None


def _or_any(name: str) -> Iterable[str]:
    return dict.fromkeys([name, "*"])
