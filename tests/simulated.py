"""Tasks, episodes and progress of a made-up study, as `tables.read` would give them.

A task has a fewest number of turns m and a difficulty. From turn m on, an unfinished episode is
solved with a constant hazard and lost for good with another one; before turn m it can only be lost.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

ENV, MODEL = "simulated_lake", "nano"
HIGHEST_HAZARD = 0.9


@dataclass(frozen=True)
class Skill:
    """How a simulated policy differs from the task's own hazards."""

    shift: float = 0.0
    """Added to the log-odds of the solve hazard: above 0 is better."""
    delay: int = 0
    """Turns wasted before the first one in which it can solve."""
    loss: float = 0.03
    """Probability per turn to end the episode unsolved."""


POLICIES = {
    "base": Skill(),
    "grpo-s0": Skill(shift=0.7, delay=1),
    "grpo-s1": Skill(shift=0.8, delay=1),
    "grpo-s2": Skill(shift=0.9, delay=1),
}


def study(
    seed: int,
    *,
    tasks: int = 500,
    episodes: int = 32,
    t_max: int = 20,
    policies: Mapping[str, Skill] = POLICIES,
    resampled: Sequence[int] = (),
    resampled_tasks: int = 50,
    resampled_episodes: int = 16,
    told: Sequence[int] = (),
    errors: float = 0.0,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Simulate a study.

    Args:
        seed: Names the whole study; the tasks are those of the seed whatever the policies.
        tasks: Test tasks; a tenth as many train tasks come before them.
        episodes: Attempts of each policy at each test task under the largest budget.
        t_max: Largest budget, turns.
        policies: Skill of each policy by name.
        resampled: Smaller budgets, turns, under which the first tasks are played anew.
        resampled_tasks: How many tasks that is.
        resampled_episodes: Attempts of each policy at each of them.
        told: Budgets, turns, under which the same tasks are played by policies that see them.
        errors: Share of episodes in which the environment fails.

    Returns:
        Frames of the tables `tasks` and `episodes`.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    frame = _tasks(rng, tasks, t_max)
    test = frame.loc[frame["split"] == "test"]
    logits_N = rng.normal(-1.6, 1.2, len(test))
    parts = []
    for policy, skill in policies.items():
        parts.append(_episodes(rng, policy, skill, test, logits_N, t_max, episodes, errors))
        for budget, shown in [(b, False) for b in resampled] + [(b, True) for b in told]:
            some = slice(resampled_tasks)
            anew = _episodes(
                rng,
                policy,
                skill,
                test.iloc[some],
                logits_N[some],
                budget,
                resampled_episodes,
                errors,
            )
            parts.append(anew.assign(told=shown))
    return frame, pd.concat(parts, ignore_index=True)


def progress(
    seed: int, tasks: pd.DataFrame, steps: Sequence[int] = (0, 10, 20), t_max: int = 8
) -> pd.DataFrame:
    """Simulate evaluations during the training of two arms with two seeds each.

    Args:
        seed: Names the whole training.
        tasks: Rows of table `tasks`; the test split is evaluated.
        steps: Optimiser steps, with which hazards and qualities rise.
        t_max: Budget, turns.

    Returns:
        A frame of table `progress`: four episodes of each task, and six actions in two states.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    test = tasks.loc[tasks["split"] == "test", "task_id"].tolist()
    records = []
    for policy in ("grpo-s0", "grpo-s1", "other-s0", "other-s1"):
        for step, (place, task) in itertools.product(steps, enumerate(test)):
            level, who = 0.2 + 0.02 * step, {"policy": policy, "step": step, "task_id": task}
            for episode in range(4):
                solved_at = int(rng.geometric(level))
                played = min(solved_at, t_max)
                own = {"source": "policy", "place": episode, "success": solved_at <= t_max}
                records += [{**who, **own, "turn": turn} for turn in range(played)]
            for state, turn in enumerate((0, 3)):
                probe = {"source": "probe", "place": 2 * place + state, "success": None}
                records += [{**who, **probe, "turn": turn}] * 6
    frame = pd.DataFrame(records).assign(env=ENV, model=MODEL, best=1.0)
    frame["state_key"] = (frame["turn"] % 3).astype(str)
    quality = np.minimum(1.0, 0.2 + 0.02 * frame["step"] + 0.3 * rng.random(len(frame)))
    return frame.assign(left=t_max - frame["turn"], quality=quality).astype({"success": "boolean"})


def turns(episodes: pd.DataFrame) -> pd.DataFrame:
    """Lay blind episodes out turn by turn, three tokens each, with actions that are known to lose.

    Args:
        episodes: Rows of table `episodes` under one budget.

    Returns:
        A frame of table `turns`.
    """
    length = episodes["turns"].to_numpy(int)
    key = ["env", "model", "policy", "task_id", "sample", "success"]
    frame = episodes[key].loc[np.repeat(episodes.index, length)].reset_index(drop=True)
    number = np.arange(len(frame)) - np.repeat(length.cumsum() - length, length)
    best = 0.95 ** (1 + number)
    nothing = pd.Series([[]] * len(frame), dtype=object)
    return frame.assign(
        turn=number.astype(np.int32),
        state_key=pd.Series(number % 3).astype(str),
        observation="",
        action="",
        valid=True,
        reward=0.0,
        quality=0.95 * best,
        best=best,
        tokens=np.int32(3),
        context_ids=nothing,
        action_ids=nothing,
        logprobs=nothing,
    )


def heated(episodes: pd.DataFrame, temperature: float = 1.25) -> pd.DataFrame:
    """Add heated episodes of the trained policies: the second half of those that they have.

    Args:
        episodes: Rows of table `episodes` under one budget, blind.
        temperature: At which all of them were played.
    """
    half = (1 + int(episodes["sample"].max())) // 2
    late = episodes.loc[(episodes["policy"] != "base") & (episodes["sample"] >= half)]
    late = late.assign(sample=late["sample"] - half, temperature=temperature)
    return pd.concat([episodes, late], ignore_index=True)


def training(seed: int, steps: int = 6, t_max: int = 8) -> pd.DataFrame:
    """Simulate training curves of two arms with two seeds each, one of which draws its budgets.

    Args:
        seed: Names the whole training.
        steps: Optimiser steps.
        t_max: Budget of the other arm, turns.

    Returns:
        A frame of table `training`.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    records = []
    for policy in ("grpo-s0", "grpo-s1", "budget_mix-s0", "budget_mix-s1"):
        tokens = np.cumsum(rng.integers(100, 200, steps))
        for step in range(1, steps + 1):
            drawn = rng.integers(1, t_max + 1, 4) if "mix" in policy else np.full(4, t_max)
            turns, counts = np.unique(drawn, return_counts=True)
            curves = {
                "success": rng.random(),
                "critic_loss": None,
                "zero_variance_groups": rng.random() / 2,
                "tokens_total": float(tokens[step - 1]),
                **{f"budget_T{t}": count / 4 for t, count in zip(turns, counts, strict=True)},
            }
            records += [
                {"policy": policy, "step": step, "name": name, "value": value}
                for name, value in curves.items()
            ]
    return pd.DataFrame(records).assign(env=ENV, model=MODEL).astype({"value": float})


def _tasks(rng: np.random.Generator, tasks: int, t_max: int) -> pd.DataFrame:
    train = max(1, tasks // 10)
    min_turns = rng.integers(2, 7, train + tasks)
    turns_T = np.arange(1, t_max + 1)
    bound = [
        1 - (1 - HIGHEST_HAZARD) ** np.maximum(0, turns_T - fewest + 1) for fewest in min_turns
    ]
    names = [f"task-{number:05d}" for number in range(train + tasks)]
    return pd.DataFrame(
        {
            "env": ENV,
            "task_id": names,
            "split": ["train"] * train + ["test"] * tasks,
            "stratum": [f"size-{4 + number % 3}" for number in range(train + tasks)],
            "cluster": names,
            "payload": "{}",
            "min_turns": pd.array(min_turns, dtype="Int32"),
            "bound": bound,
        }
    )


def _episodes(
    rng: np.random.Generator,
    policy: str,
    skill: Skill,
    tasks: pd.DataFrame,
    logits_N: np.ndarray,
    budget: int,
    samples: int,
    errors: float,
) -> pd.DataFrame:
    count = len(tasks)
    shape = count, samples
    hazard_N = np.minimum(HIGHEST_HAZARD, 1 / (1 + np.exp(-(logits_N + skill.shift))))
    first_N = tasks["min_turns"].to_numpy(int) + skill.delay
    solved_at = first_N[:, None] - 1 + rng.geometric(hazard_N[:, None], shape)
    lost_at = rng.geometric(max(skill.loss, 1e-12), shape)
    failed = rng.random(shape) < errors
    solved = (solved_at <= lost_at) & (solved_at <= budget)
    lost = ~solved & (lost_at <= budget)
    turns = np.where(solved, solved_at, np.where(lost, lost_at, budget))
    stop = np.select([failed, solved, lost], ["error", "success", "failure"], "budget")
    success = pd.array(solved.ravel(), dtype="boolean")
    success[failed.ravel()] = pd.NA
    return pd.DataFrame(
        {
            "env": ENV,
            "model": MODEL,
            "policy": policy,
            "task_id": np.repeat(tasks["task_id"].to_numpy(), samples),
            "sample": np.tile(np.arange(samples, dtype=np.int32), count),
            "budget": np.int32(budget),
            "told": False,
            "seed": pd.Series(np.arange(count * samples), dtype="uint64"),
            "temperature": 1.0,
            "turns": turns.ravel().astype(np.int32),
            "tokens": (3 * turns).ravel().astype(np.int32),
            "invalid": (turns // 2).ravel().astype(np.int32),
            "reward": solved.ravel().astype(float),
            "success": success,
            "stop": stop.ravel(),
            "final_observation": "",
            "final_state_key": "",
            "error": pd.Series(
                ["simulated failure" if bad else None for bad in failed.ravel()], dtype=object
            ),
        }
    )
