import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import likely
from tests.metrics.by_hand import SETTINGS, cell, tasks
from turnscope import schemas, tables
from turnscope.metrics import _checks
from turnscope.metrics._checks import CHECKS, decisive
from turnscope.metrics.likelihood import BIN, BINS, estimate

HAND = pd.DataFrame(
    [
        likely.turn("base", "a", 0, -1.0, -2.0, turns=2),
        likely.turn("base", "a", 1, -1.0, -1.5, turns=2, outside=1),
        likely.turn("base", "b", 0, -2.0, -1.0, success=False),
        likely.turn("trained", "a", 0, -3.0, -1.0),
        likely.turn("trained", "b", 0, -0.5, -0.25, turns=2, success=False),
        likely.turn("trained", "b", 1, -1.5, -0.25, turns=2, success=False, outside=2),
    ]
)
SPAN = ("value", "low", "high")
NAMES = [f"t{number:02d}" for number in range(40)]


def by_hand() -> pd.DataFrame:
    return estimate(tasks("abc"), HAND, SETTINGS)


def value(found: pd.DataFrame, metric: str, policy: str = "grpo", **labels) -> float:
    return cell(found, metric, policy, **labels)["value"]


def simulated(seed: int = 1, policies=None, episodes: int = 4, **options) -> pd.DataFrame:
    policies = policies or {"grpo-s0": 0.8, "grpo-s1": 0.5}
    return likely.rows(seed, NAMES, policies, episodes=episodes, **options)


def estimated(rows: pd.DataFrame, names=NAMES) -> pd.DataFrame:
    return estimate(tasks(names), rows, SETTINGS)


def failed(found: pd.DataFrame, policy: str = "grpo-s0") -> set[str]:
    return {name for name in CHECKS if value(found, f"sanity_{name}_passed", policy) != 1}


@pytest.mark.parametrize(
    ("metric", "base", "trained"),
    [
        ("nll", 4 / 3, 5 / 3),
        ("nll_token", 4 / 6, 5 / 6),
        ("nll_own", 4 / 3, 1.5 / 3),
        ("nll_median", 1.0, 1.5),
        ("outside", 1 / 6, 2 / 6),
        ("entropy", 3 / 6, 1.5 / 6),
    ],
)
def test_levels_of_actions(metric, base, trained):
    found = by_hand()
    assert value(found, metric, "base") == pytest.approx(base)
    assert value(found, metric, "grpo-s0") == pytest.approx(trained)
    assert cell(found, metric, "base")["seeds"] == 0
    assert cell(found, metric, "grpo-s0")["tasks"] == 2


def test_ratios_of_means():
    found = by_hand()
    for metric in ("nll_ratio", "nll_ratio_token"):
        assert value(found, metric, against="base") == pytest.approx(1.25)


def test_histograms_hold_all_actions():
    found = by_hand()
    lines = found.loc[found["metric"] == "nll_density"]
    shares = {
        policy: {t: x * BIN for t, x in zip(own["t"], own["value"], strict=True) if x}
        for policy, own in lines.groupby("policy")
    }
    assert shares["base"] == {4: pytest.approx(2 / 3), 8: pytest.approx(1 / 3)}
    assert shares["grpo-s0"] == {place: pytest.approx(1 / 3) for place in (2, 6, 12)}
    assert value(found, "nll_overlap", against="base") == 0
    far = HAND.assign(logp_base=HAND["logp_base"] - 1000.0)
    assert estimated(far, "ab").query("metric == 'nll_density'")["t"].max() == BINS - 1


@pytest.mark.parametrize(
    ("part", "mean"),
    [
        ("base/all", -0.25),
        ("base/success", -1.5),
        ("base/failure", 1.0),
        ("trained/all", 1.75),
        ("trained/success", 2.0),
        ("trained/failure", 1.5),
    ],
)
def test_ratios_are_summed_over_episodes(part, mean):
    assert value(by_hand(), "llr", part=part) == pytest.approx(mean)


