import pandas as pd
import pytest

from tests.claims.evidence import crossover, gap, headroom, table
from tests.simulated import Skill, study
from turnscope.claims import ledger
from turnscope.claims.depth import judge
from turnscope.metrics import Settings, over_seeds, pass_at_kt
from turnscope.metrics import crossover as crossovers

LAST = gap(8, 20, 0.2)


def verdict(claim, *rows):
    return next(row for row in judge(table(*rows)) if row["claim"] == claim)


@pytest.mark.parametrize(
    ("growth", "expected"), [(0.1, "holds"), (0.01, "inconclusive"), (-0.1, "contradicted")]
)
def test_the_advantage_grows_with_turns(growth, expected):
    other = gap(8, 4, -0.9, metric="gap_growth_t")
    row = verdict("C2a", LAST, other, gap(8, 6, growth, metric="gap_growth_t"))
    assert row["verdict"] == expected
    assert row["value"] == growth
    assert ("80% power" in row["detail"]) == (expected == "inconclusive")


def tight(*values):
    return [gap(8, t, value) for t, value in zip((2, 4, 6), values, strict=True)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0.0, 0.01, -0.1), "holds"),
        ((0.03, 0.04, 0.05), "contradicted"),
        ((0.0, 0.04, 0.05), "inconclusive"),
    ],
)
def test_the_advantage_vanishes_under_tight_budgets(values, expected):
    row = verdict("C2b", LAST, *tight(*values), *crossover(1, 0.0))
    assert row["verdict"] == expected
    assert "no advantage was shown" not in row["detail"]


def test_what_was_never_there_cannot_diminish():
    row = verdict("C2b", gap(8, 20, 0.01), *tight(0.0, 0.0, 0.0), *crossover(1, 0.0))
    assert row["verdict"] == "inconclusive"
    assert "D at T_max is +0.010 [-0.010, +0.030]: no advantage was shown" in row["detail"]


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
        ((0.0, 0.01, 0.02), "contradicted"),
    ],
)
def test_the_bound_leaves_headroom(values, expected):
    rows = [headroom(t, value) for t, value in zip((2, 4, 6), values, strict=True)]
    row = verdict("C2c", LAST, *rows, headroom(8, -1.0))
    assert row["verdict"] == expected
    assert row["value"] == values[0]


def test_without_eight_attempts_nothing_is_judged():
    rows = judge(table(gap(4, 20, 0.2), gap(4, 6, 0.1)))
    assert {row["claim"]: row["verdict"] for row in rows} == dict.fromkeys(
        ("C2a", "C2b", "C2c"), "not run"
    )


def test_planted_effects_are_found_from_episodes_to_verdicts():
    slow = {f"grpo-s{seed}": Skill(0.8, delay=2) for seed in range(3)}
    frames = study(1, tasks=150, episodes=16, policies={"base": Skill(-1.0), **slow})
    tenths = [j / 10 for j in range(1, 11)]
    settings = Settings(ks=[1, 8], k=8, shares=tenths, draws=500, seed=1)
    metrics = pass_at_kt, crossovers, over_seeds
    estimates = pd.concat([one.estimate(*frames, settings) for one in metrics])
    verdicts = {row["claim"]: row["verdict"] for row in ledger.assemble(estimates)}
    # late but strong: behind at first, ahead at the end, with room below the bound
    assert [verdicts[claim] for claim in ("C1", "C2a", "C2b", "C2c")] == ["holds"] * 4
    assert verdicts["C3a"] == "not run"
