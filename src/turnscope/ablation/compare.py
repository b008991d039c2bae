"""What came out otherwise: claims, estimates, figures, and files byte by byte."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from turnscope import records, tables
from turnscope.ablation import folder as folders
from turnscope.why import changed

CLAIM = ["claim", "env", "model", "policy"]
ESTIMATE = ["metric", "env", "model", "policy", "against", "part", "k", "t"]
NUMBERS = ["value", "low", "high"]
SIDES = ("before", "after")


class Files(NamedTuple):
    """What jobs made again."""

    jobs: dict[str, int]
    """How many of each stage."""
    changes: dict[str, dict[str, int]]
    """What changed in specification and code, and in how many jobs of each stage."""
    files: int
    other: list[str]
    """Files with other bytes, or that were not there before."""


def files(study: Path, folder: Path) -> Files:
    """Compare what was made again with what was there.

    Args:
        study: Folder of the study.
        folder: Where part of it was made again.
    """
    jobs: Counter[str] = Counter()
    changes: dict[str, Counter[str]] = {}
    number, other = 0, []
    for mark in folders.marks(folder):
        old = study / mark.relative_to(folder)
        if old.is_file() and _bytes(records.diary(old)) == _bytes(records.diary(mark)):
            continue
        now = folders.record(mark)
        stage = now["stage"]
        jobs[stage] += 1
        then = folders.record(old) if old.is_file() else None
        for change in _changes(then, now):
            changes.setdefault(change, Counter())[stage] += 1
        made = {entry["path"]: entry["sha256"] for entry in now["outputs"]}
        had = {entry["path"]: entry["sha256"] for entry in then["outputs"]} if then else {}
        number += len(made)
        other += [path for path in made if made[path] != had.get(path)]
    # Last, what a reader is told of the setup: it repeats what changed.
    ordered = sorted(changes, key=lambda change: change.startswith("facts."))
    return Files(dict(jobs), {change: dict(changes[change]) for change in ordered}, number, other)


def _changes(then: dict | None, now: dict) -> list[str]:
    """Name what a job was made from otherwise."""
    if then is None:
        return []
    return [
        *changed.specification(then["spec"], now["spec"]),
        *changed.code(then["modules"], now["modules"]),
    ]


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def claims(study: Path, folder: Path) -> pd.DataFrame:
    """Lay the verdicts of both sides side by side; columns as in `_joined`."""
    before, after = (
        _read([one / "results/claims/claims.parquet"], "claims") for one in (study, folder)
    )
    return _joined(before, after, CLAIM, ["verdict", *NUMBERS])


def estimates(study: Path, folder: Path) -> pd.DataFrame:
    """Lay the estimates of both sides side by side, of the metrics of the new one."""
    paths = sorted(folder.glob("results/estimates/*/*/*.parquet"))
    old = [study / path.relative_to(folder) for path in paths]
    return _joined(_read(old, "estimates"), _read(paths, "estimates"), ESTIMATE, NUMBERS)


def _read(paths: Iterable[Path], table: str) -> pd.DataFrame:
    return tables.read_all([path for path in paths if path.is_file()], table)


def _joined(
    before: pd.DataFrame, after: pd.DataFrame, key: list[str], columns: list[str]
) -> pd.DataFrame:
    """Match rows by their names.

    Returns:
        The key, where null is the empty text; each column with `_before` and `_after`, null where a
        side has no such row; `changed`, whether any differs at all.
    """
    sides = []
    for side, name in zip((before, after), SIDES, strict=True):
        own = side[key].astype("string").fillna("")
        own["row"] = own.groupby(key).cumcount()
        for column in columns:
            own[f"{column}_{name}"] = side[column].to_numpy()
        own[f"there_{name}"] = True
        sides.append(own)
    rows = sides[0].merge(sides[1], on=[*key, "row"], how="outer", sort=False)
    different = rows["there_before"].isna() | rows["there_after"].isna()
    for column in columns:
        old, new = rows[f"{column}_before"], rows[f"{column}_after"]
        different |= ~((old == new) | (old.isna() & new.isna())).astype(bool)
    rows["changed"] = different.astype(bool)
    return rows.drop(columns=["row", "there_before", "there_after"])


class Drawn(NamedTuple):
    """A figure or a summary on both sides."""

    name: str
    rows: int
    changed: int
    """Rows that differ."""
    most: str
    """Largest difference of a number and its column; empty if rows cannot be matched, or none is a
    number."""
    equal: bool
    """Whether all files are equal, pictures with them."""


def drawn(study: Path, folder: Path, other: Iterable[str]) -> list[Drawn]:
    """Compare the numbers behind figures and summaries.

    Args:
        study: Folder of the study.
        folder: Where part of it was made again.
        other: Files with other bytes, see `files`.
    """
    stems = Counter(path.rsplit(".", 1)[0] for path in other)
    found = []
    for path in sorted(
        [*folder.glob("results/figures/*.csv"), *folder.glob("results/summaries/*.csv")]
    ):
        name = path.relative_to(folder)
        old, new = _table(study / name), _table(path)
        rows, differ, most = _differences(old, new)
        stem = name.with_suffix("").as_posix()
        short = stem.removeprefix("results/figures/").removeprefix("results/")
        found.append(Drawn(short, rows, differ, most, not stems[stem]))
    return found


def _table(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=object) if path.is_file() else pd.DataFrame()


def _differences(old: pd.DataFrame, new: pd.DataFrame) -> tuple[int, int, str]:
    """Count rows of a table, those that differ, and say by how much at most."""
    if old.shape != new.shape or list(old.columns) != list(new.columns):
        return len(new), len(new), ""
    differ = ~((old == new) | (old.isna() & new.isna()))
    numbers = [side.apply(pd.to_numeric, errors="coerce") for side in (old, new)]
    gaps = (numbers[1] - numbers[0]).abs().where(differ).max().dropna()
    most = f"{gaps.max():.3g} {gaps.idxmax()}" if len(gaps) else ""
    return len(new), int(differ.any(axis=1).sum()), most