def test_ratios_of_turns_and_their_differences():
    found = by_hand()
    assert value(found, "llr_turn", part="base/all") == pytest.approx(-0.5 / 3)
    assert value(found, "llr_gap", against="base") == pytest.approx(3.5)
    assert value(found, "llr_divergence", against="base") == pytest.approx(2.0)
    assert cell(found, "llr_gap", "grpo", against="base")["tasks"] == 1
    assert cell(found, "llr_divergence", "grpo", against="base")["tasks"] == 2


def test_finished_episodes_keep_their_last_value():
    found = by_hand()
    paths = {
        part: [value(found, "llr_path_q50", part=part, t=t) for t in (1, 2)]
        for part in ("base/success", "base/failure", "trained/success", "trained/failure")
    }
    assert paths == {
        "base/success": [-1.0, -1.5],
        "base/failure": [1.0, 1.0],
        "trained/success": [2.0, 2.0],
        "trained/failure": [0.25, 1.5],
    }


def test_quartiles_are_those_of_episodes():
    rows = [
        likely.turn(actor, "a", 0, -float(sample), 0.0, sample=sample)
        for actor in ("base", "trained")
        for sample in range(5)
    ]
    found = estimated(pd.DataFrame(rows), "a")
    at = {"part": "trained/success", "t": 1}
    assert [value(found, f"llr_path_q{q}", **at) for q in (25, 50, 75)] == [1.0, 2.0, 3.0]


def test_checks_by_hand():
    found = by_hand()
    seen, unseen = (np.exp(-1) + 1) / 2, 1 - (np.exp(-2) + np.exp(-0.25)) / 2
    assert value(found, "sanity_martingale") == pytest.approx(seen + unseen)
    seen, unseen = (np.exp(-1.5) + 1) / 2, 1 - (np.exp(-2) + np.exp(-1.5)) / 2
    assert value(found, "sanity_episode") == pytest.approx(seen + unseen)
    assert value(found, "llr_first_exp") == pytest.approx((np.exp(-1) + np.e) / 2)
    assert value(found, "sanity_base_mean") == pytest.approx(-0.25)
    assert value(found, "sanity_trained_mean") == pytest.approx(1.75)
    assert value(found, "sanity_temperature") == pytest.approx(1 / 12)
    assert value(found, "sanity_sampler") == value(found, "sanity_itself") == 0


def test_an_arm_pools_the_episodes_of_its_seeds():
    rows = simulated(policies={"grpo-s0": 0.8, "grpo-s1": 0.2})
    found = estimated(rows)
    pooled = rows.loc[rows["actor"] == "trained"]
    assert value(found, "nll") == pytest.approx(-pooled["logp_base"].mean())
    assert cell(found, "nll", "grpo")["seeds"] == 2
    assert cell(found, "nll", "grpo")["samples"] == 4
    alone = estimated(rows.loc[rows["policy"] == "grpo-s0"])
    for metric, policy, against in (
        ("nll_ratio", "grpo-s0", "base"),
        ("llr_gap", "grpo-s0", "base"),
        ("nll", "base", None),
    ):
        one, other = (cell(table, metric, policy, against=against) for table in (found, alone))
        assert [one[n] for n in SPAN] == pytest.approx([other[n] for n in SPAN])


def test_intervals_are_those_of_ratios_over_tasks():
    rows = simulated(policies={"grpo-s0": 0.5})
    found = cell(estimated(rows), "nll", "grpo-s0")
    own = rows.loc[rows["actor"] == "trained"].groupby("task_id")["logp_base"].agg(["sum", "size"])
    mean = -own["sum"].sum() / own["size"].sum()
    residual = -own["sum"] - mean * own["size"]
    se = np.sqrt((residual**2).sum()) / own["size"].sum()
    assert (found["high"] - found["low"]) / 2 == pytest.approx(1.96 * se, rel=0.2)


