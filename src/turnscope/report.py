"""The front page of a study: one HTML file with verdicts, numbers and figures.

It loads nothing from anywhere, and equal inputs give equal bytes.
"""

import base64
import csv
import io
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import jinja2
import pandas as pd

MARKS = {
    "reproduced": "✓",
    "holds": "✓",
    "contradicted": "✗",
    "inconclusive": "?",
    "not run": "–",
}
"""Verdicts in the order of the tally, each with a sign, so that colour is not all that tells."""
MISSING = "–"
ENLARGED = 1.4
"""A figure on the screen against its size on paper."""
PREVIEW = 12
"""Rows of a figure's table that are shown; the file to download holds all."""

ENDINGS = {
    "share_success": "solved",
    "share_failure": "lost",
    "share_budget": "out of turns",
    "share_tokens": "out of tokens",
    "share_error": "environment failed",
}
"""Metrics of how episodes ended, and what the reader sees."""
LENGTHS = {"turns": "turns", "tokens": "tokens"}
"""Metrics of how long episodes were, and what the reader sees."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One figure of the report."""

    name: str
    """Name of the figure's module; the anchor of the figure in the page."""
    title: str
    caption: str
    svg: str
    """Text of the SVG file."""
    csv: str
    """Text of the CSV file."""


def render(
    pictures: Sequence[Picture],
    claims: pd.DataFrame,
    estimates: pd.DataFrame,
    *,
    k: int,
    margin: float,
    facts: Mapping[str, Mapping[str, Any]],
) -> str:
    """Write the report.

    Args:
        pictures: The figures in the order of the page.
        claims: Rows of `claims`.
        estimates: Rows of `estimates`, for the tables of numbers.
        k: The K at which depth is studied.
        margin: Largest difference that does not matter, of the self-test.
        facts: What else there is to know of the setup, by heading and name.

    Returns:
        A whole HTML document without a reference to any other file.

    Raises:
        ValueError: A claim has a verdict that does not exist.
    """
    if unknown := sorted(set(claims["verdict"]) - set(MARKS)):
        raise ValueError(f"verdict {unknown[0]!r}; known: {', '.join(MARKS)}")
    verdicts = list(claims["verdict"])
    arms = estimates.loc[~_single(estimates["policy"]) & (estimates["seeds"] > 0)]
    rows = [_claim(record) for record in claims.to_dict("records")]
    return _template().render(
        marks=MARKS,
        tally=[(verdict, verdicts.count(verdict)) for verdict in MARKS if verdict in verdicts],
        judged=[
            list(group)
            for _, group in itertools.groupby(
                (row for row in rows if row["verdict"] != "not run"), key=lambda row: row["claim"]
            )
        ],
        not_run=[row for row in rows if row["verdict"] == "not run"],
        seeds=_span(sorted(set(arms["seeds"].astype(int)))),
        studies=_studies(estimates, k),
        margin=margin,
        endings=[*ENDINGS.values(), *LENGTHS.values(), "tasks never played"],
        pictures=[_picture(picture) for picture in pictures],
        setup=[(title, list(values.items())) for title, values in facts.items()],
    )


