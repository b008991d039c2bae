import numpy as np
import pandas as pd
import pytest

from tests.figures import synthetic
from turnscope.figures import iso_token

NONE = pd.DataFrame()


def drawn(arms=("grpo",), **study):
    return iso_token.data(
        synthetic.estimates(arms=arms, **study), NONE, k=8, arms=synthetic.named(*arms)
    )


def test_stars_stand_at_the_best_plans_and_below_their_line():
    frame = drawn()
    maps = iso_token.plot(frame).axes[:2]
    for ax, policy in zip(maps, ("base", "grpo"), strict=True):
        best = frame.loc[(frame["metric"] == "plan_best") & (frame["policy"] == policy)]
        (stars,) = (line for line in ax.lines if line.get_marker() == "*")
        assert np.asarray(stars.get_xdata()).tolist() == best["t"].tolist()
        assert np.asarray(stars.get_ydata()).tolist() == best["k"].tolist()
        curves = [line for line in ax.lines if line.get_marker() == "None"]
        assert len(curves) == len(best)
        for curve, row in zip(curves, best.to_dict("records"), strict=True):
            attempts = np.asarray(curve.get_ydata())[row["t"] - 1]
            assert row["k"] <= attempts * (1 + 1e-9)


def test_a_line_joins_plans_of_its_cost():
    frame = drawn()
    ax = iso_token.plot(frame).axes[0]
    single = frame.query("metric == 'plan_cost' and policy == 'base'")["value"].to_numpy()
    costs = [int(part.split("/")[1]) for part in frame.query("policy == 'base'")["part"].dropna()]
    curves = [line for line in ax.lines if line.get_marker() == "None"]
    for curve, cost in zip(curves, costs, strict=True):
        assert np.asarray(curve.get_ydata()) * single == pytest.approx(cost)
    assert {text.get_text() for text in ax.texts if text.get_text().isdigit()} <= set(
        map(str, costs)
    )


def test_only_policies_that_have_plans_are_drawn():
    frame = drawn(arms=("ppo", "grpo"))
    some = synthetic.estimates(arms=("ppo", "grpo"))
    plans = some["metric"].isin([*iso_token.METRICS, "plan_gap", "stopped_cost"])
    left = iso_token.data(
        some.loc[~plans | ~some["policy"].str.startswith("ppo")],
        NONE,
        k=8,
        arms=synthetic.named("ppo", "grpo"),
    )
    assert set(frame["policy"]) == {"base", "ppo", "grpo"}
    assert set(left["policy"]) == {"base", "grpo"}


@pytest.mark.parametrize(
    ("cost", "text"), [(64, "64"), (4096, "4k"), (3 << 20, "3M"), (1500, "1500")]
)
def test_costs_are_written_short(cost, text):
    assert iso_token._short(cost) == text


def test_where_nothing_is_solved_no_price_is_drawn():
    some = synthetic.estimates(arms=("grpo",))
    solved = some["metric"].isin(["restart_cost", "restart_cutoff"])
    some.loc[solved, ["value", "low", "high"]] = np.nan
    some.loc[some["metric"] == "plan_best", ["value", "low", "high"]] = 0.0
    figure = iso_token.plot(iso_token.data(some, NONE, k=8, arms=synthetic.named("grpo")))
    assert [text.get_text() for text in figure.axes[-1].texts] == ["nothing was solved"]
    figure.canvas.draw()
