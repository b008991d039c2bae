import numpy as np
import pytest

from turnscope.calibration import scenarios
from turnscope.calibration.scenarios import Boost


def test_a_boost_is_added_where_it_says():
    skill = scenarios.skill(np.array([0.3, 0.5]), Boost(0.1, 0.2, 0.4), 5)
    assert skill.shape == (2, 2, 5)
    np.testing.assert_allclose(skill[0, 0], [0.4, 0.5, 0.6, 0.7, 0.8])
    np.testing.assert_allclose(skill[0, 1], [0.6, 0.7, 0.8, 0.9, scenarios.MOST])
    assert skill[1, 1, -1] == scenarios.MOST


def test_without_a_boost_every_policy_is_base():
    skills = scenarios.skills(scenarios.NULL, 6, 4, np.random.default_rng(0))
    assert len(skills) == len(scenarios.policies(scenarios.NULL.arms)) == 8
    assert (skills == skills[0]).all()


@pytest.mark.parametrize(
    "scenario", [scenarios.SKILL, scenarios.ERRORS, scenarios.LATE, scenarios.margin(-0.1)]
)
def test_what_is_planted_is_planted_in_every_seed_of_its_arms_alone(scenario):
    skills = scenarios.skills(scenario, 3, 4, np.random.default_rng(0))
    names = scenarios.policies(scenario.arms)
    other = {name for name, one in zip(names, skills, strict=True) if (one != skills[0]).any()}
    assert other == {name for name in names if name.rpartition("-s")[0] in scenario.boosts}


def test_policies_of_their_own_differ_by_task_but_not_by_seed():
    skills = scenarios.skills(scenarios.OTHERS, 2000, 4, np.random.default_rng(0))
    base, *seeds = skills[:, :, 0, 0]
    assert (np.stack(seeds) == seeds[0]).all()
    assert abs(np.corrcoef(base, seeds[0])[0, 1]) < 0.1
    assert base.mean() == pytest.approx(seeds[0].mean(), abs=0.02)
