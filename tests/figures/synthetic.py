"""Estimates and training curves of studies that were only simulated."""

import functools
import zlib
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from tests import duels, likely, simulated
from tests.metrics import continued
from turnscope import budgets, registry, schemas, tables
from turnscope.claims import _judges, _variants
from turnscope.metrics import Settings, schooling
from turnscope.types import Arm

KS = (1, 2, 4, 8, 16)
METRICS = (
    "pass_at_kt",
    "budget_auc",
    "crossover",
    "endings",
    "over_seeds",
    "between_arms",
    "awareness",
    "boundary",
    "survival",
)
STEPWISE = ("step_quality", "recovery", "likelihood")
PAIRED = ("iso_token", "handover", "entropy_matched")
FOUR = ("grpo", "gigpo", "oracle_process", "budget_mix")
FIFTEEN = (
    *FOUR,
    "ppo",
    "ppo_turn",
    "budget_mix_told",
    "speed_shaped",
    "tight_25",
    "tight_50",
    "tight_75",
    "curriculum_tti",
    "curriculum_scaling",
    "grpo_matched",
    "anytime",
)
UNLIKE = (
    {"arms": ("grpo", "gigpo", "ppo", "oracle_process", "budget_mix", "budget_mix_told")},
    {"envs": ("deepcoder",), "arms": FOUR, "t_max": 6, "tasks": 40, "bounded": False},
)
"""Two environments of one study that differ in all that they may differ in."""
ALGORITHMS = {
    "ppo_turn": "ppo",
    "budget_mix_told": "budget_mix",
    "tight_25": "tight",
    "tight_50": "tight",
    "tight_75": "tight",
    "curriculum_tti": "curriculum",
    "curriculum_scaling": "curriculum",
    "grpo_matched": "grpo",
}


def named(*names: str, **algorithms: str) -> dict[str, Arm]:
    """Return the arms of a study; those called told are.

    Args:
        names: Arms that are called as in the config.
        algorithms: Other arms, and the algorithm of each.
    """
    known = {name: ALGORITHMS.get(name, name) for name in names} | algorithms
    return {name: Arm(name, known[name], "_told" in name) for name in known}


@functools.cache
def estimates(
    *,
    envs: tuple[str, ...] = ("frozen_lake",),
    arms: tuple[str, ...] = ("grpo",),
    seeds: int = 3,
    t_max: int = 12,
    tasks: int = 60,
    draws: int = 200,
    bounded: bool = True,
) -> pd.DataFrame:
    """Return rows of `estimates`, as the tables module would read them.

    Without `bounded`, whatever the budget all tasks could be solved.
    """
    settings = Settings(ks=KS, k=8, shares=(0.5, 1.0), draws=draws, seed=1)
    policies = {"base": simulated.Skill()} | {
        f"{arm}-s{seed}": simulated.Skill(0.6 + 0.15 * (place % 5) + 0.1 * seed, place % 3)
        for place, arm in enumerate(arms)
        for seed in range(seeds)
    }
    parts = []
    for env in envs:
        named = zlib.crc32(env.encode())
        frames = simulated.study(named, tasks=tasks, episodes=16, t_max=t_max, policies=policies)
        frames = frames[0], pd.concat([frames[1], *_told(named, tasks, t_max, policies)])
        tasks_frame, episodes = (frame.assign(env=env) for frame in frames)
        if not bounded:
            tasks_frame["bound"] = [[1.0] * t_max] * len(tasks_frame)
        for metric in METRICS:
            rows = registry.load("metrics", metric).estimate(tasks_frame, episodes, settings)
            parts.append(rows)
        parts += _paired(tasks_frame, episodes.loc[~episodes["told"]], arms, settings)
        curves = training(envs=(env,), arms=arms, seeds=seeds, t_max=t_max)
        parts.append(schooling.estimate(tasks_frame, curves, settings))
        parts.append(_step_rewards(env, arms, seeds))
    frame = pd.concat([part for part in parts if len(part)], ignore_index=True)
    tables.conform(frame, "estimates")
    return frame


@functools.cache
def stepwise(
    metric: str,
    *,
    envs: tuple[str, ...] = ("frozen_lake",),
    arms: tuple[str, ...] = ("grpo",),
    seeds: int = 3,
    t_max: int = 12,
    tasks: int = 60,
    draws: int = 200,
) -> pd.DataFrame:
    """Return rows of `estimates` of one of `STEPWISE`, for the first five arms of a study."""
    settings = Settings(ks=KS, k=8, shares=(0.5, 1.0), draws=draws, seed=1)
    module = registry.load("metrics", metric)
    leads = {f"{arm}-s{seed}": 0.1 + 0.05 * seed for arm in arms[:5] for seed in range(seeds)}
    parts = []
    for env in envs:
        frame, _ = simulated.study(zlib.crc32(env.encode()), tasks=tasks, episodes=1, t_max=t_max)
        frame = frame.assign(env=env)
        rows = _steps(module.SOURCE, frame, leads, t_max).assign(env=env)
        parts.append(module.estimate(frame, rows, settings))
    return pd.concat(parts, ignore_index=True)


