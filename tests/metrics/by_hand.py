"""Small studies written out by hand."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from turnscope.metrics import Settings

ERROR = "error"
SETTINGS = Settings(ks=[1, 2], k=2, shares=[0.5, 1.0], draws=200, seed=1)


def tasks(names: Sequence[str], bound: Sequence[float] | None = None, **columns) -> pd.DataFrame:
    """Write test tasks with the same structural bound, of one stratum."""
    frame = pd.DataFrame(
        {
            "env": "lake",
            "task_id": list(names),
            "split": "test",
            "stratum": "all",
            "cluster": list(names),
            "payload": "{}",
            "bound": pd.Series([bound] * len(names), dtype=object),
        }
    )
    return frame.assign(**columns)


def episodes(
    outcomes: Mapping[str, Mapping[str, Sequence[int | str | None]]],
    budget: int = 4,
    told: bool = False,
) -> pd.DataFrame:
    """Write episodes from the turn at which each was solved.

    Args:
        outcomes: By policy and task: the solve turns; None is never, `ERROR` is an environment
            that failed.
        budget: T under which they were played.
        told: Whether the policy was shown it.
    """
    records = [
        {
            "env": "lake",
            "model": "nano",
            "policy": policy,
            "task_id": task,
            "sample": sample,
            "budget": budget,
            "told": told,
            "temperature": 1.0,
            "turns": turn if isinstance(turn, int) else budget,
            "success": None if turn == ERROR else turn is not None,
        }
        for policy, by_task in outcomes.items()
        for task, turns in by_task.items()
        for sample, turn in enumerate(turns)
    ]
    return pd.DataFrame(records).astype({"success": "boolean"})


def progress(
    policy: str,
    step: int,
    task: str,
    played: Sequence[tuple[Sequence[float | None], bool | None]] = (),
    probed: Mapping[int, Sequence[float]] | None = None,
    budget: int = 4,
    states: Sequence[Sequence[str]] | None = None,
) -> pd.DataFrame:
    """Write what a policy did at one task in one evaluation.

    Args:
        policy: Whose.
        step: Optimiser step.
        task: Where.
        played: Of each episode, the quality of every action, and whether it was solved.
        probed: By number of a probe state, the qualities of the actions in it.
        budget: T, turns.
        states: Of each episode, the hidden state before every action; another one at every turn by
            default.
    """
    records: list[dict[str, Any]] = [
        {
            "source": "policy",
            "place": place,
            "state_key": states[place][turn] if states else str(turn),
            "turn": turn,
            "quality": quality,
            "success": solved,
        }
        for place, (qualities, solved) in enumerate(played)
        for turn, quality in enumerate(qualities)
    ]
    probe = {"source": "probe", "turn": 1, "success": None}
    records += [
        {**probe, "place": place, "state_key": f"probe {place}", "quality": quality}
        for place, qualities in (probed or {}).items()
        for quality in qualities
    ]
    who = {"env": "lake", "model": "nano", "policy": policy, "step": step, "task_id": task}
    frame = pd.DataFrame(records).assign(**who)
    frame["left"] = budget - frame["turn"]
    return frame.astype({"success": "boolean", "quality": float})


def turns(
    outcomes: Mapping[str, Mapping[str, Sequence[tuple[Sequence[float | None], bool | None]]]],
    tokens: int = 3,
) -> pd.DataFrame:
    """Write the turns of episodes.

    Args:
        outcomes: By policy and task, of each episode: the quality of the best action in every turn,
            and whether it was solved; None is an environment that failed.
        tokens: Sampled in each turn.
    """
    records = [
        {
            "env": "lake",
            "model": "nano",
            "policy": policy,
            "task_id": task,
            "sample": sample,
            "turn": turn,
            "quality": best,
            "best": best,
            "success": solved,
            "tokens": tokens,
        }
        for policy, by_task in outcomes.items()
        for task, played in by_task.items()
        for sample, (bests, solved) in enumerate(played)
        for turn, best in enumerate(bests)
    ]
    return pd.DataFrame(records).astype({"success": "boolean", "best": float, "quality": float})


def cell(estimates: pd.DataFrame, metric: str, policy: str, **labels) -> dict[str, Any]:
    """Return the single row with these labels; a label of None selects nulls."""
    labels = {"against": None, **labels, "metric": metric, "policy": policy}
    chosen = estimates
    for name, label in labels.items():
        keep = chosen[name].isna() if label is None else chosen[name] == label
        chosen = chosen.loc[keep.fillna(False).astype(bool)]
    assert len(chosen) == 1, f"{len(chosen)} rows with {labels}"
    return {str(name): value for name, value in chosen.to_dict("records")[0].items()}
