"""Estimates and training curves of studies that were only simulated."""

import functools
import zlib
from collections.abc import Sequence

import numpy as np
import pandas as pd

from tests import simulated
from turnscope import registry, tables
from turnscope.metrics import Settings

KS = (1, 2, 4, 8, 16)


@functools.cache
def estimates(
    *,
    envs: tuple[str, ...] = ("frozen_lake",),
    arms: tuple[str, ...] = ("grpo",),
    seeds: int = 3,
    t_max: int = 12,
    tasks: int = 60,
    draws: int = 200,
) -> pd.DataFrame:
    """Return rows of `estimates`, as the tables module would read them."""
    settings = Settings(ks=KS, k=8, shares=(0.5, 1.0), draws=draws, seed=1)
    policies = {"base": simulated.Skill()} | {
        f"{arm}-s{seed}": simulated.Skill(0.6 + 0.15 * place + 0.1 * seed, place % 3)
        for place, arm in enumerate(arms)
        for seed in range(seeds)
    }
    parts = []
    for env in envs:
        named = zlib.crc32(env.encode())
        frames = simulated.study(named, tasks=tasks, episodes=16, t_max=t_max, policies=policies)
        tasks_frame, episodes = (frame.assign(env=env) for frame in frames)
        for metric in ("pass_at_kt", "budget_auc", "crossover"):
            rows = registry.load("metrics", metric).estimate(tasks_frame, episodes, settings)
            parts.append(rows)
    frame = pd.concat(parts, ignore_index=True)
    tables.conform(frame, "estimates")
    return frame


def training(
    *,
    envs: Sequence[str] = ("frozen_lake",),
    arms: Sequence[str] = ("grpo",),
    seeds: int = 3,
    steps: int = 60,
) -> pd.DataFrame:
    """Return rows of `training`."""
    rng = np.random.Generator(np.random.PCG64(0))
    step_S = np.arange(1, steps + 1)
    rise_S = 1 - np.exp(-step_S / (0.4 * steps))
    shapes = {
        "reward": 0.35 + 0.25 * rise_S,
        "success": 0.35 + 0.25 * rise_S,
        "entropy": 0.9 - 0.5 * rise_S,
        "invalid_share": 0.05 * (1 - rise_S),
        "zero_variance_groups": 0.2 + 0.2 * rise_S,
        "turns": 11 - 3 * rise_S,
    }
    parts = [
        pd.DataFrame(
            {
                "env": env,
                "model": simulated.MODEL,
                "policy": f"{arm}-s{seed}",
                "step": step_S.astype("int32"),
                "name": name,
                "value": shape_S * (1 + 0.04 * arms.index(arm) + 0.05 * rng.normal(size=steps)),
            }
        )
        for env in envs
        for arm in arms
        for seed in range(seeds)
        for name, shape_S in shapes.items()
    ]
    frame = pd.concat(parts, ignore_index=True)
    tables.conform(frame, "training")
    return frame
