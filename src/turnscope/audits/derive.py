"""All that is computed from what was played comes out again: estimates, claims, figures, report.

And sets of episodes come out of their parts, if these are still there. It takes seconds, unlike
playing and training, so nothing is left to chance: each such job is done again, in few processes,
with the recorded specification and inputs and the present code. Numbers of estimates may differ by
rounding; all else is compared byte for byte.
"""

import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd

from turnscope import provenance, tables
from turnscope.audits._results import Finding, Outcome, Record, Results, Settings, each
from turnscope.dry_run import STAGE

STAGES = ("gather", "estimate", "claims", "summary", "figure", "report")
"""Those that play nothing, train nothing and read no weights."""
MANY = 10
"""Jobs for which further processes are worth their start."""
WORKERS = 4
"""Processes at most: each holds what one job reads."""
CLOSE = 1e-9
"""What estimates may differ by, relative to their size if that is above 1."""


def check(results: Results, settings: Settings) -> Outcome:
    """Do every job of `STAGES` again."""
    del settings
    known = [record for record in results.records if record.stage in STAGES]
    some = [one for one in known if not any(results.gone(file.path) for file in one.inputs)]
    look, workers = partial(_looked, results), min(os.cpu_count() or 1, WORKERS)
    if len(some) < MANY or workers < 2:
        found = [*map(look, some)]
    else:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            found = [*pool.map(look, some)]
    return Outcome(len(some), "artifacts", [finding for one in found for finding in one])


def _looked(results: Results, record: Record) -> list[Finding]:
    """Do one job again; what goes wrong is a finding."""
    return each([record], lambda one: _again(results, one))


def _again(results: Results, record: Record) -> Iterator[Finding]:
    inputs = {file.name: results.opened(file.path) for file in record.inputs}
    with tempfile.TemporaryDirectory(prefix="turnscope-audit-") as name:
        made = {file.name: Path(name, Path(file.path).name) for file in record.outputs}
        try:
            import_module(f"{STAGE}{record.stage}").run(record.spec, inputs, made)
        except Exception as error:  # noqa: BLE001 - specification and inputs are a stranger's
            detail = " ".join(f"the job failed: {type(error).__name__}: {error}".split())[:500]
            yield Finding("derive", record.mark, detail)
            return
        for file in record.outputs:
            if provenance.file_sha256(made[file.name]) == results.sha256(file.path):
                continue
            if file.name == "estimates":
                now, then = tables.read(made[file.name], "estimates"), file.path
                why = _other(results.table(then, "estimates"), now)
            else:
                why = "it comes out otherwise"
            if why:
                yield Finding("derive", file.path, why)


def _other(then: pd.DataFrame, now: pd.DataFrame) -> str | None:
    """Name the first estimate that is another one; None if rounding is all there is."""
    if len(then) != len(now):
        return f"{len(then)} rows; {len(now)} come out"
    for name in now:
        old, new = then[name], now[name]
        if old.dtype == float:
            a, b = old.to_numpy(), new.to_numpy()
            equal = np.isclose(a, b, rtol=CLOSE, atol=CLOSE, equal_nan=True)
        else:
            equal = ((old == new) | (old.isna() & new.isna())).fillna(False).to_numpy(bool)
        if not equal.all():
            at = int(np.argmin(equal))
            row = then.iloc[at]
            return (
                f"{int((~equal).sum())} times, first {row['metric']} of {row['policy']}, "
                f"k {row['k']}, t {row['t']}: {name} is {old.iloc[at]}, {new.iloc[at]} comes out"
            )
    return None
