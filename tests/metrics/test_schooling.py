import math

import numpy as np
import pandas as pd
import pytest

from tests.metrics.by_hand import SETTINGS, cell, tasks
from turnscope import schemas, tables
from turnscope.metrics.schooling import estimate

CURVES = {
    "mix-s0": {
        "zero_variance_groups": [0.2, 0.4],
        "budget_T2": [1.0, 0.5],
        "budget_T9": [None, 0.5],
        "tokens_total": [100.0, 250.0],
        "critic_loss": [None, None],
    },
    "mix-s1": {
        "zero_variance_groups": [0.5, 0.5],
        "budget_T9": [1.0, 1.0],
        "tokens_total": [200.0, 350.0],
    },
}


def training(curves=CURVES):
    records = [
        {"policy": policy, "step": step, "name": name, "value": value}
        for policy, named in curves.items()
        for name, values in named.items()
        for step, value in enumerate(values, start=1)
        if value is not None or not name.startswith("budget")  # a budget that did not occur
    ]
    return pd.DataFrame(records).assign(env="lake", model="nano").astype({"value": float})


def by_hand():
    return estimate(tasks("a"), training(), SETTINGS)


@pytest.mark.parametrize(
    ("metric", "t", "first", "second"),
    [
        ("waste", None, 0.3, 0.5),
        ("budget_share", 2, 0.75, 0.0),
        ("budget_share", 9, 0.25, 1.0),
        ("tokens_trained", None, 250.0, 350.0),
    ],
)
def test_by_hand(metric, t, first, second):
    found = by_hand()
    one = cell(found, metric, "mix-s0", k=None, t=t)
    assert one["value"] == pytest.approx(first)
    assert one["seeds"] == 1
    assert np.isnan([one["low"], one["high"]]).all()
    arm = cell(found, metric, "mix", k=None, t=t)
    assert arm["value"] == pytest.approx((first + second) / 2)
    # with one degree of freedom t is the Cauchy distribution
    half = abs(first - second) / 2 * math.tan(0.475 * math.pi)
    assert (arm["low"], arm["high"]) == pytest.approx((arm["value"] - half, arm["value"] + half))
    assert (arm["seeds"], arm["tasks"], arm["samples"]) == (2, 0, 0)


def test_what_rows_there_are():
    found = by_hand()
    assert set(found["metric"]) == {"waste", "budget_share", "tokens_trained"}
    shares = found.loc[found["metric"] == "budget_share"]
    assert shares.groupby("policy")["t"].agg(list).to_dict() == {
        "mix": [2, 9],
        "mix-s0": [2, 9],
        "mix-s1": [9],
    }
    assert shares.groupby("policy")["value"].sum().tolist() == pytest.approx([1.0] * 3)
    assert found["p_value"].isna().all()
    assert tables.conform(found, "estimates").num_rows == len(found)


def test_order_of_rows_does_not_matter():
    shuffled = training().sample(frac=1, random_state=np.random.RandomState(3))
    pd.testing.assert_frame_equal(estimate(tasks("a"), shuffled, SETTINGS), by_hand())


def test_a_curve_that_one_seed_lacks_gives_the_arm_no_value():
    curves = CURVES | {"mix-s1": {"tokens_total": [200.0]}}
    found = estimate(tasks("a"), training(curves), SETTINGS)
    assert np.isnan(cell(found, "waste", "mix", t=None)["value"])
    assert cell(found, "tokens_trained", "mix", t=None)["value"] == 225.0


def test_without_training_there_is_nothing():
    empty = schemas.TRAINING.empty_table().to_pandas()
    assert tables.conform(estimate(tasks("a"), empty, SETTINGS), "estimates").num_rows == 0