@pytest.mark.parametrize("seed", range(8))
def test_checks_pass_for_what_was_scored_right(seed):
    found = estimated(simulated(seed))
    for policy in ("grpo", "grpo-s0", "grpo-s1"):
        assert failed(found, policy) == set()


def test_identical_policies_differ_in_nothing():
    rows = simulated(policies={"grpo-s0": 0.0})
    rows["logp_trained"] += 3e-7  # rounding in one direction
    found = estimated(rows)
    assert failed(found) == set()
    ratio = cell(found, "nll_ratio", "grpo-s0", against="base")
    assert ratio["low"] < 1 < ratio["high"]
    assert abs(value(found, "llr_gap", "grpo-s0", against="base")) < 1e-5


def test_the_episode_check_says_the_same_with_the_policies_exchanged():
    names = {"base": "trained", "trained": "base"}
    columns = {f"{name}_{one}": f"{name}_{names[one]}" for name in ("logp",) for one in names}
    turned = HAND.rename(columns=columns).assign(actor=HAND["actor"].map(names))
    both = [value(estimated(rows, "ab"), "sanity_episode") for rows in (HAND, turned)]
    assert sum(both) == pytest.approx(2.0)


@pytest.mark.parametrize(("actor", "other"), [("base", "trained"), ("trained", "base")])
@pytest.mark.parametrize("nats", [-3.0, 0.5])
def test_what_a_policy_says_of_the_other_after_the_first_turn_is_checked(actor, other, nats):
    rows = simulated(policies={"grpo-s0": 0.8}, episodes=16)
    later = (rows["actor"] == actor) & (rows["turn"] > 0)
    rows.loc[later, f"logp_{other}"] += nats
    found = failed(estimated(rows))
    assert "episode" in found
    assert found <= {"episode", "base_mean", "trained_mean"}


@pytest.mark.parametrize("temperature", [0.7, 1.4])
def test_another_temperature_is_noticed(temperature):
    found = estimated(simulated(policies={"grpo-s0": 0.8}, temperature=temperature, episodes=16))
    assert "temperature" in failed(found)


def test_swapped_policies_are_noticed():
    rows = simulated(policies={"grpo-s0": 0.8})
    names = {"logp_base": "logp_trained", "logp_trained": "logp_base"}
    assert {"base_mean", "trained_mean"} <= failed(estimated(rows.rename(columns=names)))


def test_a_bias_of_one_engine_is_noticed():
    rows = simulated(policies={"grpo-s0": 0.3}, episodes=16)
    assert failed(estimated(rows.assign(logp_trained=rows["logp_trained"] + 0.15))) >= {
        "martingale"
    }
    assert failed(estimated(rows.assign(logp_sampled=rows["logp_sampled"] + 0.01))) == {"signed"}
    noise = 0.1 * (-1.0) ** np.arange(len(rows))
    assert failed(estimated(rows.assign(logp_sampled=rows["logp_sampled"] + noise))) == {"sampler"}
    assert failed(estimated(rows.assign(logp_again=rows["logp_again"] - 0.01))) == {"itself"}


@pytest.mark.parametrize(
    ("column", "check", "allowed"),
    [
        ("logp_sampled", "sampler", 0.02),
        ("logp_sampled", "signed", 0.002),
        ("logp_again", "itself", 0.001),
    ],
)
def test_what_is_measured_is_judged_by_its_value_and_the_worst_task(column, check, allowed):
    rows = simulated(policies={"grpo-s0": 0.3})

    def off(amount_R) -> set[str]:
        """Shift the log-probability of each of the two tokens of a turn."""
        return failed(estimated(rows.assign(**{column: rows[column] + 2 * amount_R})))

    worst = rows["task_id"] == NAMES[0]
    signs = (-1.0) ** np.arange(len(rows)) if check == "sampler" else np.ones(len(rows))
    assert check not in off(0.99 * allowed * signs)
    assert check in off(1.01 * allowed * signs)
    assert check not in off(4.9 * allowed * signs * worst)
    assert check in off(5.1 * allowed * signs * worst)
    shifted = rows.assign(**{column: rows[column] + 2 * allowed * signs * worst})
    row = cell(estimated(shifted), f"sanity_{check}", "grpo-s0")
    assert [row["low"], row["high"]] == pytest.approx([0.0, allowed])


