"""Likelihoods of policies that are written out as probabilities, as table `likelihood`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

CHOICES = 4


def turn(
    actor: str,
    task: str,
    number: int,
    logp_base: float,
    logp_trained: float,
    *,
    sample: int = 0,
    turns: int = 1,
    success: bool = True,
    policy: str = "grpo-s0",
    **columns: Any,
) -> dict[str, Any]:
    """Write one turn of two tokens by hand; the sampler and the second scoring agree."""
    own = logp_base if actor == "base" else logp_trained
    return {
        "env": "lake",
        "model": "nano",
        "policy": policy,
        "actor": actor,
        "task_id": task,
        "sample": sample,
        "turn": number,
        "turns": turns,
        "success": success,
        "tokens": 2,
        "logp_base": logp_base,
        "logp_trained": logp_trained,
        "logp_sampled": own,
        "logp_again": own,
        "entropy_base": 1.0,
        "entropy_trained": 0.5,
        "outside": 0,
        **columns,
    }


def rows(
    seed: int,
    task_ids: Sequence[str],
    policies: Mapping[str, float],
    *,
    episodes: int = 16,
    turns: int = 6,
    temperature: float = 1.0,
) -> pd.DataFrame:
    """Simulate what base and trained policies say of each other, exactly.

    A turn is one choice of four and a certain end of turn. Episodes end, solved, with the first
    choice; policies differ at each task and turn.

    Args:
        seed: Names the draws.
        task_ids: Tasks.
        policies: Each trained policy, and how far its logits lie from those of base.
        episodes: Of each task and policy.
        turns: T_max.
        temperature: At which actions are sampled; scores are at 1.
    """
    shape = len(task_ids), turns, CHOICES
    base_NTA = np.random.Generator(np.random.PCG64([seed, 0])).normal(size=shape)
    parts = []
    for number, (policy, shift) in enumerate(policies.items(), 1):
        rng = np.random.Generator(np.random.PCG64([seed, number]))
        scores = {"base": base_NTA, "trained": base_NTA + shift * rng.normal(size=shape)}
        logp = {
            name: one - np.logaddexp.reduce(one, axis=2, keepdims=True)
            for name, one in scores.items()
        }
        for place, actor in enumerate(scores):
            # base plays the same episodes whatever it is compared with
            stream = np.random.Generator(
                np.random.PCG64([seed, 0 if actor == "base" else number, 1])
            )
            noise = stream.gumbel(size=(len(task_ids), episodes, turns, CHOICES))
            choice_NET = (scores[actor][:, None] / temperature + noise).argmax(axis=3)
            parts.append(_played(choice_NET, logp, place, task_ids).assign(policy=policy))
    frame = pd.concat(parts, ignore_index=True).assign(env="lake", model="nano")
    own = np.where(frame["actor"] == "base", frame["logp_base"], frame["logp_trained"])
    return frame.assign(logp_sampled=own, logp_again=own, tokens=2)


def _played(
    choice_NET: np.ndarray, logp: dict[str, np.ndarray], place: int, task_ids: Sequence[str]
) -> pd.DataFrame:
    turns = choice_NET.shape[2]
    solved_NET = choice_NET == 0
    some_NE = solved_NET.any(axis=2)
    length_NE = np.where(some_NE, 1 + solved_NET.argmax(axis=2), turns)
    task_R, sample_R, turn_R = np.nonzero(np.arange(turns) < length_NE[:, :, None])
    choice_R = choice_NET[task_R, sample_R, turn_R]
    columns: dict[str, Any] = {
        "actor": ("base", "trained")[place],
        "task_id": np.array(task_ids)[task_R],
        "sample": sample_R,
        "turn": turn_R,
        "turns": length_NE[task_R, sample_R],
        "success": some_NE[task_R, sample_R],
    }
    for name, logp_NTA in logp.items():
        logp_RA = logp_NTA[task_R, turn_R]
        columns[f"logp_{name}"] = logp_RA[np.arange(len(task_R)), choice_R]
        columns[f"entropy_{name}"] = -(np.exp(logp_RA) * logp_RA).sum(axis=1)
    ours_RA = np.exp(logp["base"][task_R, turn_R])
    own_R = ours_RA[np.arange(len(task_R)), choice_R]
    likelier_R = np.where(ours_RA > own_R[:, None], ours_RA, 0.0).sum(axis=1)
    return pd.DataFrame(columns | {"outside": (likelier_R >= 0.95).astype(int)})
