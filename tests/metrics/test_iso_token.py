import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.metrics.by_hand import SETTINGS, cell, tasks, turns
from tests.simulated import Skill, study
from tests.simulated import turns as lay
from turnscope import tables
from turnscope.metrics import Settings
from turnscope.metrics.iso_token import best, estimate, stopped

ONE, TWO = [None], [None, None]
PLAYED = {"base": {"a": [(ONE, True), (TWO, False)]}}


def test_costs_by_hand():
    found = estimate(tasks("a"), turns(PLAYED), SETTINGS)
    assert cell(found, "plan_cost", "base", k=1, t=1)["value"] == 3
    assert cell(found, "plan_cost", "base", k=2, t=2)["value"] == 9
    assert cell(found, "stopped_cost", "base", k=2, t=1)["value"] == 3 * 1.5
    # solved first, or lost first: 3 or 6 + 3
    assert cell(found, "stopped_cost", "base", k=2, t=2)["value"] == 6
    assert cell(found, "restart_cost", "base", t=1)["value"] == 6
    assert cell(found, "restart_cost", "base", t=2)["value"] == 9
    assert cell(found, "restart_cutoff", "base")["value"] == 1


def test_best_plans_by_hand():
    found = estimate(tasks("a"), turns(PLAYED), SETTINGS)
    plans = found.loc[(found["metric"] == "plan_best") & found["part"].str.startswith("cost")]
    assert plans["part"].tolist() == ["cost/4", "cost/8"]
    assert plans[["k", "t"]].to_numpy().tolist() == [[1, 1], [2, 1]]
    assert plans["value"].tolist() == [0.5, 1.0]


def test_leads_are_those_at_equal_cost():
    # the trained policy solves with the same chance, in half the tokens
    slow, fast = turns(PLAYED, tokens=4), turns({"grpo-s0": PLAYED["base"]}, tokens=2)
    found = estimate(tasks("a"), pd.concat([slow, fast]), SETTINGS)
    gap = cell(found, "plan_gap", "grpo", against="base", part="cost/4")
    assert (gap["value"], gap["k"], gap["t"]) == (0.5, 2, 1)


def test_where_nothing_is_solved_a_restart_has_no_price():
    found = estimate(tasks("a"), turns({"base": {"a": [(TWO, False)] * 2}}), SETTINGS)
    assert np.isnan(cell(found, "restart_cost", "base", t=2)["value"])
    assert "restart_cutoff" not in set(found["metric"])


def test_without_tokens_there_is_nothing():
    found = estimate(tasks("a"), turns(PLAYED, tokens=0), SETTINGS)
    assert tables.conform(found, "estimates").num_rows == 0


EPISODES = st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=5)


@given(EPISODES)
def test_the_stopped_cost_is_the_mean_over_all_orders(played):
    n, ks = len(played), range(1, len(played) + 2)
    tokens, solved = (np.array(column) for column in zip(*played, strict=True))
    won, lost = (np.array([[(tokens * side).sum() / n]]) for side in (solved, ~solved))
    found = stopped(np.array([n]), np.array([[solved.sum()]]), won, lost, ks)[0, :, 0]

    def cost(order, k):
        first = next((place for place, one in enumerate(order) if one[1]), n)
        return sum(one[0] for one in order[: min(first + 1, k)])

    orders = list(itertools.permutations(played))
    expected = [np.mean([cost(order, k) for order in orders]) for k in ks[:-1]]
    assert found[:-1] == pytest.approx(expected)
    assert np.isnan(found[-1])  # more than there are


def test_of_equal_plans_the_cheapest_is_best():
    value = np.array([[0.2, 0.5, 0.5], [0.4, 0.5, 0.9]])
    cost = np.array([[1.0, 3.0, 2.0], [2.0, 6.0, 8.0]])
    assert best(value, cost, 6.5) == (0, 2)
    assert best(value, cost, 8.0) == (1, 2)
    assert best(value, cost, 1.0) == (0, 0)
    assert best(np.where(cost == 2, np.nan, value), cost, 2.0) == (0, 0)


@pytest.fixture(scope="module")
def simulated():
    policies = {"base": Skill(loss=0.1), "grpo-s0": Skill(0.8, loss=0.1), "grpo-s1": Skill(1.0)}
    lakes, played = study(5, tasks=40, episodes=8, t_max=10, policies=policies)
    settings = Settings(ks=[1, 4, 8], k=4, shares=[1.0], draws=200, seed=1)
    return estimate(lakes, lay(played), settings), played


def test_more_tokens_never_buy_less(simulated):
    found, _ = simulated
    plans = found.loc[found["metric"] == "plan_best"]
    way = plans["part"].str.split("/").str[0].rename("way")
    assert set(way) == {"cost", "stopped"}
    for _, line in plans.groupby([way, "policy"]):
        cost = line["part"].str.split("/").str[1].astype(int)
        assert line["value"].iloc[cost.argsort()].is_monotonic_increasing
        assert len(line) >= 4


def test_a_verifier_saves_tokens_and_one_attempt_costs_what_it_costs(simulated):
    found, played = simulated
    wide = found.loc[found["metric"].isin(["plan_cost", "stopped_cost"])].pivot_table(
        "value", ["policy", "k", "t"], "metric"
    )
    assert (wide["stopped_cost"] <= wide["plan_cost"] + 1e-9).all()
    once = wide.loc[(slice(None), 1, slice(None)), :]
    assert once["stopped_cost"].to_numpy() == pytest.approx(once["plan_cost"].to_numpy())
    spent = played.loc[played["policy"] == "base"].groupby("task_id")["turns"].mean().mean() * 3
    assert wide.loc[("base", 1, 10), "plan_cost"] == pytest.approx(spent)


def test_a_constant_hazard_needs_no_restart_and_a_lost_one_does():
    rng = np.random.Generator(np.random.PCG64(3))
    solved = rng.geometric(0.4, 400)
    stuck = rng.random(400) < 0.5
    steady = [([None] * min(t, 8), bool(t <= 8)) for t in solved]
    lost = [
        ([None] * (8 if bad else min(t, 8)), bool(t <= 8 and not bad))
        for t, bad in zip(solved, stuck, strict=True)
    ]
    costs = {}
    for name, played in (("steady", steady), ("lost", lost)):
        found = estimate(tasks("a"), turns({"base": {"a": played}}), SETTINGS)
        costs[name] = [cell(found, "restart_cost", "base", t=t)["value"] for t in (3, 8)]
        if name == "lost":
            assert cell(found, "restart_cutoff", "base")["value"] < 6
    assert costs["steady"][0] == pytest.approx(costs["steady"][1], rel=0.15)
    assert costs["lost"][1] > 1.5 * costs["lost"][0]
