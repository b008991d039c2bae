"""A comparison as text for a terminal, as a page, and as tables for programs."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from turnscope import atomic
from turnscope.ablation import folder as folders
from turnscope.ablation.asked import ALL, Asked
from turnscope.ablation.compare import Drawn, Files

SHOWN = 12
"""Most rows of a table in a terminal; the page has all that changed."""
SAME = "same"
METRIC = ["metric", "env", "model"]
EVERYWHERE = ("claim", "figure", "summary")
"""Kinds that are made again alone."""


class Comparison(NamedTuple):
    """What came out."""

    asked: Asked
    settings: list[str]
    """Values that the user set."""
    files: Files
    claims: pd.DataFrame
    estimates: pd.DataFrame
    drawn: list[Drawn]


def text(found: Comparison, most: int | None = SHOWN) -> list[str]:
    """Write a comparison in lines of text.

    Args:
        found: What came out.
        most: Most rows of each table; all if None.
    """
    return [
        *_made(found),
        *_section(_claims(found, most)),
        *_section(_estimates(found, most)),
        *_section(_drawn(found, most)),
        "",
        verdict(found),
    ]


def verdict(found: Comparison) -> str:
    """Say in one line whether it comes out again."""
    files, other = found.files, len(found.files.other)
    if not files.jobs:
        return "nothing hangs on it, so nothing was made"
    if not other:
        return f"it comes out again: all {files.files:,} files are equal, byte for byte"
    number = f"{other:,} of {files.files:,}"
    if files.changes:
        return f"{number} files came out otherwise"
    return f"it does NOT come out again: nothing changed, yet {number} files differ"


def same(found: Comparison) -> bool:
    """Tell whether what came out is explained: equal bytes, or something changed."""
    return not found.files.other or bool(found.files.changes)


def _made(found: Comparison) -> list[str]:
    """Say what was asked for, what changed, and which jobs ran."""
    asked, files = found.asked, found.files
    what = "what changed" if asked.kind == ALL else f"{asked.kind} {asked.name}"
    lines = [f"again    {what}"]
    if found.settings:
        lines.append(f"set      {', '.join(found.settings)}")
    changes = [
        f"{change}  ({_counts(stages)})" for change, stages in list(files.changes.items())[:SHOWN]
    ]
    lines += _hanging("changed", changes or ["nothing, neither config nor code"])
    if rest := len(files.changes) - SHOWN:
        lines += [f"         and {rest:,} more"] if rest > 0 else []
    jobs = sum(files.jobs.values())
    named = f"made     {jobs:,} job{'s' * (jobs > 1)}: {_counts(files.jobs)}"
    return [*lines, named] if jobs else lines


def _hanging(word: str, entries: Sequence[str]) -> list[str]:
    """Write entries below one another, after a word."""
    return [f"{word if not number else '':9}{entry}" for number, entry in enumerate(entries)]


def _counts(stages: dict[str, int]) -> str:
    return ", ".join(f"{stage} {number:,}" for stage, number in stages.items())


def _section(lines: Sequence[str]) -> list[str]:
    return ["", *lines] if lines else []


def _claims(found: Comparison, most: int | None) -> list[str]:
    """List the claims that changed, and those that were asked for."""
    rows, asked = found.claims, found.asked
    if "claims" not in found.files.jobs or rows.empty:
        return []
    named = (rows["claim"] == asked.name) & (asked.kind == "claim")
    if asked.kind in ("arm", "policy") and most:
        arms = {policy.rsplit("-s", 1)[0] for policy in asked.policies}
        named |= rows["policy"].isin(arms) & rows["value_before"].notna()
    wanted = rows["changed"] | named
    # In a terminal, whoever asks for a claim sees that claim.
    shown = rows[named if asked.kind == "claim" and most else wanted]
    table = [["claim", "env", "policy", "before", "", "after", ""]]
    for row in _records(shown)[:most]:
        before, after = _number(row, "before"), _number(row, "after")
        verdicts = [_word(row[f"verdict_{side}"]) for side in ("before", "after")]
        if not row["changed"]:
            verdicts[1], after = SAME, ""
        table.append(
            [row["claim"], _env(row, rows), row["policy"], verdicts[0], before, verdicts[1], after]
        )
    return _table(table, int(rows["changed"].sum()), int(wanted.sum()), len(rows), "claims", most)


def _estimates(found: Comparison, most: int | None) -> list[str]:
    """List for each metric the estimate that moved most, in widths of its interval."""
    rows = found.estimates
    if "estimate" not in found.files.jobs or rows.empty:
        return []
    changed = rows[rows["changed"]]
    moved = (changed["value_after"] - changed["value_before"]).abs().fillna(0)
    width = (changed["high_before"] - changed["low_before"]).where(lambda one: one > 0)
    order = (moved / width).fillna(0).sort_values(ascending=False, kind="stable").index
    groups = [group for _, group in changed.loc[order].groupby(METRIC, sort=False)]
    totals = rows.groupby(METRIC).size()
    table = [["metric, most moved first", "env", "policy", "k", "T", "before", "after", "changed"]]
    for group in groups[:most]:
        row = _records(group)[0]
        table.append(
            [
                *(row["metric"], _env(row, rows), _against(row), row["k"], row["t"]),
                *(_number(row, "before"), _number(row, "after")),
                f"{len(group):,} of {totals[tuple(row[name] for name in METRIC)]:,}",
            ]
        )
    return _table(table, len(changed), len(groups), len(rows), "estimates", most)


def _records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in rows.to_dict("records")]


def _env(row: dict[str, Any], rows: pd.DataFrame) -> str:
    """Name the environment and the model of a row, if there are several."""
    several = [name for name in ("env", "model") if len({*rows[name]} - {""}) > 1]
    return "/".join(row[name] for name in several)


def _drawn(found: Comparison, most: int | None) -> list[str]:
    """List figures and tables that came out otherwise."""
    made = {"figure", "summary"} & found.files.jobs.keys()
    if not made:
        return []
    if found.asked.kind in EVERYWHERE:
        drawn = [one for one in found.drawn if one.name.rsplit("/", 1)[-1] == found.asked.name]
    else:
        drawn = found.drawn
    changed = [one for one in drawn if not one.equal]
    table = [["figure or table", "rows", "changed", "by at most"]]
    for one in changed[:most]:
        table.append([one.name, f"{one.rows:,}", f"{one.changed:,}", one.most])
    return _table(table, len(changed), len(changed), len(drawn), "figures and tables", most)


def _table(
    table: list[list[str]], changed: int, wanted: int, total: int, name: str, most: int | None
) -> list[str]:
    """Align a table under a line that counts; a table without rows is left out."""
    head = f"{name}: {changed:,} of {total:,} changed"
    if not changed:
        head = f"{name}: all {total:,} as before"
    if len(table) == 1:
        return [head]
    rest = wanted - (len(table) - 1)
    more = [f"  and {rest:,} more, see {folders.DONE}"] if most and rest > 0 else []
    return [head, *(f"  {line}" for line in aligned(table)), *more]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Pad columns to one width; columns in which nothing is said are left out."""
    columns = [column for column in zip(*rows, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in zip(*columns, strict=True)
    ]


def _against(row: dict[str, Any]) -> str:
    """Name a policy, what it is compared with, and in which part."""
    against = f" - {row['against']}" if row["against"] else ""
    return f"{row['policy']}{against}{' ' + row['part'] if row['part'] else ''}"


def _word(verdict: object) -> str:
    return verdict if isinstance(verdict, str) else "-"


def _number(row: dict[str, Any], side: str) -> str:
    """Write a value with its interval."""
    value, low, high = (row[f"{name}_{side}"] for name in ("value", "low", "high"))
    if pd.isna(value):
        return "-"
    if pd.isna(low) and pd.isna(high):
        return f"{value:.3f}"
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def write(found: Comparison, folder: Path, command: str) -> None:
    """Write the page and the tables of a comparison; the page comes last.

    Args:
        found: What came out.
        folder: Where.
        command: That the user typed.
    """
    rows = found.estimates
    both = {"claims": found.claims, "estimates": rows[rows["changed"]]}
    for name, frame in both.items():
        atomic.write_text(frame.to_csv(index=False), folder / f"{name}.csv")
    page = [
        f"# {verdict(found)}",
        "",
        f"Made by `{command}`. Before: the study itself. After: `results/` beside this page.",
        "`claims.csv` holds both sides of all claims, `estimates.csv` those of the estimates that",
        "changed.",
        "",
        "```",
        *text(found, None),
        "```",
        *_other(found.files.other),
    ]
    atomic.write_text("\n".join(page) + "\n", folder / folders.DONE)


def _other(paths: Iterable[str]) -> list[str]:
    """List files that came out otherwise."""
    lines = [f"- `{path}`" for path in paths]
    return ["", "## Files with other bytes", "", *lines] if lines else []
