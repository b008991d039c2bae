"""Mean gradients by enumeration, on a world of two states with a policy blind to its budget.

BudgetMix, averaged over its budgets, speed shaping and anytime credit have the same mean gradient:
(G - 1)/G times that of the success probability averaged over budgets. It takes mean-centred
credit, here with a length normaliser that is constant. Divided by the deviation of its group,
credit no longer knows how much was won, and the gradients part. In this world with G = 2, that of
BudgetMix is shorter by 42% (uniform) and 44% (geometric): two episodes solved at different turns
always differ in speed, but mostly not under one budget. It points nearly the same way.

Divided by the tokens of the batch instead of a constant, the gradient of BudgetMix grows by up to
the ratio of mean episode lengths, 1.43 (uniform) and 1.46 (geometric): its episodes are shorter.
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
            found.append((chance, steps, Episode("t", 0, 0, past, StopReason.BUDGET, "", "")))
            return
        for action in (0, 1):
            for share, there in MOVES[state, action]:
                turn = Turn("", str(state), str(action), float(there == "solved"), True)
                now, taken = [*past, turn], [*steps, (state, action)]
                odds = chance * chance_SA[state, action] * share
                if there in ("solved", "lost"):
                    stop = StopReason.SUCCESS if there == "solved" else StopReason.FAILURE
                    found.append((odds, taken, Episode("t", 0, 0, now, stop, "", "")))
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


def groups(algorithm, turns, size, theta_SA=THETA_SA):
    """List every group under a budget: its probability, its turns, and its summed gradient."""
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
    score_NSA = np.concatenate([scores[i] for i in flat])
    gradient_GSA = np.zeros((len(members), *theta_SA.shape))
    np.add.at(gradient_GSA, batch.group_N, credit(algorithm, batch)[:, None, None] * score_NSA)
    return chance_G, np.bincount(batch.group_N), gradient_GSA


def mean_gradient(algorithm, turns, size, theta_SA=THETA_SA):
    """The gradient of a group, averaged over all groups of that size under a budget."""
    chance_G, _, gradient_GSA = groups(algorithm, turns, size, theta_SA)
    return np.einsum("g,gsa->sa", chance_G, gradient_GSA) / (size * T_MAX)


def mixed_gradient(mix, size, scale):
    """The gradient of BudgetMix, averaged over its budgets."""
    algorithm = budget_mix.make(**mix, scale=scale)
    parts = [
        weight * mean_gradient(algorithm, turns, size)
        for turns, weight in zip(*budgets_of(mix), strict=True)
    ]
    return np.sum(parts, axis=0)


def budgets_of(mix):
    """The budgets that BudgetMix draws, and their probabilities."""
    drawn = Mix(**mix)
    return drawn.budgets(AT), drawn.weights()


def token_mean(algorithm, drawn, size, count):
    """The gradient of a batch of groups, divided by the tokens of that batch, in the mean.

    A turn is one token. Groups of a batch are alike and independent, so the mean is `count` times
    that of one group's gradient over its own tokens and those of the others.
    """
    longest = size * T_MAX + 1
    chance_L, gradient_LSA = np.zeros(longest), np.zeros((longest, *THETA_SA.shape))
    for turns, weight in zip(*drawn, strict=True):
        chance_G, tokens_G, gradient_GSA = groups(algorithm, turns, size)
        np.add.at(chance_L, tokens_G, weight * chance_G)
        np.add.at(gradient_LSA, tokens_G, (weight * chance_G)[:, None, None] * gradient_GSA)
    others = np.ones(1)
    for _ in range(count - 1):
        others = np.convolve(others, chance_L)
    tokens_LR = np.arange(longest)[:, None] + np.arange(len(others))
    share_L = np.divide(1, tokens_LR, where=tokens_LR > 0, out=np.zeros(tokens_LR.shape)) @ others
    return count * np.einsum("l,lsa->sa", share_L, gradient_LSA)


def apart(one, other):
    """How long the first gradient is against the second, and the cosine between them."""
    lengths = np.linalg.norm(one), np.linalg.norm(other)
    return lengths[0] / lengths[1], np.sum(one * other) / (lengths[0] * lengths[1])


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


def by_tokens(mix, scale, count, size=2):
    """The gradients of BudgetMix and of speed shaping, each by the tokens of its batch."""
    options = {**mix, "scale": scale}
    mixed = token_mean(budget_mix.make(**options), budgets_of(mix), size, count)
    return mixed, token_mean(speed_shaped.make(**options), ((T_MAX,), (1.0,)), size, count)


def mean_length(drawn):
    """The mean number of turns of an episode under budgets and their probabilities."""
    return sum(
        weight * chance * len(episode.turns)
        for turns, weight in zip(*drawn, strict=True)
        for chance, _, episode in episodes(turns, THETA_SA)
    )


@pytest.mark.parametrize("mix", MIXES.values(), ids=MIXES)
def test_tokens_of_one_group_are_those_that_were_listed(mix):
    # every episode of one turn: the mean over tokens is the mean over episodes
    algorithm = budget_mix.make(**mix)
    one = token_mean(algorithm, ((1,), (1.0,)), 2, 1)
    np.testing.assert_allclose(one, mean_gradient(algorithm, 1, 2) * T_MAX)


@pytest.mark.parametrize("mix", MIXES.values(), ids=MIXES)
def test_a_mean_over_tokens_lengthens_the_slope_of_shorter_episodes(mix, record_property):
    longer = mean_length(((T_MAX,), (1.0,))) / mean_length(budgets_of(mix))
    assert 1.4 < longer < 1.5
    last = 1.0
    for count in (1, 2, 16, 200):
        length, cosine = apart(*by_tokens(mix, "none", count))
        record_property(f"batch of {count}: length, cosine", f"{length:.3f}, {cosine:.6f}")
        assert last + 0.01 < length < longer
        assert 0.999 < cosine < 1 - 1e-12
        last = length
    # a large batch has its mean number of tokens for sure
    assert length == pytest.approx(longer, rel=1e-3)
    assert cosine > 1 - 1e-8


@pytest.mark.parametrize("mix", MIXES.values(), ids=MIXES)
def test_under_the_default_loss_the_two_gaps_partly_cancel(mix, record_property):
    constant, _ = apart(
        mixed_gradient(mix, 2, "group"),
        mean_gradient(speed_shaped.make(**mix, scale="group"), T_MAX, 2),
    )
    length, cosine = apart(*by_tokens(mix, "group", 16))
    record_property("length, cosine", f"{length:.3f}, {cosine:.6f}")
    assert np.isfinite([length, cosine]).all()
    assert constant < length < 1
    assert 0.999 < cosine < 1 - 1e-6
