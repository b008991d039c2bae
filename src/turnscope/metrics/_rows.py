"""From quantities of single tasks to rows of table `estimates`.

Source:
    See `turnscope.intervals`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from turnscope import intervals, schemas
from turnscope.metrics._outcomes import Study
from turnscope.metrics._series import Series

Floats = npt.NDArray[np.float64]

COLUMNS = [field.name for field in schemas.ESTIMATES if str(field.type) == "double"]


class Sampled(NamedTuple):
    """A series and the bootstrap draws of its mean."""

    series: Series
    draws_KTB: Floats


def mean(x_NKT: Floats) -> Floats:
    """Average the tasks that have a value, shape (K, T); NaN where none has."""
    present = ~np.isnan(x_NKT)
    entered = present.sum(axis=0)
    total = np.where(present, x_NKT, 0.0).sum(axis=0)
    return np.divide(total, entered, out=np.full(total.shape, np.nan), where=entered > 0)


def bootstrap(one: Series, weights_BN: Floats) -> Floats:
    """Draw the mean over tasks, shape (K, T, B)."""
    size, ks, ts = one.x_NKT.shape
    means_CB = intervals.bootstrap(one.x_NKT.reshape(size, ks * ts), weights_BN)
    return means_CB.reshape(ks, ts, len(weights_BN))


def bootstrap_gap(gap: Series, one: Sampled, other: Sampled, weights_BN: Floats) -> Floats:
    """Draw the mean of a difference, shape (K, T, B).

    Where both sides have values at the same tasks, it is the difference of their draws, which
    saves most of the work.

    Args:
        gap: One side minus the other, task by task.
        one: The first side and its draws.
        other: The second side and its draws.
        weights_BN: What the draws were made with.
    """
    if (np.isnan(one.series.x_NKT) == np.isnan(other.series.x_NKT)).all():
        return one.draws_KTB - other.draws_KTB
    return bootstrap(gap, weights_BN)


def pointwise(one: Series, draws_KTB: Floats, *, share: bool = False) -> dict[str, Floats]:
    """Return columns `value`, `low` and `high`.

    Args:
        one: What is estimated.
        draws_KTB: Result of `bootstrap`.
        share: The quantity is a probability. Where all tasks have 0, or all have 1, no draw
            differs; the interval is then Wilson's for that many tasks.
    """
    value = mean(one.x_NKT)
    low, high = intervals.percentile(draws_KTB)
    if share:
        entered = (~np.isnan(one.x_NKT)).sum(axis=0)
        least, most = np.fmin.reduce(one.x_NKT), np.fmax.reduce(one.x_NKT)
        edge = (entered > 0) & ((most <= intervals.NOISE) | (least >= 1 - intervals.NOISE))
        for cell in zip(*np.nonzero(edge), strict=True):
            tasks = int(entered[cell])
            low[cell], high[cell] = intervals.wilson(round(float(value[cell])) * tasks, tasks)
    return {"value": value, "low": low, "high": high}


def banded(one: Series, draws_KTB: Floats) -> dict[str, Floats]:
    """Return the columns of `pointwise` and the two simultaneous bands."""
    columns = pointwise(one, draws_KTB)
    bands = intervals.bands(columns["value"], draws_KTB)
    return columns | {f"band_{name}": band for name, band in bands._asdict().items()}


def p_values(one: Series, signs_BN: Floats, cells: Sequence[int] | None = None) -> Floats:
    """Return sign-flip p-values, shape (K, T).

    Args:
        one: A paired difference.
        signs_BN: Result of `intervals.signs`.
        cells: Indices of the T to test; all by default. The others get NaN.
    """
    size, ks, ts = one.x_NKT.shape
    tested = np.arange(ts) if cells is None else np.asarray(cells)
    x_NC = one.x_NKT[:, :, tested].reshape(size, ks * len(tested))
    p_KT = np.full((ks, ts), np.nan)
    p_KT[:, tested] = intervals.sign_flip(x_NC, signs_BN).reshape(ks, len(tested))
    return p_KT


def over_seeds(
    members: Sequence[Series],
    test: Callable[..., intervals.Interval] = intervals.student,
    shared_KT: Floats | None = None,
) -> dict[str, Floats]:
    """Return columns `value`, `low`, `high` and `p_value` of a mean over training seeds.

    Args:
        members: The same difference of each training seed.
        test: Gives the interval and the p-value of their means.
        shared_KT: Variance of what all of them have in common, a second argument of the test;
            without it they have nothing in common.
    """
    means_KTS = np.stack([mean(one.x_NKT) for one in members], axis=-1)
    cells = means_KTS.reshape(-1, len(members))
    more = [()] * len(cells) if shared_KT is None else [(one,) for one in shared_KT.ravel()]
    tested = [test(cell, *rest) for cell, rest in zip(cells, more, strict=True)]
    found = np.array(tested).reshape(*means_KTS.shape[:2], 3)
    low, high, p_value = np.moveaxis(found, -1, 0)
    return {"value": means_KTS.mean(axis=-1), "low": low, "high": high, "p_value": p_value}


def holm(study: Study, metric: str, gap: Series, ks: Sequence[int], p_KT: Floats) -> pd.DataFrame:
    """Adjust the p-values at the quarters of T_max by Holm, one family for each k.

    Args:
        study: Names the environment and the model.
        metric: Name of the adjusted p-values.
        gap: The difference that was tested at every T.
        ks: Label of each k.
        p_KT: Its p-values, shape (K, T).

    Returns:
        Rows whose `value` and `p_value` are alike.
    """
    quarters = [turns - 1 for turns in study.quarters]
    adjusted_KT = np.stack([intervals.holm(p_T) for p_T in p_KT[:, quarters]])
    columns = {"value": adjusted_KT, "p_value": adjusted_KT}
    some = gap.replaced(gap.x_NKT[:, :, quarters])
    return rows(study, metric, some, ks, study.quarters, columns)


def rows(
    study: Study,
    metric: str,
    one: Series,
    ks: Sequence[int | None],
    ts: Sequence[int | None],
    columns: dict[str, Floats],
    part: str | None = None,
) -> pd.DataFrame:
    """Lay a surface out as rows of table `estimates`.

    Args:
        study: Names the environment and the model.
        metric: What is estimated.
        one: What was estimated; counts its tasks and episodes.
        ks: Label of each row of the surface; None is no k.
        ts: Label of each column; None is no T.
        columns: Values by column of the table, each of shape (K, T).
        part: Which states or episodes; None is all.

    Returns:
        K times T rows, T fastest.
    """
    present = ~np.isnan(one.x_NKT)
    fewest = np.where(present, one.n_N[:, None, None], np.iinfo(np.int64).max).min(axis=0)
    tasks, count = present.sum(axis=0), len(ks) * len(ts)
    return pd.DataFrame(
        {
            "metric": metric,
            "env": study.env,
            "model": study.model,
            "policy": one.policy,
            "against": pd.Series([one.against] * count, dtype=object),
            "part": pd.Series([part] * count, dtype=object),
            "k": pd.array(np.repeat(np.array(ks, object), len(ts)), dtype="Int32"),
            "t": pd.array(np.tile(np.array(ts, object), len(ks)), dtype="Int32"),
            **{name: columns.get(name, np.full(count, np.nan)).ravel() for name in COLUMNS},
            "tasks": tasks.ravel().astype(np.int32),
            "samples": np.where(tasks > 0, fewest, 0).ravel().astype(np.int32),
            "seeds": np.full(count, one.seeds, np.int32),
        }
    )


def joined(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Stack the rows of a metric; without any, an empty table of `estimates`."""
    found = list(parts)
    if not found:
        return pd.DataFrame(columns=schemas.ESTIMATES.names)
    return pd.concat(found, ignore_index=True)
