"""Tables hold what can be: whatever policies do, some numbers bound, repeat or order others.

By kind of table: of episodes see `_sane_played`, of likelihoods and training `_sane_scored`, of
estimates and what is judged by them `_sane_judged`. Each column that names who and where is what
the specification says.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from turnscope.audits import _sane_judged, _sane_played, _sane_scored
from turnscope.audits._results import Finding, Outcome, Record, Results, Settings, each
from turnscope.schemas import TABLES

CHECKS: Mapping[str, Callable[[Results, Record, str], Iterator[Finding]]] = {
    "tasks": _sane_played.tasks,
    "episodes": _sane_played.episodes,
    "training": _sane_scored.training,
    "progress": _sane_scored.progress,
    "likelihood": _sane_scored.likelihood,
    "heat": _sane_scored.heat,
    "estimates": _sane_judged.estimates,
    "claims": _sane_judged.claims,
    "robustness": _sane_judged.robustness,
    "calibration": _sane_judged.calibration,
}
"""By table."""
NAMES = ("env", "model", "policy")


def check(results: Results, settings: Settings) -> Outcome:
    """Look at every table."""
    del settings
    some = [(*one, name) for name in TABLES for one in results.tables(name)]
    found = each(some, lambda one: _named(results, *one))
    for name, look in CHECKS.items():
        found += each(results.tables(name), lambda one, look=look: look(results, *one))
    return Outcome(len(some), "tables", found)


def _named(results: Results, record: Record, path: str, name: str) -> Iterator[Finding]:
    """Yield columns that name others than the specification."""
    spec: dict[str, Any] = record.spec
    names = [one for one in NAMES if one in spec and one in TABLES[name].names]
    if not names:
        return
    rows = results.table(path, name, names)
    for one in names:
        if other := sorted({*rows[one].unique()} - {spec[one]}):
            yield Finding("name", path, f"{one} is {other[0]}; it was made for {spec[one]}")