def test_rare_actions_of_base_do_not_fail_the_martingale():
    """Base says once in 10,000 times what the trained policy always says: it is never seen."""
    rare, common = np.log(1e-4), np.log(1 - 1e-4)
    rows = [
        likely.turn(actor, task, 0, *logp, sample=sample)
        for task in NAMES
        for sample in range(4)
        for actor, logp in (("base", (common, -12.0)), ("trained", (rare, -6e-6)))
    ]
    found = estimated(pd.DataFrame(rows))
    assert value(found, "llr_first_exp", "grpo-s0") < 0.01
    assert "martingale" not in failed(found)


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 3.0))
def test_the_bounded_form_is_one_for_any_two_distributions(seed, shift):
    rng = np.random.Generator(np.random.PCG64(seed))
    logits = rng.normal(size=(2, 6)) * np.array([[1.0], [shift]])
    logits[1] += logits[0]
    p, q = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
    assert (p * np.minimum(1, q / p)).sum() + (q * np.maximum(0, 1 - p / q)).sum() == pytest.approx(
        1
    )


def test_one_task_decides_nothing():
    """But what was measured is a fact of its tokens."""
    found = estimated(HAND.loc[HAND["task_id"] == "a"], "a")
    passed = {name: value(found, f"sanity_{name}_passed", "grpo-s0") for name in CHECKS}
    measured = {name for name, check in CHECKS.items() if check.measured}
    assert {name for name, one in passed.items() if one == 1} == measured
    assert {name for name, one in passed.items() if np.isnan(one)} == set(CHECKS) - measured
    assert np.isnan(decisive(5.0, np.array([4.0, 6.0]), 1)).all()


def test_a_policy_with_one_task_decides_nothing_about_it():
    found = estimated(HAND.query("actor == 'base' or task_id == 'a'"), "ab")
    passed = {name: value(found, f"sanity_{name}_passed", "grpo-s0") for name in CHECKS}
    unknown = {name for name, one in passed.items() if np.isnan(one)}
    assert unknown == {"trained_mean", "martingale", "episode"}


def test_few_tasks_have_wide_intervals():
    draws = np.array([-1.0, 1.0])  # standard deviation 1
    low, high = decisive(0.0, draws, 2)
    assert high == -low == pytest.approx(636.619 * np.sqrt(2), rel=1e-4)
    low, high = decisive(0.0, draws, 10_000)
    assert high == pytest.approx(3.29, abs=0.01)


def test_without_successes_the_rest_is_still_told():
    found = estimated(HAND.assign(success=False), "ab")
    assert np.isnan(value(found, "llr_gap", against="base"))
    assert value(found, "llr", part="base/all") == pytest.approx(-0.25)
    assert not len(found.query("metric == 'llr_path_q50' and part == 'base/success'"))


def test_rows_are_those_of_the_table_and_their_order_does_not_matter():
    rows = simulated()
    found = estimated(rows)
    assert tables.conform(found, "estimates").num_rows == len(found)
    assert not found.duplicated(["metric", "policy", "against", "part", "t"]).any()
    pd.testing.assert_frame_equal(estimated(rows.sample(frac=1, random_state=1)), found)


def test_nothing_scored_gives_nothing():
    empty = schemas.LIKELIHOOD.empty_table().to_pandas()
    assert estimate(tasks("a"), empty, SETTINGS).empty


def test_every_check_says_what_it_allows():
    for check in CHECKS.values():
        assert check.least < check.most
        assert check.what
    assert _checks.LEVEL > 0.99
