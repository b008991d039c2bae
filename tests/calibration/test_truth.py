import numpy as np
import pytest

from tests.calibration.lakes import T_MAX, lakes
from turnscope.calibration import frames, scenarios, truth
from turnscope.calibration.scenarios import Boost

WORLDS = lakes(60)


def test_pass_at_k_grows_with_k_and_t():
    known = truth.pass_at_k(WORLDS, Boost(), [1, 2, 8])
    assert (np.diff(known, axis=0) >= 0).all()
    assert (np.diff(known, axis=1) >= -1e-12).all()


def test_pass_at_1_is_the_share_of_solved_episodes():
    rng = np.random.default_rng(4)
    many = WORLDS.chosen(np.tile(np.arange(60), 50))
    base = scenarios.base_skill(3000, rng)
    played = frames.games(many, ["base"], scenarios.skill(base, Boost(0.1), T_MAX)[None], 4, rng)
    share = played.played.success_R.mean()
    known = truth.pass_at_k(WORLDS, Boost(0.1), [1])[0, -1]
    assert share == pytest.approx(known, abs=4 * 0.5 / np.sqrt(3000))


def test_the_loss_is_the_one_asked_for():
    boost = truth.boost_that_loses(WORLDS, 0.02, 8)
    base, worse = (truth.pass_at_k(WORLDS, one, [8])[0, -1] for one in (Boost(), Boost(boost)))
    assert boost < 0
    assert base - worse == pytest.approx(0.02, abs=2e-4)
