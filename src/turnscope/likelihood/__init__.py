"""Teacher forcing: what base and a trained policy think of each other's actions.

Both policies of a comparison are scored by one engine on the stored token ids, at temperature 1 and
with the log-softmax in float32. A turn is scored behind exactly the ids that it was sampled behind.
What the sampler stored enters no score: it is one of the checks.
"""

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.interpolate import CubicHermiteSpline

from turnscope.likelihood.engine import Scores, lay, score

Floats = npt.NDArray[np.float64]

TEMPERATURES = np.geomspace(0.25, 4.0, 9)
"""Where the entropy is measured to find the temperature that matches another one's."""
AGAIN = 0.01
"""What any token's two scores may differ by, nats; rounding in float32 is a hundredth of it."""

log = logging.getLogger(__name__)


class Heat(NamedTuple):
    """Where one policy's entropy comes nearest to another one's."""

    temperature: float
    entropy: float
    """At that temperature, nats per token."""


def match(entropy: float, heated_G: Floats, slope_G: Floats) -> Heat:
    """Find the temperature at which a policy has some entropy, which rises with it.

    Args:
        entropy: The entropy wanted, nats per token.
        heated_G: The policy's entropy at `TEMPERATURES`.
        slope_G: Its derivative there by the logarithm of the temperature.
    """
    if not heated_G[0] < entropy < heated_G[-1]:
        end = 0 if entropy <= heated_G[0] else -1
        log.warning(
            "no temperature from %g to %g gives an entropy of %.4g nats per token; taken: %g",
            TEMPERATURES[0],
            TEMPERATURES[-1],
            entropy,
            TEMPERATURES[end],
        )
        return Heat(float(TEMPERATURES[end]), float(heated_G[end]))
    curve = CubicHermiteSpline(np.log(TEMPERATURES), heated_G, slope_G)
    place = curve.solve(entropy, extrapolate=False)[0]
    return Heat(float(np.exp(place)), float(curve(place)))


def chosen(episodes: pd.DataFrame, turns: pd.DataFrame, number: int) -> pd.DataFrame:
    """Select the turns of the first episodes of each task, without those that the world broke.

    Args:
        episodes: Rows of table `episodes` of one policy.
        turns: Rows of table `turns` of the same episodes.
        number: Episodes of each task, at most.

    Returns:
        These rows of `turns`, ordered by episode and turn, with `turns` and `success` of the
        episode.

    Raises:
        ValueError: An episode was sampled at another temperature than 1, at which it is scored.
    """
    others = sorted(set(episodes["temperature"]) - {1.0})
    if others:
        raise ValueError(
            f"episodes were sampled at temperature {others[0]}: likelihood needs a set that was "
            "sampled at temperature 1, for its checks hold for no other"
        )
    known = (episodes["sample"] < number) & episodes["success"].notna()
    heads = episodes.loc[known, ["task_id", "sample", "turns", "success"]]
    few = turns.loc[turns["sample"] < number].drop(columns="success", errors="ignore")
    found = few.merge(heads, on=["task_id", "sample"], validate="many_to_one")
    return found.sort_values(["task_id", "sample", "turn"], ignore_index=True)


def compare(
    base: Any, trained: Any, played: Mapping[str, pd.DataFrame], batch: int
) -> tuple[pd.DataFrame, dict[str, float]]:
    """Score what both policies said under both.

    Args:
        base: The base model.
        trained: The trained one.
        played: Results of `chosen` for `base` and `trained`.
        batch: Most tokens of a forward pass.

    Returns:
        Rows of table `likelihood`, and the row of table `heat`, both without the policies' names.
        The temperature is for an even mixture of the tokens of both.

    Raises:
        ValueError: There is no episode, or the policy that did not act scores a token differently
            the second time. Those of the actor are in the table, and checked there.
    """
    parts, heats, policies = [], [], {"base": base, "trained": trained}
    for actor, turns in played.items():
        tokens = lay(turns)
        ours = score(base, tokens, batch)
        theirs = score(trained, tokens, batch, tuple(TEMPERATURES))
        again = {name: score(one, tokens, batch, again=True) for name, one in policies.items()}
        other, first = ("trained", theirs) if actor == "base" else ("base", ours)
        _demand_same(other, actor, first, again[other])
        parts.append(_rows(actor, turns, ours, theirs, again[actor]))
        if len(turns):
            means = ours.entropy_A.mean(), theirs.entropy_A.mean()
            heats.append(np.concatenate([means, theirs.heated_G, theirs.slope_G]))
    if not heats:
        raise ValueError("no episode to score: neither policy has one that the world did not break")
    (entropy, own), grid_G, slope_G = np.split(np.mean(heats, axis=0), [2, 2 + len(TEMPERATURES)])
    heat = match(float(entropy), grid_G, slope_G)
    return pd.concat(parts, ignore_index=True), {
        "temperature": heat.temperature,
        "entropy_base": float(entropy),
        "entropy_trained": float(own),
        "entropy_heated": heat.entropy,
    }


def _demand_same(name: str, actor: str, first: Scores, again: Scores) -> None:
    """Refuse an engine that gives the policy `name` other scores when the passes differ."""
    gap = float(np.abs(first.logp_A - again.logp_A).max(initial=0.0))
    if gap > AGAIN:
        raise ValueError(
            f"policy {name!r} scored a token of {actor!r} twice and differs by {gap:.3g} nats; "
            f"legal is at most {AGAIN:g}, which is more than rounding in float32 does"
        )


def _rows(
    actor: str, turns: pd.DataFrame, ours: Scores, theirs: Scores, again: Scores
) -> pd.DataFrame:
    """Sum the tokens of each turn up."""
    sizes_R = turns["action_ids"].map(len).to_numpy(np.int64)
    stored = turns["logprobs"].map(len).to_numpy(np.int64)
    if (sizes_R != stored).any():
        raise ValueError(f"policy {actor!r}: a turn has not as many log-probabilities as tokens")
    starts_R = sizes_R.cumsum() - sizes_R

    def summed(amount_A: npt.ArrayLike) -> Floats:
        amounts = np.asarray(amount_A, np.float64)
        return np.add.reduceat(amounts, starts_R) if len(starts_R) else amounts

    sampled_A = np.concatenate([np.empty(0), *turns["logprobs"]])
    keys = turns[["task_id", "sample", "turn", "turns", "success"]]
    return keys.assign(
        actor=actor,
        tokens=sizes_R,
        logp_base=summed(ours.logp_A),
        logp_trained=summed(theirs.logp_A),
        logp_sampled=summed(sampled_A),
        logp_again=summed(again.logp_A),
        entropy_base=summed(ours.entropy_A),
        entropy_trained=summed(theirs.entropy_A),
        outside=summed(ours.outside_A).astype(np.int64),
    )
