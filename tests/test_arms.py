import pandas as pd

from turnscope.arms import arm_of, is_seed


def test_seeds_are_told_from_arms():
    policies = pd.Series(["base", "grpo", "grpo-s0", "budget_mix-s12", "tight-small"])
    assert is_seed(policies).tolist() == [False, False, True, True, False]
    assert [arm_of(name) for name in policies] == [
        "base",
        "grpo",
        "grpo",
        "budget_mix",
        "tight-small",
    ]