def _steps(table: str, tasks: pd.DataFrame, leads: dict[str, float], t_max: int) -> pd.DataFrame:
    ids = tasks.loc[tasks["split"] == "test", "task_id"].tolist()
    if table == "actions":
        return duels.actions(1, tasks, [*leads], per_task=4, lift=0.1, t_max=t_max)
    if table == "likelihood":
        return likely.rows(1, ids, leads, turns=t_max)
    return continued.continuations(1, ids, leads, injected=20, samples=4, t_max=t_max)


def shown(module: ModuleType, **study: Any) -> pd.DataFrame:
    """Return the estimates of a study, those of `STEPWISE` where a module shows them."""
    sizes = {name: value for name, value in study.items() if name != "bounded"}
    some = [stepwise(metric, **sizes) for metric in STEPWISE if metric in module.SOURCES]
    return pd.concat([estimates(**study), *some], ignore_index=True) if some else estimates(**study)


def unlike(module: ModuleType) -> pd.DataFrame:
    """Return what a figure draws of the two environments of `UNLIKE`."""
    studies: list[dict[str, Any]] = [{**one, "seeds": 2, "draws": 100} for one in UNLIKE]
    arms = named(*dict.fromkeys(arm for one in studies for arm in one["arms"]))
    sizes = [{n: one[n] for n in ("envs", "arms", "seeds", "t_max") if n in one} for one in studies]
    more_S = [more(module, **one) for one in studies]
    return module.data(
        pd.concat([shown(module, **one) for one in studies], ignore_index=True),
        pd.concat([training(**one) for one in sizes], ignore_index=True),
        k=8,
        arms=arms,
        **{name: pd.concat([m[name] for m in more_S], ignore_index=True) for name in more_S[0]},
    )


@functools.cache
def ledger(**study: Any) -> dict[str, pd.DataFrame]:
    """Return tables `claims` and `robustness` of the same study, as the tables module would.

    Only the first arm is judged step by step, for that takes long.
    """
    names = study.get("arms", ("grpo",))
    first, arms = study | {"arms": names[:1]}, named(*names)
    first.pop("bounded", None)
    some = [stepwise(metric, **first) for metric in STEPWISE]
    rows = pd.concat([estimates(**study), *some], ignore_index=True)
    judged = _judges.assemble(rows, arms)
    made = {"claims": judged, "robustness": _variants.judge(judged, rows, arms)}
    return {name: tables.conform(found, name).to_pandas() for name, found in made.items()}


def more(module: ModuleType, **study: Any) -> dict[str, pd.DataFrame]:
    """Return what a figure or a summary shows besides estimates and training curves."""
    if not {"claims", "robustness"} & set(module.SOURCES):
        return {}
    return {name: table for name, table in ledger(**study).items() if name in module.SOURCES}


def _paired(
    tasks: pd.DataFrame, episodes: pd.DataFrame, arms: Sequence[str], settings: Settings
) -> list[pd.DataFrame]:
    """Estimate what is made of the turns and of heated episodes of the first five arms."""
    known = episodes["policy"].str.split("-s").str[0].isin(["base", *arms[:5]])
    some = episodes.loc[known].reset_index(drop=True)
    rows = {"turns": simulated.turns(some), "heated": simulated.heated(some)}
    modules = [registry.load("metrics", name) for name in PAIRED]
    return [module.estimate(tasks, rows[module.SOURCE], settings) for module in modules]


def _told(
    seed: int, tasks: int, t_max: int, policies: dict[str, simulated.Skill]
) -> list[pd.DataFrame]:
    """Play base, grpo and arms called told anew under the quarters, a little faster."""
    chosen = {
        name: simulated.Skill(skill.shift + 0.3, 0, skill.loss)
        for name, skill in policies.items()
        if name == "base" or name.split("-s")[0] == "grpo" or "_told" in name
    }
    return [
        simulated.study(seed, tasks=tasks, episodes=16, t_max=budget, policies=chosen)[1].assign(
            told=True
        )
        for budget in budgets.grid(budgets.QUARTERS, t_max)
    ]


