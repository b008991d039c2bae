"""Credit drives a policy up in its exact value, not only in what is sampled.

A tabular softmax policy over (cell, turns left) walks a small frozen lake. Batches are sampled,
credit is that of the real arms, and the value at checkpoints is computed by dynamic programming.
"""

import numpy as np
import pytest

from tests.algorithms import by_hand
from turnscope import registry
from turnscope.advantages import TurnBatch
from turnscope.advantages.gae import gae, whiten
from turnscope.algorithms import grpo
from turnscope.algorithms._arm import Critic
from turnscope.environments.frozen_lake import lake as lakes
from turnscope.environments.frozen_lake.quality import backup, q_values

ROWS, SLIP, T_MAX = ["P___", "_O__", "___O", "O__G"], 0.2, 10
LAKE = lakes.parse(tuple(ROWS), SLIP)
MOVES_NSA = np.array([LAKE.moves])
BEST_HSA = q_values(ROWS, SLIP, T_MAX)
OVER_S = np.array([tile in (lakes.HOLE, lakes.GOAL) for tile in LAKE.tiles])
GROUPS, GROUP, CHECKPOINTS, STEPS = 64, 8, 12, 25


def softmax(theta):
    weight = np.exp(theta - theta.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True)


def exact(theta_HSA):
    """The success probability from the start with all turns left; row h - 1 acts with h left."""
    value_S = (np.arange(len(OVER_S)) == LAKE.goal).astype(float)
    for h in range(T_MAX):
        quality_SA = backup(value_S[None], MOVES_NSA, SLIP)[0]
        ahead_S = (softmax(theta_HSA[h]) * quality_SA).sum(axis=1)
        value_S = np.where(OVER_S, value_S, ahead_S)
    return value_S[LAKE.start]


def play(theta_HSA, noise):
    """Play all groups of one step; return their turns and the actions taken."""
    chance_HSA = softmax(theta_HSA).cumsum(axis=2)
    moves_SA = MOVES_NSA[0]
    episodes = GROUPS * GROUP
    alive, cell_E, parts = np.arange(episodes), np.full(episodes, LAKE.start), []
    for turn in range(T_MAX):
        h, here = T_MAX - turn - 1, cell_E[alive]
        action = (noise.random(len(alive))[:, None] > chance_HSA[h, here]).sum(axis=1).clip(max=3)
        drift = noise.choice([0, 1, -1], len(alive), p=[1 - SLIP, SLIP / 2, SLIP / 2])
        there = moves_SA[here, (action + drift) % 4]
        loss = BEST_HSA[h, here, action] - BEST_HSA[h, here].max(axis=1)
        won = there == LAKE.goal
        parts.append((alive, np.full(len(alive), turn), won.astype(float), here, loss, action))
        cell_E[alive] = there
        alive = alive[~OVER_S[there]]
    episode, turn, reward, state, process, action = map(np.concatenate, zip(*parts, strict=True))
    order = np.lexsort((turn, episode))
    episode, turn, reward, state = episode[order], turn[order], reward[order], state[order]
    batch = TurnBatch(episode, episode // GROUP, turn, reward, state, T_MAX - turn, process[order])
    return batch, action[order]


class Tabular:
    """A critic with one number for each state."""

    def __init__(self, settings: Critic):
        self.settings = settings
        self.value_HS = np.zeros((T_MAX, len(OVER_S)))

    def __call__(self, batch: TurnBatch):
        place = batch.left_N - 1, batch.state_N
        advantage_N, target_N = gae(
            batch.reward_N,
            self.value_HS[place],
            batch.episode_N,
            discount=self.settings.discount,
            trace=self.settings.trace,
        )
        total_HS, number_HS = np.zeros_like(self.value_HS), np.zeros_like(self.value_HS)
        np.add.at(total_HS, place, target_N)
        np.add.at(number_HS, place, 1)
        seen = number_HS > 0
        self.value_HS[seen] += 0.2 * (total_HS[seen] / number_HS[seen] - self.value_HS[seen])
        return whiten(advantage_N)


ARMS = {
    "grpo": ("grpo", {}),
    "gigpo": ("gigpo", {}),
    "gigpo, turns left": ("gigpo", {"anchor": "state+remaining"}),
    "oracle_process": ("oracle_process", {}),
    "anytime": ("anytime", {}),
    "ppo_turn": ("ppo", {"level": "turn"}),
    "ppo_turn, trace": ("ppo", {"level": "turn", "trace": 0.9}),
}
BEST = BEST_HSA[-1, LAKE.start].max()


def climb(credit):
    """Train from the uniform policy; return the exact value at each checkpoint."""
    noise = np.random.Generator(np.random.PCG64(0))
    theta_HSA = np.zeros((T_MAX, len(OVER_S), 4))
    values = [exact(theta_HSA)]
    for _ in range(CHECKPOINTS):
        for _ in range(STEPS):
            batch, action_N = play(theta_HSA, noise)
            place = batch.left_N - 1, batch.state_N
            score_NA = np.eye(4)[action_N] - softmax(theta_HSA)[place]
            step_HSA = np.zeros_like(theta_HSA)
            np.add.at(step_HSA, place, credit(batch)[:, None] * score_NA)
            theta_HSA += T_MAX * step_HSA / len(action_N)
        values.append(exact(theta_HSA))
    return np.array(values)


@pytest.mark.parametrize("arm", ARMS)
def test_training_climbs_in_exact_value(arm):
    name, options = ARMS[arm]
    credit = registry.load("algorithms", name).make(**options).credit
    values = climb(Tabular(credit) if isinstance(credit, Critic) else credit)
    assert np.diff(values).min() > -0.005
    assert values[-1] > values[0] + 0.5 * (BEST - values[0])
    assert values.max() <= BEST


def test_credit_given_to_other_episodes_does_not_climb():
    values = climb(
        lambda batch: np.roll(by_hand.credit(grpo.make(), batch), len(batch.reward_N) // 2)
    )
    assert values.max() < 0.05
