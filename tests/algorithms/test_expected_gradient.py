"""Mean gradients by enumeration, on a world of two states with a policy blind to its budget.

BudgetMix, averaged over its budgets, speed shaping and anytime credit have the same mean gradient:
(G - 1)/G times that of the success probability averaged over budgets. It takes mean-centred
credit, here with a length normaliser that is constant. Divided by the deviation of its group,
credit no longer knows how much was won, and the gradients part. In this world with G = 2, that of
BudgetMix is shorter by 42% (uniform) and 44% (geometric): two episodes solved at different turns
always differ in speed, but mostly not under one budget. It points nearly the same way.
"""

from itertools import product

import numpy as np
import pytest

from tests.algorithms.by_hand import credit, moment
from turnscope.advantages import TurnBatch
from turnscope.algorithms import anytime, budget_mix, speed_shaped
from turnscope.algorithms._mix import Mix
from turnscope.types import Episode, StopReason, Turn

T_MAX = 3
AT = moment(turns=T_MAX)
THETA_SA = np.array([[0.3, -0.4], [-0.2, 0.5]])
MIXES = {
    "uniform": {"interval": 1 / 3},
    "geometric": {"interval": 1 / 3, "distribution": "geometric", "decay": 0.6},
}
MOVES = {
    (0, 0): [(0.9, 0), (0.1, "lost")],
    (0, 1): [(0.6, 1), (0.3, 0), (0.1, "solved")],
    (1, 0): [(1.0, 1)],
    (1, 1): [(0.7, "solved"), (0.3, 0)],
}
"""Where an action in a state leads, and how often."""


def policy(theta_SA):
    weight_SA = np.exp(theta_SA)
    return weight_SA / weight_SA.sum(axis=1, keepdims=True)


def episodes(turns, theta_SA):
    """List every episode within a budget, with its probability and its states and actions."""
    chance_SA, found = policy(theta_SA), []

    def go_on(state, past, steps, chance):
        if len(past) == turns:
            found.append((chance, steps, Episode("t", 0, past, StopReason.BUDGET, "", "")))
            return
        for action in (0, 1):
            for share, there in MOVES[state, action]:
                turn = Turn("", str(state), str(action), float(there == "solved"), True)
                now, taken = [*past, turn], [*steps, (state, action)]
                odds = chance * chance_SA[state, action] * share
                if there in ("solved", "lost"):
                    stop = StopReason.SUCCESS if there == "solved" else StopReason.FAILURE
                    found.append((odds, taken, Episode("t", 0, now, stop, "", "")))
                else:
                    go_on(there, now, taken, odds)

    go_on(0, [], [], 1.0)
    return found


def score(steps, theta_SA):
    """The gradient of the log-probability of each action, shape (turns, states, actions)."""
    gradient_TSA = np.zeros((len(steps), *theta_SA.shape))
    for turn, (state, action) in enumerate(steps):
        gradient_TSA[turn, state] = -policy(theta_SA)[state]
        gradient_TSA[turn, state, action] += 1
    return gradient_TSA


def mean_gradient(algorithm, turns, size, theta_SA=THETA_SA):
    """The gradient of a group, averaged over all groups of that size under a budget."""
    played = episodes(turns, theta_SA)
    paid = [np.array(algorithm.rewards(episode, AT)) for _, _, episode in played]
    scores = [score(steps, theta_SA) for _, steps, _ in played]
    members = np.array(list(product(range(len(played)), repeat=size)))
    chance_G = np.prod(np.array([chance for chance, _, _ in played])[members], axis=1)
    flat = members.ravel()
    lengths = np.array([len(paid[i]) for i in flat])
    turn_N = np.concatenate([np.arange(n) for n in lengths])
    batch = TurnBatch(
        episode_N=np.repeat(np.arange(len(flat)), lengths),
        group_N=np.repeat(np.arange(len(members)).repeat(size), lengths),
        turn_N=turn_N,
        reward_N=np.concatenate([paid[i] for i in flat]),
        state_N=np.zeros_like(turn_N),
        left_N=turns - turn_N,
        process_N=np.full(len(turn_N), np.nan),
    )
    weight_N = credit(algorithm, batch) * chance_G[batch.group_N]
    score_NSA = np.concatenate([scores[i] for i in flat])
    return np.einsum("n,nsa->sa", weight_N, score_NSA) / (size * T_MAX)


def mixed_gradient(mix, size, scale):
    """The gradient of BudgetMix, averaged over its budgets."""
    algorithm = budget_mix.make(**mix, scale=scale)
    drawn = Mix(**mix)
    parts = [
        weight * mean_gradient(algorithm, turns, size)
        for turns, weight in zip(drawn.budgets(AT), drawn.weights(), strict=True)
    ]
    return np.sum(parts, axis=0)


def objective(mix, theta_SA):
    """The success probability, averaged over budgets."""
    drawn = Mix(**mix)
    return sum(
        weight * sum(p for p, _, e in episodes(turns, theta_SA) if e.success)
        for turns, weight in zip(drawn.budgets(AT), drawn.weights(), strict=True)
    )


def slope(mix):
    """The gradient of the objective, by differences."""
    gradient_SA, step = np.zeros_like(THETA_SA), 1e-5
    for place in np.ndindex(*THETA_SA.shape):
        move = np.zeros_like(THETA_SA)
        move[place] = step
        rise = objective(mix, THETA_SA + move) - objective(mix, THETA_SA - move)
        gradient_SA[place] = rise / (2 * step)
    return gradient_SA


def test_every_episode_is_listed():
    for turns in (1, 2, 3):
        assert sum(chance for chance, _, _ in episodes(turns, THETA_SA)) == pytest.approx(1)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("mix", MIXES.values(), ids=MIXES)
def test_mean_centred_arms_climb_the_same_slope(mix, size):
    expected = (size - 1) / size * slope(mix) / T_MAX
    assert np.abs(expected).max() > 0.01
    mixed = mixed_gradient(mix, size, "none")
    shaped = mean_gradient(speed_shaped.make(**mix, scale="none"), T_MAX, size)
    dense = mean_gradient(anytime.make(**mix, scale="none"), T_MAX, size)
    np.testing.assert_allclose(mixed, shaped, atol=1e-14)
    np.testing.assert_allclose(dense, shaped, atol=1e-14)
    np.testing.assert_allclose(shaped, expected, atol=1e-9)


@pytest.mark.parametrize("mix", MIXES.values(), ids=MIXES)
def test_division_by_the_deviation_parts_them(mix):
    mixed = mixed_gradient(mix, 2, "group")
    shaped = mean_gradient(speed_shaped.make(**mix, scale="group"), T_MAX, 2)
    length = np.linalg.norm(shaped)
    gap = np.linalg.norm(mixed - shaped) / length
    assert 0.4 < gap < 0.5
    assert np.linalg.norm(mixed) < length
    assert 0.999 < np.sum(mixed * shaped) / (length * np.linalg.norm(mixed)) < 0.99999
