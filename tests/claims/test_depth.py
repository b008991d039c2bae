import pandas as pd
import pytest

from tests.claims.evidence import ARMS, crossover, gap, headroom, table
from tests.simulated import Skill, study
from turnscope.claims import _judges
from turnscope.claims.depth import judge
from turnscope.metrics import Settings, over_seeds, pass_at_kt
from turnscope.metrics import crossover as crossovers

LAST = gap(8, 20, 0.2)


def verdict(claim, *rows):
    return next(row for row in judge(table(*rows), ARMS) if row["claim"] == claim)


@pytest.mark.parametrize(
    ("growth", "expected"), [(0.1, "holds"), (0.01, "inconclusive"), (-0.1, "contradicted")]
)
def test_the_advantage_grows_with_turns(growth, expected):
    other = gap(8, 4, -0.9, metric="gap_growth_t")
    row = verdict("C2a", LAST, other, gap(8, 6, growth, metric="gap_growth_t"))
    assert row["verdict"] == expected
    assert row["value"] == growth
    power = "a true growth of at least 0.029 would be found with 80% power"
    assert (power in row["detail"]) == (expected == "inconclusive")


@pytest.mark.parametrize(("last", "expected"), [(0.026, "holds"), (0.024, "inconclusive")])
def test_what_grows_must_be_an_advantage_in_the_end(last, expected):
    # from behind to level is growth of the difference, not of an advantage
    row = verdict("C2a", gap(8, 20, last), gap(8, 6, 0.3, metric="gap_growth_t"))
    assert row["verdict"] == expected
    # half of the band, 0.025, and 0.84 standard errors of 0.02 / 1.96
    power = "a true D at T_max of at least 0.034 would be found with 80% power"
    assert (power in row["detail"]) == (expected == "inconclusive")


def tight(*values):
    return [gap(8, t, value) for t, value in zip((2, 4, 6), values, strict=True)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0.0, 0.024, -0.1), "holds"),  # an interval is above 0, its band is not
        ((0.026, 0.04, 0.05), "contradicted"),
        ((0.0, 0.04, 0.05), "inconclusive"),
    ],
)
def test_the_advantage_vanishes_under_tight_budgets(values, expected):
    row = verdict("C2b", LAST, *tight(*values), *crossover(1, 0.0))
    assert row["verdict"] == expected
    assert "no advantage was shown" not in row["detail"]
    power = "a true difference of at least 0.034 would be found with 80% power, each by itself"
    assert (power in row["detail"]) == (expected != "contradicted")


def test_what_was_never_there_cannot_diminish():
    row = verdict("C2b", gap(8, 20, 0.01), *tight(0.0, 0.0, 0.0), *crossover(1, 0.0))
    assert row["verdict"] == "inconclusive"
    assert "D at T_max is +0.010 [-0.015, +0.035]: no advantage was shown" in row["detail"]


def test_without_an_advantage_no_crossover_counts():
    # behind, level again at T_max, and likely to cross: RL never leads
    rows = [gap(8, 20, 0.0), *tight(-0.1, -0.1, -0.05), *crossover(12, 0.99)]
    assert verdict("C2b", *rows)["verdict"] == "inconclusive"


def test_a_crossover_needs_draws_and_a_band_below_zero():
    open_case = tight(0.0, 0.04, 0.05)
    behind, level = gap(8, 8, -0.1), gap(8, 8, -0.01)
    assert verdict("C2b", LAST, *open_case, behind, *crossover(9, 0.97))["verdict"] == "holds"
    assert verdict("C2b", LAST, *open_case, behind, *crossover(9, 0.9))["verdict"] != "holds"
    assert verdict("C2b", LAST, *open_case, level, *crossover(9, 0.97))["verdict"] != "holds"
    assert verdict("C2b", LAST, *open_case, behind, *crossover(7, 0.97))["verdict"] != "holds"


def test_behind_at_the_end_is_no_crossover():
    row = verdict("C2b", gap(8, 20, -0.2), *tight(0.0, 0.04, 0.05), *crossover(None, 0.0))
    assert row["verdict"] == "inconclusive"
    assert "no crossover" in row["detail"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0.08, 0.2, 0.3), "holds"),
        ((0.06, 0.2, 0.3), "inconclusive"),
        ((0.04, 0.01, 0.02), "inconclusive"),
        ((0.0, 0.01, 0.02), "contradicted"),
    ],
)
def test_the_bound_leaves_headroom(values, expected):
    rows = [headroom(t, value) for t, value in zip((2, 4, 6), values, strict=True)]
    row = verdict("C2c", LAST, *rows, headroom(8, -1.0))
    assert row["verdict"] == expected
    assert row["value"] == min(values)
    # the threshold of 0.05, half of the interval, and 0.84 standard errors of 0.02 / 1.96
    power = "a true headroom of at least 0.079 would be found with 80% power"
    assert (power in row["detail"]) == (expected == "inconclusive")


