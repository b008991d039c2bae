import numpy as np
import pytest

from tests.calibration.lakes import T_MAX, lakes
from turnscope import tables
from turnscope.calibration import frames, players, scenarios
from turnscope.calibration.scenarios import Boost
from turnscope.metrics import COLUMNS

WORLDS = lakes()
POLICIES = ["base", "grpo-s0"]


SKILLED = Boost(0.3)


def games(boost=SKILLED, episodes=6, seed=0):
    base = np.full(12, 0.3)
    skills = np.stack([scenarios.skill(base, one, T_MAX) for one in (Boost(), boost)])
    return frames.games(WORLDS, POLICIES, skills, episodes, np.random.default_rng(seed))


def test_each_policy_plays_each_task_equally_often():
    rows = frames.episodes(games(), T_MAX)
    assert list(rows.columns) == COLUMNS["episodes"]
    assert (rows.groupby(["policy", "task_id"]).size() == 6).all()
    assert not rows.duplicated(["policy", "task_id", "sample"]).any()


def test_cutting_an_episode_leaves_what_happened_before():
    one = games()
    whole, cut = frames.episodes(one, T_MAX), frames.episodes(one, 3)
    late = whole["turns"] > 3
    assert late.any()
    assert whole.loc[late, "success"].any()
    assert not cut.loc[late, "success"].any()
    assert (cut.loc[late, "stop"] == "budget").all()
    assert (cut.loc[late, "turns"] == 3).all()
    assert cut.loc[~late, "success"].equals(whole.loc[~late, "success"])
    assert cut.loc[~late, "stop"].equals(whole.loc[~late, "stop"])


def test_visits_are_the_turns_of_the_episodes():
    one = games()
    seen = frames.visits(one, one.of(1))
    counts = np.bincount(seen.row_V, minlength=len(one.player_R))[one.of(1)]
    assert (counts == one.played.turns_R[one.of(1)]).all()
    first = seen.at.turn_R == 0
    assert (seen.at.cell_R[first] == WORLDS.start_W[seen.at.world_R[first]]).all()


def test_states_are_the_same_when_task_turn_and_cell_are():
    one = games()
    at = frames.visits(one, one.of(0)).at
    numbers = frames.states(WORLDS, at)
    keys = list(zip(at.world_R, at.turn_R, at.cell_R, strict=True))
    assert len(set(numbers)) == len(set(keys))
    assert len(set(zip(numbers, keys, strict=True))) == len(set(keys))


def test_likelihoods_are_those_of_the_players():
    one = games()
    rows = frames.likelihood(one, 1, 2)
    tables.conform(rows, "likelihood")
    assert set(rows["sample"]) == {0, 1}
    own = np.where(rows["actor"] == "base", rows["logp_base"], rows["logp_trained"])
    assert (rows["logp_sampled"] == own).all()
    seen = frames.visits(one, one.of(0)[one.sample_R[one.of(0)] < 2])
    chances = players.probabilities(WORLDS, one.skill_PWET, np.ones(len(seen.row_V), int), seen.at)
    known = np.log(chances[np.arange(len(chances)), seen.action_V])
    np.testing.assert_allclose(rows.loc[rows["actor"] == "base", "logp_trained"], known)


def test_the_likelihood_ratio_has_expectation_one_under_base():
    rows = frames.likelihood(games(episodes=400), 1, 400)
    first = rows.loc[(rows["actor"] == "base") & (rows["turn"] == 0)]
    ratio = np.exp(first["logp_trained"] - first["logp_base"])
    assert ratio.mean() == pytest.approx(1.0, abs=4 * ratio.std() / np.sqrt(len(ratio)))


def test_the_same_policy_by_two_names_has_the_same_likelihoods():
    rows = frames.likelihood(games(Boost()), 1, 2)
    assert (rows["logp_base"] == rows["logp_trained"]).all()


def test_the_likeliest_actions_reach_the_nucleus():
    chances = np.array([[0.05, 0.9, 0.05, 0.0], [0.25] * 4, [0.96, 0.02, 0.01, 0.01]])
    inside = frames._likeliest(chances)
    assert inside.tolist() == [
        [True, True, False, False],
        [True] * 4,
        [True, False, False, False],
    ]