def _template() -> jinja2.Template:
    source = resources.files("turnscope").joinpath("report.html.jinja").read_text("utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["number"] = number
    return environment.from_string(source)


def number(value: float | None, sign: bool = False) -> str:
    """Write a number for a reader; a dash where there is none."""
    if value is None or pd.isna(value):
        return MISSING
    digits = 3 if abs(value) < 10 else 1
    return f"{value:{'+' if sign else ''}.{digits}f}".replace("-", "−")


def percent(share: float | None) -> str:
    """Write a share in percent; what is not 0 never reads as 0, nor what is not all as all."""
    if share is None or pd.isna(share):
        return MISSING
    if 0 < share < 0.0005:
        return "< 0.1%"
    return "> 99.9%" if 0.9995 <= share < 1 else f"{share:.1%}"


def interval(low: float | None, high: float | None, sign: bool = False) -> str:
    """Write an interval; empty where it has no end, and a dash for one missing end."""
    ends = [number(end, sign) for end in (low, high)]
    return f"[{ends[0]}, {ends[1]}]" if ends != [MISSING, MISSING] else ""


def _claim(record: dict[Any, Any]) -> dict[str, Any]:
    row = {str(name): None if pd.isna(value) else value for name, value in record.items()}
    where = " · ".join(str(row[name]) for name in ("env", "model", "policy") if row[name])
    return row | {"interval": interval(row["low"], row["high"]), "where": where}


def _picture(picture: Picture) -> dict[str, Any]:
    size = re.search(r'<svg[^>]*\bwidth="([0-9.]+)pt"', picture.svg)
    inches = float(size[1]) / 72 if size else 6.9
    heads, *rows = list(csv.reader(io.StringIO(picture.csv)))
    return {
        "name": picture.name,
        "title": picture.title,
        "caption": picture.caption,
        "alt": f"{picture.title}. {picture.caption.split('. ')[0]}. All numbers are in the table.",
        "svg": base64.b64encode(picture.svg.encode()).decode(),
        "csv": base64.b64encode(picture.csv.encode()).decode(),
        "width": round(inches * 96 * ENLARGED),
        "wide": inches > 4,
        "heads": heads,
        "rows": [[_short(cell) for cell in row] for row in rows[:PREVIEW]],
        "count": len(rows),
    }


def _short(cell: str) -> str:
    return f"{float(cell):.4g}" if re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", cell) else cell


def _studies(estimates: pd.DataFrame, k: int) -> list[dict[str, Any]]:
    panels = estimates.loc[:, ["env", "model"]].drop_duplicates().sort_values(["model", "env"])
    return [
        study
        for env, model in panels.itertuples(index=False)
        if (
            study := _study(
                estimates.loc[(estimates["env"] == env) & (estimates["model"] == model)],
                f"{env} · {model}",
                k,
            )
        )
    ]


def _study(rows: pd.DataFrame, name: str, k: int) -> dict[str, Any] | None:
    levels = rows.loc[(rows["metric"] == "pass_at_k") & rows["against"].isna()]
    if levels.empty:
        return None
    t_max = max(levels.loc[:, "t"].astype(int))
    table = {
        (row["metric"], row["policy"], _key(row["against"]), _key(row["k"]), _key(row["t"])): row
        for row in rows.to_dict("records")
    }
    columns = {
        f"Pass@(1, {t_max})": ("pass_at_k", None, 1, t_max),
        f"Pass@({k}, {t_max})": ("pass_at_k", None, k, t_max),
        f"pass^({k}, {t_max})": ("pass_hat_k", None, k, t_max),
        f"budget AUC, k = {k}": ("budget_auc", None, k, None),
        "lead, k = 1": ("pass_at_k", "base", 1, t_max),
        "over seeds, k = 1": ("over_seeds", "base", 1, t_max),
        f"lead, k = {k}": ("pass_at_k", "base", k, t_max),
        f"over seeds, k = {k}": ("over_seeds", "base", k, t_max),
    }
    arms = sorted(set(levels.loc[~_single(levels["policy"]), "policy"]) - {"base"})
    cells = {
        policy: [
            _cell(table.get((metric, policy, *where)), sign=where[0] is not None)
            for metric, *where in columns.values()
        ]
        for policy in ["base", *arms]
    }
    shown = [i for i in range(len(columns)) if any(row[i][0] for row in cells.values())]
    counts = {what: sorted(set(levels[what].astype(int)) - {0}) for what in ("tasks", "samples")}
    return {
        "name": name,
        "heads": [list(columns)[i] for i in shown],
        "rows": [(policy, [row[i] for i in shown]) for policy, row in cells.items()],
        "caption": f"{_span(counts['tasks'])} test tasks, {_span(counts['samples'])} episodes of "
        f"each by each policy, T_max = {t_max} turns, {int(levels['seeds'].max())} training seeds.",
        "selftest": _selftest(rows),
        "endings": _endings(rows),
    }


def _selftest(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Say at which budgets truncated episodes were shown to agree with those played anew."""
    tested = rows.loc[rows["metric"] == "truncation_equivalence"].sort_values(["policy", "k", "t"])
    differs = {
        (row["policy"], row["k"], row["t"]): row["p_value"]
        for row in rows.loc[rows["metric"] == "truncation"].to_dict("records")
    }
    return [
        {
            "policy": row["policy"],
            "k": row["k"],
            "t": row["t"],
            "tasks": row["tasks"],
            "value": number(row["value"], sign=True),
            "interval": interval(row["low"], row["high"], sign=True),
            "p_equal": number(differs[row["policy"], row["k"], row["t"]]),
            "agrees": "yes" if row["p_value"] < 0.05 else "not shown",
        }
        for row in tested.to_dict("records")
    ]


def _endings(rows: pd.DataFrame) -> list[tuple[str, list[str]]]:
    """Write the shares of `ENDINGS` and the lengths of episodes for every policy and seed."""
    found = {
        (row["policy"], row["metric"]): row
        for row in rows.to_dict("records")
        if row["metric"] in {*ENDINGS, *LENGTHS}
    }
    policies = sorted({policy for policy, _ in found}, key=lambda name: (name != "base", name))
    return [
        (
            policy,
            [percent(found[policy, name]["value"]) for name in ENDINGS]
            + [_length(found[policy, name]["value"]) for name in LENGTHS]
            + [str(found[policy, "share_error"]["tasks"] - found[policy, "turns"]["tasks"])],
        )
        for policy in policies
    ]


def _length(value: float | None) -> str:
    return MISSING if value is None or pd.isna(value) else f"{value:.1f}"


def _single(policies: pd.Series) -> pd.Series:
    """Say which policies are of a single training seed."""
    return policies.str.contains(r"-s\d+$", regex=True)


def _key(value: Any) -> Any:
    return None if pd.isna(value) else value


def _span(values: list[int]) -> str:
    if not values:
        return "unknown"
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"


def _cell(row: dict[Any, Any] | None, sign: bool) -> tuple[str, str]:
    if row is None or pd.isna(row["value"]):
        return "", ""
    return number(row["value"], sign), interval(row["low"], row["high"], sign)