NAN = float("nan")


@pytest.mark.parametrize(
    ("claim", "broken"),
    [
        ("C2a", {**LAST, "band_t_low": NAN}),
        ("C2a", {**gap(8, 6, 0.1, metric="gap_growth_t"), "high": NAN}),
        ("C2b", {**LAST, "band_t_low": NAN}),
        ("C2b", {**gap(8, 4, 0.0), "band_t_high": NAN}),
        ("C2c", {**headroom(4, 0.2), "low": NAN}),
    ],
)
def test_without_an_interval_nothing_is_judged(claim, broken):
    whole = [LAST, *tight(0.0, 0.0, 0.0), gap(8, 6, 0.1, metric="gap_growth_t")]
    whole += [headroom(t, 0.2) for t in (2, 4, 6)]
    assert verdict(claim, *whole)["verdict"] == "holds"
    same = ("metric", "k", "t")
    rows = [broken if all(row[x] == broken[x] for x in same) else row for row in whole]
    assert verdict(claim, *rows)["verdict"] == "not run"


def test_without_eight_attempts_nothing_is_judged():
    rows = judge(table(gap(4, 20, 0.2), gap(4, 6, 0.1)), ARMS)
    assert {row["claim"]: row["verdict"] for row in rows} == dict.fromkeys(
        ("C2a", "C2b", "C2c"), "not run"
    )


def test_an_arm_that_was_told_its_budget_is_not_judged_by_blind_play():
    tight = [gap(8, t, -0.1) for t in (2, 4, 6)]
    told = [{**row, "policy": "budget_mix_told"} for row in (LAST, *tight)]
    found = {
        (row["claim"], row["policy"]): row["verdict"]
        for row in judge(table(LAST, *tight, *told), ARMS)
    }
    assert found["C2b", "grpo"] == "holds"
    assert [found[claim, "budget_mix_told"] for claim in ("C2a", "C2b", "C2c")] == ["not run"] * 3


def judged(arm: Skill, seed: int = 1) -> dict[str, str]:
    """Simulate base and three seeds of an arm, and judge all claims."""
    seeds = {f"grpo-s{number}": arm for number in range(3)}
    frames = study(seed, tasks=150, episodes=16, policies={"base": Skill(-1.0), **seeds})
    return verdicts(*frames)


def verdicts(tasks: pd.DataFrame, episodes: pd.DataFrame) -> dict[str, str]:
    tenths = [j / 10 for j in range(1, 11)]
    settings = Settings(ks=[1, 8], k=8, shares=tenths, draws=500, seed=1)
    metrics = pass_at_kt, crossovers, over_seeds
    estimates = pd.concat([one.estimate(tasks, episodes, settings) for one in metrics])
    return {row["claim"]: row["verdict"] for row in _judges.assemble(estimates, ARMS)}


ADVANTAGE = ("C1", "C1b", "C2a", "C2b")
"""Claims that say something of a lead of RL."""


def test_planted_effects_are_found_from_episodes_to_verdicts():
    # late but strong: behind at first, ahead at the end, with room below the bound
    found = judged(Skill(0.8, delay=2))
    assert [found[claim] for claim in ("C1", "C2a", "C2b", "C2c")] == ["holds"] * 4
    assert found["C3a"] == "not run"


def test_an_arm_with_the_episodes_of_base_has_no_advantage():
    tasks, episodes = study(1, tasks=60, episodes=16, policies={"base": Skill(-1.0)})
    copies = [episodes.assign(policy=f"grpo-s{seed}") for seed in range(3)]
    found = verdicts(tasks, pd.concat([episodes, *copies]))
    assert {claim: found[claim] for claim in ADVANTAGE} == dict.fromkeys(ADVANTAGE, "inconclusive")


@pytest.mark.parametrize("seed", range(4))
def test_an_arm_like_base_has_no_advantage(seed):
    found = judged(Skill(-1.0), seed)
    assert [claim for claim in ADVANTAGE if found[claim] == "holds"] == []


@pytest.mark.parametrize(
    "harmed",
    [
        Skill(-2.0),  # worse in every way
        Skill(-1.0, delay=3),  # late: the gap shrinks with T
        Skill(-1.2, delay=3, loss=0.0),  # late, and level with base in the end
        Skill(-1.0, loss=0.2),  # loses more and more
    ],
)
def test_an_arm_that_harms_has_no_advantage(harmed):
    found = judged(harmed)
    assert [claim for claim in ADVANTAGE if found[claim] == "holds"] == []
    if harmed.loss > 0:
        assert found["C1"] == "contradicted"
