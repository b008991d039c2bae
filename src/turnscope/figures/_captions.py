"""What captions say of the data: how much there is, and which arms are not drawn."""

from collections.abc import Iterable

import pandas as pd

from turnscope import arms
from turnscope.figures import _style


def span(values: Iterable[float]) -> str:
    """Write a number, or the two ends where it differs between panels."""
    known = sorted({int(value) for value in values if not pd.isna(value)})
    if not known:
        return "an unknown number of"
    return str(known[0]) if len(known) == 1 else f"{known[0]} to {known[-1]}"


def counted(values: Iterable[float], noun: str) -> str:
    """Write a number with its noun, such as `3 training seeds`."""
    number = span(values)
    return f"{number} {noun}" if number == "1" else f"{number} {noun}s"


def sizes(frame: pd.DataFrame) -> dict[str, str]:
    """Write how much data stands behind a frame, for captions.

    Returns:
        `tasks`, `samples` and `seeds`, each with its noun, and `k`.
    """
    seeds = frame.loc[~arms.is_seed(frame["policy"]) & (frame["seeds"] > 0), "seeds"]
    return {
        "tasks": counted(frame["tasks"], "test task"),
        "samples": counted(frame.loc[frame["samples"] > 0, "samples"], "episode"),
        "seeds": counted(seeds, "training seed"),
        "k": span(frame["k"].dropna()) if "k" in frame else "",
    }


def stated(frame: pd.DataFrame, metric: str, form: str) -> str:
    """Write the values of one metric with their intervals, policy by policy.

    Args:
        frame: Result of a figure's `data`.
        metric: Which.
        form: How numbers are written, such as `+.2f`.
    """
    alone = len(_style.panels(frame)) == 1
    return "; ".join(
        f"{row.policy}{'' if alone else f' ({row.env}, {row.model})'} {row.value:{form}} "
        f"[{row.low:{form}}, {row.high:{form}}]"
        for row in frame.loc[frame["metric"] == metric].itertuples()
    )


def hidden(frame: pd.DataFrame) -> list[str]:
    """List the arms that `_style.legible` leaves out; with a panel if others show them."""
    found: dict[str, list[str]] = {arm: [] for arm in _style.arms_of(frame)}
    for env, model in _style.panels(frame):
        arms = _style.arms_of(_style.within(frame, (env, model)))
        for arm in arms[_style.LEGIBLE :]:
            found[arm].append(f"{arm} ({env}, {model})")
    shown = _style.arms_of(_style.legible(frame))
    return [
        name
        for arm, panels in found.items()
        for name in (panels if arm in shown or not panels else [arm])
    ]


def left_out(frame: pd.DataFrame, where: str = "budget_auc") -> str:
    """Name in a sentence the arms that `_style.legible` leaves out; empty if there are none.

    Args:
        frame: Result of a figure's `data`.
        where: The figure that shows them.
    """
    names = hidden(frame)
    return f" Not shown: {', '.join(names)}; see {where}." if names else ""


def not_run(missing: Iterable[str]) -> str:
    """Name in a sentence what the study did not run; empty if that is nothing."""
    names = list(missing)
    return f" Not run here: {', '.join(names)}." if names else ""


def played_blind(frame: pd.DataFrame) -> str:
    """Name in a sentence the arms that were trained told and are shown blind; empty if none are.

    Args:
        frame: Result of a figure's `data`, all of it played blind.
    """
    return arms.played_blind(_style.told_of(frame))
