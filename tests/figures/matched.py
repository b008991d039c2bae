"""Estimates of simulated actions in matched states."""

import functools

import pandas as pd

from tests import simulated
from tests.duels import actions
from turnscope.metrics import Settings, step_quality


@functools.cache
def estimates(arms: tuple[str, ...] = ("grpo",), seeds: int = 2) -> pd.DataFrame:
    """Return what metric `step_quality` says of arms that are a little better than base."""
    tasks, _ = simulated.study(1, tasks=40, episodes=1)
    settings = Settings(ks=[1], k=1, shares=[1.0], draws=100, seed=1)
    policies = [f"{arm}-s{seed}" for arm in arms for seed in range(seeds)]
    return step_quality.estimate(tasks, actions(1, tasks, policies, lift=0.1), settings)
