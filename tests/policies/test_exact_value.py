"""The success of a policy with a model, counted over all histories, against sampled episodes."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from tests.conftest import SPEC

from turnscope import base, draws
from turnscope.environments import frozen_lake
from turnscope.environments.frozen_lake.lake import WORDS, Lake, parse
from turnscope.environments.frozen_lake.views import replies
from turnscope.estimators import pass_at_k
from turnscope.policies.transformers import Policy
from turnscope.rollout import Start, rollout
from turnscope.types import Budget, Task

TURNS, EPISODES = 5, 4000
RARE = 1e-7
"""Histories less likely than this are not followed; their mass is the tolerance."""


@dataclass
class History:
    ids: list[int]
    cell: int
    mass: float


@torch.no_grad()
def word_probabilities(policy: Policy, histories: list[History]) -> np.ndarray:
    """Score each word, with the end of the turn, behind each history, shape (H, 4)."""
    end = policy.renderer.end_id
    words = [policy.renderer.tokenizer.encode(word, add_special_tokens=False) for word in WORDS]
    rows = [(history.ids, [*word, end]) for history in histories for word in words]
    found = np.empty(len(rows))
    order = sorted(range(len(rows)), key=lambda row: len(rows[row][0]) + len(rows[row][1]))
    for at in range(0, len(order), 512):
        part = order[at : at + 512]
        width = max(len(rows[row][0]) + len(rows[row][1]) for row in part)
        ids = torch.zeros((len(part), width), dtype=torch.long)
        for place, row in enumerate(part):
            whole = rows[row][0] + rows[row][1]
            ids[place, : len(whole)] = torch.tensor(whole)
        scores = torch.log_softmax(policy.model(input_ids=ids).logits.double(), dim=-1)
        for place, row in enumerate(part):
            context, word = rows[row]
            said = torch.arange(len(context) - 1, len(context) + len(word) - 1)
            found[row] = scores[place, said, torch.tensor(word)].sum().exp()
    return found.reshape(len(histories), 4)


def exact(policy: Policy, task: Task) -> tuple[np.ndarray, float]:
    """Return the success within T = 1, ..., TURNS turns, and the mass that was not followed."""
    lake: Lake = parse(tuple(task.payload["map"]), task.payload["slip"])
    said = replies(lake, "position")
    alive = [History(list(policy.renderer.first(said.first)), lake.start, 1.0)]
    solved, lost, leak = [], 0.0, 0.0
    for _ in range(TURNS):
        nexts, won = [], 0.0
        chances = word_probabilities(policy, alive)
        for history, chance_A in zip(alive, chances, strict=True):
            leak += history.mass * (1 - chance_A.sum())  # text that is no word, or a long one
            for way, word in enumerate(WORDS):
                for drift, share in ((0, 1 - lake.slip), (1, lake.slip / 2), (3, lake.slip / 2)):
                    mass = history.mass * chance_A[way] * share
                    there = lake.moves[history.cell][(way + drift) % 4]
                    reply = said.moved[there]
                    if reply.terminated:
                        won += mass * reply.success
                        lost += mass * (not reply.success)
                    elif mass < RARE:
                        leak += mass
                    else:
                        ids = policy.renderer.tokenizer.encode(word, add_special_tokens=False)
                        turn = [*ids, policy.renderer.end_id]
                        heard = policy.renderer.reply(reply.observation, True)
                        nexts.append(History([*history.ids, *turn, *heard], there, mass))
        solved.append(won)
        alive = nexts
    total = sum(solved) + lost + leak + sum(history.mass for history in alive)
    assert total == pytest.approx(1, abs=1e-9)
    return np.cumsum(solved), leak


@pytest.mark.slow
def test_success_over_all_histories_equals_sampled_pass_at_1(lakes, tmp_path):
    taught = {**SPEC["settings"]["build"], "episodes": 1000, "steps": 200}
    base.make(SPEC | {"settings": {"build": taught}}, lakes, tmp_path)
    policy = Policy(tmp_path)
    for task in [lake for lake in lakes if lake.min_turns == 2][:2]:
        value_T, leak = exact(policy, task)
        budget = Budget(TURNS, 4)
        starts = [Start(task, n, draws.seed("exact", n), budget) for n in range(EPISODES)]
        episodes = rollout(frozen_lake.Environment, starts, policy)
        solves_T = np.array(
            [sum(bool(e.success) and len(e.turns) <= t for e in episodes) for t in range(1, 6)]
        )
        pass_T = pass_at_k(np.array([EPISODES]), solves_T[None], [1])[0, 0]
        noise_T = np.sqrt(value_T * (1 - value_T) / EPISODES)
        assert value_T[-1] > 0.05
        assert (pass_T >= value_T - 4 * noise_T).all()
        assert (pass_T <= value_T + leak + 4 * noise_T).all()
        assert leak < 0.02
