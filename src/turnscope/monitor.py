"""What a step of training looked like, and when to be alarmed."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from turnscope.advantages import Float
from turnscope.advantages.anchors import anchor_sizes
from turnscope.practice import Batch

WINDOW = 10
"""Steps that are averaged before a run is judged."""
WATCHED = ("success", "distinct_actions", "invalid_share")
"""Curves that can raise the alarm."""


def measure(batch: Batch, group: int) -> dict[str, float]:
    """Describe the episodes of a step; NaN where nothing was scored.

    Args:
        batch: The step.
        group: Episodes in a group.
    """
    scored = [episode for episode in batch.episodes if episode.success is not None]
    turns = [turn for episode in scored for turn in episode.turns]
    paid = [None if rewards is None else sum(rewards) for rewards in batch.rewards]
    groups = [set(paid[at : at + group]) - {None} for at in range(0, len(paid), group)]
    known = [one.value for turn in batch.qualities for one in turn if one is not None]
    size, alone = anchor_sizes(batch.rows)
    size_left, alone_left = anchor_sizes(batch.rows, "state+remaining")
    return {
        "success": _mean([float(bool(episode.success)) for episode in scored]),
        "turns": _mean([float(len(episode.turns)) for episode in scored]),
        "tokens": _mean([float(episode.tokens) for episode in scored]),
        "budget": _mean([float(turns) for turns in batch.budgets]),
        "quality": _mean(known),
        "invalid_share": _mean([float(not turn.valid) for turn in turns]),
        "zero_variance_groups": _mean([float(len(returns) <= 1) for returns in groups]),
        "distinct_actions": distinct(batch),
        "anchor_size": size,
        "anchor_singletons": alone,
        "anchor_left_size": size_left,
        "anchor_left_singletons": alone_left,
        "environment_errors": float(len(batch.episodes) - len(scored)),
        **histogram(batch.budgets[::group]),
    }


def distinct(batch: Batch) -> float:
    """Return the share of pairs of actions in the same state of the same task that differ.

    It is 0 where the policy always does the same in a state, and NaN where no state was met twice.
    """
    said = [
        turn.action
        for episode, paid in zip(batch.episodes, batch.rewards, strict=True)
        if paid is not None
        for turn in episode.turns
    ]
    met = Counter(batch.rows.state_N.tolist())
    equal = Counter(zip(batch.rows.state_N.tolist(), said, strict=True))
    pairs = sum(count * (count - 1) for count in met.values())
    same = sum(count * (count - 1) for count in equal.values())
    return 1 - same / pairs if pairs else float("nan")


def histogram(budgets: Sequence[int]) -> dict[str, float]:
    """Name the share of groups under each budget that occurred."""
    counts = Counter(budgets)
    return {f"budget_T{turns}": counts[turns] / len(budgets) for turns in sorted(counts)}


def collapse(curves: Mapping[str, Sequence[float]]) -> str | None:
    """Say what is wrong with a run, if anything is.

    Means of the last `WINDOW` steps decide. A run is in alarm when it

    - has fallen: success is below half of the best window before;
    - repeats itself: less than 2% of the pairs of actions in a state differ, while most episodes
      fail;
    - has gone mute: more than half of its turns are invalid, and more than twice as many as in
      the first window.

    Args:
        curves: Those of `WATCHED`, step after step.

    Returns:
        One line, or None.
    """
    if len(curves["success"]) < 2 * WINDOW:
        return None
    success_S = _means(curves["success"])
    success, best = success_S[-1], float(np.fmax.reduce(success_S[:-WINDOW]))
    if success < best / 2:
        return f"success fell to {success:.3f} from {best:.3f}"
    distinct = _means(curves["distinct_actions"])[-1]
    if distinct < 0.02 and success < 0.5:
        return f"the policy repeats itself: {distinct:.1%} of its actions in a state differ"
    invalid_S = _means(curves["invalid_share"])
    if invalid_S[-1] > max(0.5, 2 * invalid_S[0]):
        return f"{invalid_S[-1]:.0%} of the turns are invalid"
    return None


def _means(values: Sequence[float]) -> Float:
    """Average every window of a curve, the last one last; NaN where a window knows nothing."""
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    sums, counts = (np.convolve(each, np.ones(WINDOW), "valid") for each in (filled, known))
    return np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if value == value]
    return float(np.mean(known)) if known else float("nan")