def _step_rewards(env: str, arms: Sequence[str], seeds: int) -> pd.DataFrame:
    """Make up what metric `step_reward` would say of evaluations at steps 0, 20, 40 and 60."""
    parts = []
    for place, arm in enumerate(arms):
        for policy in (arm, *(f"{arm}-s{seed}" for seed in range(seeds))):
            shift = 0.01 * place + (0.02 * int(policy[-1]) if "-s" in policy else 0.02)
            for step in (0, 20, 40, 60):
                rise = (1 + shift) * (1 - np.exp(-step / 25))
                gains = {"r_multi": 0.25 * rise, "r_single": 0.08 * rise - 0.03 * (step > 0)}
                gains["r_single_probe"] = 0.12 * rise
                starts = {"r_multi": 0.4, "r_single": 0.7, "r_single_probe": 0.68}
                where = {"policy": policy, "t": step}
                parts += [
                    where | {"metric": name, "value": starts[name] + gain}
                    for name, gain in gains.items()
                ]
                if step:
                    splits = {"r_single_composition": -0.04 * rise, "r_single_within": 0.09 * rise}
                    changes = {f"{name}_change": gain for name, gain in gains.items()} | splits
                    where |= {"against": "base"}
                    parts += [where | {"metric": n, "value": v} for n, v in changes.items()]
    frame = pd.DataFrame(parts).reindex(columns=schemas.ESTIMATES.names)
    frame["low"], frame["high"] = frame["value"] - 0.03, frame["value"] + 0.03
    counts = frame["policy"].str.contains("-s").map({True: 1, False: seeds})
    known = {"env": env, "model": simulated.MODEL, "tasks": 60, "samples": 16}
    return frame.assign(**known, seeds=counts).astype({"k": "Int32", "t": "Int32"})


@functools.cache
def training(
    *,
    envs: tuple[str, ...] = ("frozen_lake",),
    arms: tuple[str, ...] = ("grpo",),
    seeds: int = 3,
    steps: int = 60,
    t_max: int = 12,
) -> pd.DataFrame:
    """Return rows of `training`."""
    rng = np.random.Generator(np.random.PCG64(0))
    step_S = np.arange(1, steps + 1)
    rise_S = 1 - np.exp(-step_S / (0.4 * steps))
    shapes = {
        "reward": 0.35 + 0.25 * rise_S,
        "success": 0.35 + 0.25 * rise_S,
        "entropy": 0.9 - 0.5 * rise_S,
        "kl": 0.2 * rise_S,
        "gradient_norm": 0.5 - 0.2 * rise_S,
        "distinct_actions": 0.5 - 0.3 * rise_S,
        "zero_advantage_share": 0.2 + 0.2 * rise_S,
        "invalid_share": 0.05 * (1 - rise_S),
        "zero_variance_groups": 0.2 + 0.2 * rise_S,
        "turns": 11 - 3 * rise_S,
        "tokens_total": 5000.0 * step_S,
    }
    parts = []
    for env in envs:
        for place, arm in enumerate(arms):
            for seed in range(seeds):
                curves = {
                    name: shape_S * (1 + 0.04 * place + 0.05 * rng.normal(size=steps))
                    for name, shape_S in shapes.items()
                }
                curves["collapse"] = (step_S > 0.7 * steps) * float(place == 1 and seed == 0)
                curves |= _budgets(rng, arm, steps, t_max)
                parts += [
                    pd.DataFrame(
                        {
                            "env": env,
                            "model": simulated.MODEL,
                            "policy": f"{arm}-s{seed}",
                            "step": step_S.astype("int32"),
                            "name": name,
                            "value": curve_S,
                        }
                    )
                    for name, curve_S in curves.items()
                ]
    frame = pd.concat(parts, ignore_index=True)
    frame = frame.loc[~frame["name"].str.startswith("budget_") | (frame["value"] > 0)]
    tables.conform(frame, "training")
    return frame.reset_index(drop=True)


def _budgets(rng: np.random.Generator, arm: str, steps: int, t_max: int) -> dict[str, np.ndarray]:
    """Draw the share of groups under each turn budget; all under one but with BudgetMix.

    A curriculum allows half of the turns until half of the steps are done.
    """
    if arm.startswith("curriculum"):
        early_S = (np.arange(steps) < steps // 2).astype(float)
        return {f"budget_T{t_max // 2}": early_S, f"budget_T{t_max}": 1 - early_S}
    if not arm.startswith("budget_mix"):
        return {f"budget_T{t_max}": np.ones(steps)}
    drawn_ST = rng.multinomial(16, np.full(t_max, 1 / t_max), size=steps) / 16
    return {f"budget_T{turns}": drawn_ST[:, turns - 1] for turns in range(1, t_max + 1)}
